import type { ClientQuota } from "../api/schema";
import { bytes, count } from "../format/number";
import { words } from "../words";

/** From this part of a quota on a bar is amber. */
const NEAR = 0.8;

/** A quota as people read it: `10,000 waiting, 5 at once, 100/m, 66 kB each`. */
export function quotaText(quota: ClientQuota): string {
  return [
    quota.waiting === null ? "" : words.clients.quotaWaiting(count(quota.waiting)),
    quota.running === null ? "" : words.queues.limitRunning(count(quota.running)),
    quota.rate ?? "",
    quota.payload_bytes === null ? "" : words.clients.quotaPayload(bytes(quota.payload_bytes)),
  ].filter(Boolean).join(", ");
}

/** The part of it that is used, where that is known: the larger one. */
export function useOf(quota: ClientQuota | null): number | null {
  const known = [quota?.waiting_use, quota?.running_use].filter((one) => one !== null && one !== undefined);
  return known.length ? Math.max(...known) : null;
}

export const moodOf = (use: number): "bad" | "soon" | "calm" => (use > NEAR ? "soon" : "calm");

/** Whether its messages are refused now. */
export const isFull = (quota: ClientQuota | null): boolean => quota?.waiting_use !== null && quota?.waiting_use !== undefined && quota.waiting_use >= 1;
