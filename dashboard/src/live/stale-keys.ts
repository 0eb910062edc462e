// Which data an event makes stale: it is read anew, at most once in two seconds, and only where it is shown.
import { keys } from "../api/keys";
import { queryClient } from "../api/query-client";
import type { LiveEvent } from "./messages";

const AT_MOST_EACH_MS = 2000;

const STALE: Record<string, readonly (readonly string[])[]> = {
  dead: [keys.dead, keys.messages], move_to_dlq: [keys.dead, keys.messages], redriven: [keys.dead, keys.messages, keys.acts], deleted: [keys.dead, keys.messages, keys.acts],
  cancelled: [keys.messages, keys.acts, keys.dead], purged: [keys.messages, keys.queues, keys.acts, keys.dead], paused: [keys.queues, keys.clients, keys.acts, keys.schedules], resumed: [keys.queues, keys.clients, keys.acts, keys.schedules],
  owner_joined: [keys.workers], owner_left: [keys.workers], owner_retired: [keys.workers], ticked: [keys.schedules], webhook_disabled: [keys.webhooks], finding_fired: [keys.findings], finding_cleared: [keys.findings], finding_acked: [keys.findings, keys.acts], finding_silenced: [keys.findings, keys.acts], webhook_delivered: [keys.webhooks], webhook_failed: [keys.webhooks], promoted: [keys.messages, keys.acts], touched: [keys.leases, keys.acts], edited: [keys.dead, keys.messages, keys.acts], moved: [keys.dead, keys.messages, keys.acts], forgotten: [keys.schedules, keys.acts], requeue: [keys.messages],
  quota_set: [keys.clients, keys.acts], quota_cleared: [keys.clients, keys.acts], client_forgotten: [keys.clients, keys.queues, keys.acts], limited: [keys.clients, keys.queues, keys.acts], limit_cleared: [keys.clients, keys.queues, keys.acts],
  gap: [keys.dead, keys.messages, keys.queues, keys.workers, keys.schedules, keys.webhooks, keys.findings],
};

const waiting = new Map<string, readonly string[]>();
let timer: ReturnType<typeof setTimeout> | null = null;

export function staleKeys(events: readonly LiveEvent[]): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const event of events) {
    for (const key of STALE[event.type] ?? []) found.set(key.join("/"), key);
    const ids = [event.payload.message_id, ...(Array.isArray(event.payload["ids"]) ? (event.payload["ids"] as string[]) : [])];
    for (const id of ids) if (id) found.set(`message/${id}`, keys.message(id));
  }
  return found;
}

export function staleAfter(events: readonly LiveEvent[]): void {
  for (const [name, key] of staleKeys(events)) waiting.set(name, key);
  if (!waiting.size || timer !== null) return;
  timer = setTimeout(() => {
    timer = null;
    const all = [...waiting.values()];
    waiting.clear();
    for (const queryKey of all) void queryClient.invalidateQueries({ queryKey, refetchType: "active" });
  }, AT_MOST_EACH_MS);
}
