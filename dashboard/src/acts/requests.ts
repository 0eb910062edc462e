// Every act on the server. What must be read anew afterwards is named here.
import { act, actText, pathOf } from "../api/client";
import { readEdit, type ExactEdit } from "./exact-edit";
import { keys } from "../api/keys";
import { noticing } from "../api/optional";
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
  return dryRun ? doing : acting(doing, keys.queues, keys.clients, keys.messages, keys.overview, keys.dead);
}

const ofClients = [keys.clients, keys.queues, keys.overview] as const;

export const pauseClient = (name: string) => acting(act<api.ClientChange>("POST", pathOf`/clients/${name}/pause`), ...ofClients);
export const resumeClient = (name: string) => acting(act<api.ClientChange>("POST", pathOf`/clients/${name}/resume`), ...ofClients);
export const setQuota = (name: string, quota: Partial<api.NewQuota>) => acting(act<api.QuotaChange>("PUT", pathOf`/clients/${name}/quota`, { ...quota, must_exist: false }), ...ofClients);
export const clearQuota = (name: string) => acting(act<api.QuotaChange>("DELETE", pathOf`/clients/${name}/quota`), ...ofClients);

export function forgetClient(name: string, how: Partial<api.Forget>): Promise<api.ForgetResult> {
  const doing = act<api.ForgetResult>("POST", pathOf`/clients/${name}/forget`, how);
  return how.dry_run ? doing : acting(doing, ...ofClients, keys.messages, keys.dead);
}

export const cancelMessage = (id: string) => acting(act<api.CancelResult>("POST", pathOf`/messages/${id}/cancel`), keys.message(id), keys.messages);
export const cancelGroup = (id: string) => acting(act<api.CancelledGroup>("POST", pathOf`/groups/${id}/cancel`), keys.group(id), keys.messages);
export const redriveMessage = (id: string) => acting(act<api.BulkResult>("POST", pathOf`/messages/${id}/redrive`), keys.message(id), keys.messages, keys.dead);
export const deleteMessage = (id: string) => acting(act<api.BulkResult>("DELETE", pathOf`/messages/${id}`), keys.message(id), keys.messages, keys.dead);
export const askStack = (id: string) => act<api.HandlerStack>("POST", pathOf`/messages/${id}/stack`);

export const touchLease = (id: string, seconds: number) => acting(noticing("touch", act<api.TouchedLease>("POST", pathOf`/leases/${id}/touch`, { seconds })), keys.message(id), keys.leases, keys.soonLeases);
export const runMessageNow = (id: string) => acting(noticing("run-now", act<api.RunNowResult>("POST", pathOf`/messages/${id}/run-now`)), keys.message(id), keys.messages);
export const drainWorker = (id: string) => acting(noticing("drain", act<api.WorkerChange>("POST", pathOf`/workers/${id}/drain`)), keys.workers);
export const stopWorker = (id: string) => acting(noticing("drain", act<api.WorkerChange>("POST", pathOf`/workers/${id}/stop`)), keys.workers);

/** The JSON of the payload goes out as it was typed: no number is rounded on its way. */
export function editMessage(id: string, edit: { payload: string | null; queue?: string; priority?: number; dryRun: boolean }): Promise<ExactEdit> {
  const fields = [`"dry_run":${edit.dryRun}`];
  if (edit.payload !== null) fields.push(`"payload":${edit.payload}`);
  if (edit.queue !== undefined) fields.push(`"queue":${JSON.stringify(edit.queue)}`);
  if (edit.priority !== undefined) fields.push(`"priority":${edit.priority}`);
  const doing = actText("POST", pathOf`/messages/${id}/edit`, `{${fields.join(",")}}`).then(readEdit);
  return edit.dryRun ? doing : acting(doing, keys.message(id), keys.messages, keys.dead);
}

/** Which messages a bulk act means: these ids, or all that match. */
export type Choice = { ids: readonly string[] } | { query: Record<string, unknown> };
export type Verb = "redrive" | "delete" | "cancel" | "replay";

const PATHS: Record<Verb, string> = { redrive: "/dead/redrive", delete: "/dead/delete", cancel: "/messages/cancel", replay: "/webhooks/deliveries/replay" };

/** One part of a bulk act; `left` says how many still match. */
export async function bulk(verb: Verb, choice: Choice, options: { dryRun: boolean; perSecond?: number | null }): Promise<BulkAnswer> {
  const body = { ...("ids" in choice ? { ids: choice.ids } : choice.query), dry_run: options.dryRun, ...(options.perSecond ? { [verb === "replay" ? "rate" : "per_second"]: options.perSecond } : {}) };
  const doing = act<BulkAnswer>("POST", PATHS[verb], body);
  return options.dryRun ? doing : acting(doing, keys.messages, keys.dead, keys.overview, keys.webhooks);
}

export const runSchedule = (name: string) => acting(act<api.ScheduleRun>("POST", pathOf`/schedules/${name}/run`), keys.schedules);
export const pauseSchedule = (name: string) => acting(act<api.ScheduleChange>("POST", pathOf`/schedules/${name}/pause`), keys.schedules);
export const resumeSchedule = (name: string) => acting(act<api.ScheduleChange>("POST", pathOf`/schedules/${name}/resume`), keys.schedules);

export const ackFinding = (id: string) => acting(act<api.FindingStatus>("POST", pathOf`/findings/${id}/ack`), keys.findings);
export const silenceFinding = (id: string, seconds: number) => acting(act<api.FindingStatus>("POST", pathOf`/findings/${id}/silence`, { seconds }), keys.findings);
export const addEndpoint = (given: api.EndpointRequest) => acting(act<api.EndpointSecret>("POST", "/webhooks/endpoints", given), keys.webhooks);
export const changeEndpoint = (name: string, edit: api.EndpointEdit) => acting(act<api.EndpointStatus>("PUT", pathOf`/webhooks/endpoints/${name}`, edit), keys.webhooks);
export const removeEndpoint = (name: string) => acting(act<api.EndpointChange>("DELETE", pathOf`/webhooks/endpoints/${name}`), keys.webhooks);
export const rotateEndpoint = (name: string, rotation: api.Rotation) => acting(act<api.EndpointSecret>("POST", pathOf`/webhooks/endpoints/${name}/rotate`, rotation), keys.webhooks);
export const disableEndpoint = (name: string, reason: string) => acting(act<api.EndpointChange>("POST", pathOf`/webhooks/endpoints/${name}/disable`, reason ? { reason } : {}), keys.webhooks);
export const enableEndpoint = (name: string) => acting(act<api.EndpointChange>("POST", pathOf`/webhooks/endpoints/${name}/enable`), keys.webhooks);
export const testEndpoint = (name: string) => acting(act<api.EndpointTest>("POST", pathOf`/webhooks/endpoints/${name}/test`), keys.webhooks);

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
