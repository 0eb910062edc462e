import type { QueueLimit } from "../api/schema";
import { count } from "../format/number";
import { words } from "../words";

/** A limit as people write it: `5 at once, 100/m`. */
export function limitText(limit: QueueLimit): string {
  return [limit.running === null ? "" : words.queues.limitRunning(count(limit.running)), limit.rate ?? ""].filter(Boolean).join(", ");
}
