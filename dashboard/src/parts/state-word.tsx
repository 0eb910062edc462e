// A state: its hue, its shape and its word, together everywhere. Red only for overdue and dead.
import type { ReactNode } from "react";
import { words } from "../words";

export type StateName = keyof typeof words.states;

const HUES: Record<StateName, string> = {
  ready: "text-ready", delayed: "text-delayed", leased: "text-leased", completed: "text-done", dead: "text-dead", cancelled: "text-cancelled",
  overdue: "text-dead", late: "text-soon-ink", held: "text-leased", paused: "text-soon-ink", alive: "text-done", silent: "text-soon-ink", draining: "text-ready", gone: "text-dead", http: "text-ready",
};

/** Shapes, so that hue is never all there is: a clock waits, a disc runs, a tick is done, a cross is dead. */
function Shape({ state }: { state: StateName }) {
  switch (state) {
    case "ready":
      return <circle cx="5" cy="5" r="3.4" fill="none" stroke="currentColor" strokeWidth="1.8" />;
    case "delayed":
      return <path d="M5 1.2a3.8 3.8 0 1 1 0 7.6 3.8 3.8 0 0 1 0-7.6M5 3v2.2l1.5 1" fill="none" stroke="currentColor" strokeWidth="1.4" strokeLinecap="round" />;
    case "completed":
      return <path d="M1.6 5.4 4 7.8l4.6-5.4" fill="none" stroke="currentColor" strokeWidth="1.9" strokeLinecap="round" strokeLinejoin="round" />;
    case "dead":
    case "gone":
      return <path d="m2 2 6 6m0-6L2 8" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />;
    case "cancelled":
      return <path d="M2 5h6" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />;
    case "paused":
      return <path d="M3.2 1.8v6.4m3.6-6.4v6.4" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />;
    case "overdue":
      return <path d="M5 .8 9.4 8.6H.6zM5 3.8v2M5 7.2v.1" fill="none" stroke="currentColor" strokeWidth="1.4" strokeLinejoin="round" strokeLinecap="round" />;
    case "draining":
      return <path d="M5 1.4v6.4M2.2 5.2 5 8.2l2.8-3" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" strokeLinejoin="round" />;
    case "late":
    case "silent":
      return <path d="M5 .8 9.2 5 5 9.2.8 5z" fill="currentColor" />;
    default:
      return <circle cx="5" cy="5" r="4" fill="currentColor" />;
  }
}

/** `bare`: its shape alone, the word for the pointer and for screen readers. */
export function StateWord({ state, label, calm, bare }: { state: StateName; label?: ReactNode; calm?: boolean; bare?: boolean }) {
  const loud = !calm && (state === "overdue" || state === "dead" || state === "gone");
  return (
    <span title={bare ? words.states[state] : undefined} className={`inline-flex items-center gap-1.5 align-middle ${HUES[state]} ${loud ? "font-semibold" : ""}`}>
      <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true" className="shrink-0">
        <Shape state={state} />
      </svg>
      <span className={bare ? "sr-only" : loud || state === "late" || state === "paused" || state === "silent" ? "" : "text-ink"}>{label ?? words.states[state]}</span>
    </span>
  );
}
