// The newest events, for the Events page and for what must be read anew. Bounded: ten minutes of events cost no more
// memory than one.
import type { LiveEvent } from "./messages";

export const MOST_EVENTS = 1000;

let events: readonly LiveEvent[] = [];
let total = 0;
const listeners = new Set<() => void>();

/** Newest first; what is known already (replayed to a new leader) is not taken twice. */
export function merged(known: readonly LiveEvent[], fresh: readonly LiveEvent[], most = MOST_EVENTS): readonly LiveEvent[] {
  const newest = known.reduce((place, one) => Math.max(place, one.seq), 0);
  const added = fresh.filter((one) => one.seq === 0 || one.seq > newest || (one.type === "skipped" && one.seq >= newest));
  return added.length ? [...added.reverse(), ...known].slice(0, most) : known;
}

export function add(fresh: readonly LiveEvent[]): void {
  const next = merged(events, fresh);
  if (next === events) return;
  total += fresh.length;
  events = next;
  for (const listener of listeners) listener();
}

export const newest = () => events;
export const seenInAll = () => total;

export function clear(): void {
  events = [];
  for (const listener of listeners) listener();
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
