// How far a group is: one bar, a part for each way in which members ended.
import type { GroupState } from "../api/schema";
import { count } from "../format/number";
import { words } from "../words";

const W = words.group;

export function MemberBar({ total, completed, dead, cancelled, className = "" }: { total: number; completed: number; dead: number; cancelled: number; className?: string }) {
  const parts = [
    { name: W.completed, members: completed, hue: "bg-done-fill" },
    { name: W.dead, members: dead, hue: "bg-dead-fill" },
    { name: W.cancelled, members: cancelled, hue: "bg-calm-fill" },
  ].filter((one) => one.members > 0);
  const label = W.ended(count(completed + dead + cancelled), total);
  return (
    <span className={`flex h-2 gap-px overflow-hidden rounded-[3px] bg-track ${className}`} role="img" aria-label={label} title={[label, ...parts.map((one) => `${count(one.members)} ${one.name}`)].join(", ")}>
      {/* However few they are, they are seen. */}
      {parts.map((one) => <i key={one.name} className={`${one.hue} min-w-[3px]`} style={{ flexBasis: `${(one.members / Math.max(1, total)) * 100}%` }} />)}
    </span>
  );
}

const HUES: Record<GroupState, string> = {
  submitting: "text-ready", running: "text-leased", complete: "text-done", expired: "text-soon-ink", cancelled: "text-cancelled", abandoned: "text-soon-ink",
};

/** Its word with a disc while it goes on, a square when it has ended. */
export function GroupWord({ state }: { state: GroupState }) {
  const goesOn = state === "submitting" || state === "running";
  return (
    <span className={`inline-flex items-center gap-1.5 align-middle ${HUES[state]}`}>
      <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true" className="shrink-0">{goesOn ? <circle cx="5" cy="5" r="4" fill="currentColor" /> : <rect x="1.4" y="1.4" width="7.2" height="7.2" rx="1.6" fill="currentColor" />}</svg>
      <span className={state === "expired" || state === "abandoned" ? "" : "text-ink"}>{W.states[state]}</span>
    </span>
  );
}
