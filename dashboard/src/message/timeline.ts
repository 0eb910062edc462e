// The life of a message drawn to scale: when it waited, was leased, rested until a retry, and how each run ended. Pure.
//
// The journal tells how a run ended and how long its handler ran. Where it does not say when a lease began (a worker
// that died), the run is drawn from the moment before it, and marked as a guess.
import type { HeldLease, MessageDetail, Step } from "../api/schema";

export type Kind = "waits" | "delayed" | "runs" | "overdue";

export interface Segment {
  from: number;
  to: number;
  kind: Kind;
  /** How the run ended; empty: it goes on, or it is no run. */
  ended: string;
  isGuess: boolean;
}

export interface Timeline {
  from: number;
  to: number;
  segments: Segment[];
  beats: number[];
}

/** Steps that end a run. */
const ENDS = new Set(["completed", "failed", "snoozed", "crashed", "lost", "given_back", "returned", "dead", "lease_lost", "duplicate"]);
/** Ticks of beats are drawn up to so many. */
const MOST_BEATS = 80;

export function timeline(detail: MessageDetail, lease: HeldLease | undefined, now: number): Timeline | null {
  const steps = detail.life;
  const first = detail.sent_at ?? steps[0]?.at;
  if (first === undefined || first === null) return null;
  const segments: Segment[] = [];
  let at = first;
  let restsUntil: number | null = null;
  const add = (from: number, to: number, kind: Kind, ended = "", isGuess = false) => {
    if (to > from || kind === "runs") segments.push({ from, to: Math.max(from, to), kind, ended, isGuess });
  };
  const wait = (until: number) => {
    if (restsUntil !== null && restsUntil > at) {
      const end = Math.min(restsUntil, until);
      add(at, end, "delayed");
      at = Math.max(at, end);
    }
    restsUntil = null;
    if (until > at) add(at, until, "waits");
    at = Math.max(at, until);
  };
  for (const step of steps) {
    if (isBeside(step, steps)) continue;
    if (ENDS.has(step.what)) {
      const isKnown = step.seconds !== undefined && step.seconds !== null;
      if (isKnown) wait(Math.max(at, step.at - step.seconds!));
      if (isKnown || step.owner) add(at, step.at, "runs", step.what, !isKnown);
      at = Math.max(at, step.at);
      if (step.after_seconds) restsUntil = step.at + step.after_seconds;
    } else if (step.what === "redriven" || step.what === "cancelled") {
      if (step.what === "cancelled") wait(step.at);
      at = Math.max(at, step.at);
      restsUntil = null;
    }
  }
  let end = at;
  if (detail.state === "leased") {
    const began = lease?.leased_at ?? at;
    wait(Math.min(began, now));
    const deadline = lease?.deadline ?? (detail.deadline_in === null ? now : now + detail.deadline_in);
    add(at, Math.min(now, Math.max(at, deadline)), "runs", "", lease?.leased_at === undefined || lease.leased_at === null);
    if (now > deadline) add(Math.max(at, deadline), now, "overdue");
    end = now;
  } else if (detail.state === "ready" || detail.state === "delayed") {
    if (detail.state === "delayed" && detail.due_in !== null) restsUntil = now + detail.due_in;
    wait(now);
    end = now;
  }
  const to = Math.max(end, first + 0.001);
  return { from: first, to, segments, beats: beatsOf(lease, now) };
}

/** A last failure and the death that follows are two endings of one run. */
function isBeside(step: Step, steps: readonly Step[]): boolean {
  return step.what === "dead" && steps.some((other) => other.what === "failed" && Math.abs(other.at - step.at) < 0.001);
}

function beatsOf(lease: HeldLease | undefined, now: number): number[] {
  if (!lease?.beats || lease.leased_at === null || lease.last_beat_at === null) return [];
  const step = (lease.last_beat_at - lease.leased_at) / lease.beats;
  const each = Math.max(1, Math.ceil(lease.beats / MOST_BEATS));
  const found: number[] = [];
  for (let number = each; number <= lease.beats; number += each) found.push(Math.min(now, lease.leased_at + step * number));
  return found;
}
