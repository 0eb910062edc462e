// Every act on the server. What must be read anew afterwards is named here.
import { act, pathOf } from "../api/client";
import { keys } from "../api/keys";
import { queryClient } from "../api/query-client";
import type * as api from "../api/schema";

function stale(...all: readonly (readonly string[])[]): void {
  for (const queryKey of all) void queryClient.invalidateQueries({ queryKey });
}

async function acting<T>(doing: Promise<T>, ...after: readonly (readonly string[])[]): Promise<T> {
  try {
    return await doing;
  } finally {
    stale(...after, keys.acts);
  }
}

export const pauseQueue = (queue: string) => acting(act<api.QueueChange>("POST", pathOf`/queues/${queue}/pause`), keys.queues, keys.overview);
export const resumeQueue = (queue: string) => acting(act<api.QueueChange>("POST", pathOf`/queues/${queue}/resume`), keys.queues, keys.overview);
export const deleteQueue = (queue: string) => acting(act<api.QueueChange>("DELETE", pathOf`/queues/${queue}`), keys.queues, keys.overview);

export function purgeQueue(queue: string, states: readonly string[], dryRun: boolean): Promise<api.PurgeResult> {
  const doing = act<api.PurgeResult>("POST", pathOf`/queues/${queue}/purge`, { states, dry_run: dryRun });
  return dryRun ? doing : acting(doing, keys.queues, keys.messages, keys.overview, keys.dead);
}

export const cancelMessage = (id: string) => acting(act<api.CancelResult>("POST", pathOf`/messages/${id}/cancel`), keys.message(id), keys.messages);
export const redriveMessage = (id: string) => acting(act<api.BulkResult>("POST", pathOf`/messages/${id}/redrive`), keys.message(id), keys.messages, keys.dead);
export const deleteMessage = (id: string) => acting(act<api.BulkResult>("DELETE", pathOf`/messages/${id}`), keys.message(id), keys.messages, keys.dead);
export const askStack = (id: string) => act<api.HandlerStack>("POST", pathOf`/messages/${id}/stack`);

/** The JSON of the payload goes out as it was typed: no number is rounded on its way. */
export function editMessage(id: string, edit: { payload: string | null; queue?: string; priority?: number; dryRun: boolean }): Promise<api.EditResult> {
  const fields = [`"dry_run":${edit.dryRun}`];
  if (edit.payload !== null) fields.push(`"payload":${edit.payload}`);
  if (edit.queue !== undefined) fields.push(`"queue":${JSON.stringify(edit.queue)}`);
  if (edit.priority !== undefined) fields.push(`"priority":${edit.priority}`);
  const doing = act<api.EditResult>("POST", pathOf`/messages/${id}/edit`, `{${fields.join(",")}}`);
  return edit.dryRun ? doing : acting(doing, keys.message(id), keys.messages, keys.dead);
}

/** Which messages a bulk act means: these ids, or all that match. */
export type Choice = { ids: readonly string[] } | { query: Record<string, unknown> };
export type Verb = "redrive" | "delete" | "cancel";

const PATHS: Record<Verb, string> = { redrive: "/dead/redrive", delete: "/dead/delete", cancel: "/messages/cancel" };

/** One part of a bulk act; `left` says how many still match. */
export async function bulk(verb: Verb, choice: Choice, options: { dryRun: boolean; perSecond?: number | null }): Promise<BulkAnswer> {
  const body = { ...("ids" in choice ? { ids: choice.ids } : choice.query), dry_run: options.dryRun, ...(options.perSecond ? { per_second: options.perSecond } : {}) };
  const doing = act<BulkAnswer>("POST", PATHS[verb], body);
  return options.dryRun ? doing : acting(doing, keys.messages, keys.dead, keys.overview);
}

export const runSchedule = (name: string) => acting(act<api.ScheduleRun>("POST", pathOf`/schedules/${name}/run`), keys.schedules);
export const pauseSchedule = (name: string) => acting(act<api.ScheduleChange>("POST", pathOf`/schedules/${name}/pause`), keys.schedules);
export const resumeSchedule = (name: string) => acting(act<api.ScheduleChange>("POST", pathOf`/schedules/${name}/resume`), keys.schedules);
export const logOut = () => act<void>("DELETE", "/session");

export interface BulkAnswer {
  found: number;
  done: number;
  skipped: number;
  left?: number | null;
  more?: boolean;
  dry_run: boolean;
  kinds?: Record<string, number>;
}
