// Which messages: from the address to what the server is asked, for a look and for an act. Pure.
import type { Params } from "../api/client";

export interface MessageSearch {
  state?: string[];
  queue?: string[];
  task?: string;
  client?: string;
  key?: string;
  text?: string;
  since?: number;
  until?: number;
  /** Sent in the last so many seconds. */
  last?: number;
}

export const OPEN = ["leased", "ready", "delayed", "dead"] as const;
export const ENDED = ["completed", "cancelled"] as const;
export const CANCELLABLE: readonly string[] = ["leased", "ready", "delayed"];

/** Ended messages are kept in another order than open ones: they are looked at apart. */
export function statesOf(search: MessageSearch): readonly string[] {
  const chosen = (search.state ?? []).filter((one) => [...OPEN, ...ENDED].includes(one as never));
  const ended = chosen.filter((one) => (ENDED as readonly string[]).includes(one));
  const open = chosen.filter((one) => (OPEN as readonly string[]).includes(one));
  return open.length ? open : ended.length ? ended : OPEN;
}

/** The states after one of them was pressed. All of the open ones are the same as none. */
export function toggled(search: MessageSearch, state: string): string[] | undefined {
  const before = search.state ? [...statesOf(search)] : [];
  const isEnded = (ENDED as readonly string[]).includes(state);
  const kept = before.filter((one) => (ENDED as readonly string[]).includes(one) === isEnded);
  const next = kept.includes(state) ? kept.filter((one) => one !== state) : [...kept, state];
  return next.length === 0 || next.length === OPEN.length ? undefined : next;
}

export function sinceOf(search: MessageSearch, now: number): number | undefined {
  // Whole minutes: a question that is asked again within one is the same question.
  return search.last === undefined ? search.since : Math.floor((now - search.last) / 60) * 60;
}

export function paramsOf(search: MessageSearch, now: number): Params {
  return {
    state: statesOf(search),
    queue: search.queue,
    task: search.task,
    client: search.client,
    key: search.key,
    text: search.text,
    since: sinceOf(search, now),
    until: search.until,
  };
}

export function hasFilter(search: MessageSearch): boolean {
  return [search.queue?.length, search.task, search.client, search.key, search.text, search.since, search.until, search.last].some(Boolean);
}

/** What an act on all that match is asked with; null: acts cannot be asked by these filters. */
export function cancelSelection(search: MessageSearch, now: number): Record<string, unknown> | null {
  const states = statesOf(search).filter((one) => CANCELLABLE.includes(one));
  if (!states.length) return null;
  const chosen: Record<string, unknown> = {};
  const since = sinceOf(search, now);
  if (search.queue?.length) chosen["queues"] = search.queue;
  for (const name of ["task", "client", "key", "text"] as const) if (search[name]) chosen[name] = search[name];
  if (since !== undefined) chosen["since"] = String(since);
  if (search.until !== undefined) chosen["until"] = String(search.until);
  if (states.length !== CANCELLABLE.length) chosen["states"] = states;
  if (!Object.keys(chosen).length) chosen["all"] = true;
  return chosen;
}

/** As `cancelSelection`, of dead letters. */
export function deadSelection(search: MessageSearch, now: number): Record<string, unknown> | null {
  const states = statesOf(search);
  if (!states.includes("dead")) return null;
  const chosen: Record<string, unknown> = {};
  const since = sinceOf(search, now);
  if (search.queue?.length) chosen["queues"] = search.queue;
  for (const name of ["task", "client", "key", "text"] as const) if (search[name]) chosen[name] = search[name];
  if (since !== undefined) chosen["since"] = String(since);
  if (search.until !== undefined) chosen["before"] = String(search.until);
  if (!Object.keys(chosen).length) chosen["all"] = true;
  return chosen;
}
