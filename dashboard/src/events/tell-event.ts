// What an event says beside its kind, in one line. Pure.
import { duration } from "../format/duration";
import { count, plural } from "../format/number";
import { lastReason } from "../format/reason";
import type { LiveEvent } from "../live/messages";
import { words } from "../words";

const text = (value: unknown): string => (typeof value === "string" ? (value.split("\n", 1)[0] ?? "") : "");

/** What `seconds` means, where it is not how long a handler ran. */
const SPANS: Record<string, (span: string) => string> = { loop_blocked: words.events.blocked, touched: words.events.leaseFor };

export function tellEvent(event: LiveEvent): string {
  const { payload } = event;
  const parts: string[] = [];
  const number = typeof payload["count"] === "number" ? payload["count"] : null;
  switch (event.type) {
    case "gap":
      return words.events.gap;
    case "skipped":
      return words.events.skipped(count(number));
    case "requeue":
    case "move_to_dlq":
      if (number !== null) parts.push(plural(number, "message"));
      if (payload["triggered_by"]) parts.push(words.message.by(text(payload["triggered_by"])));
      break;
    default:
      if (number !== null && number !== 1) parts.push(plural(number, "message"));
      if (payload.attempt) parts.push(words.message.attemptShort(payload.attempt));
      if (payload.seconds !== undefined) parts.push((SPANS[event.type] ?? words.message.ran)(duration(payload.seconds)));
      if (typeof payload["after_seconds"] === "number") parts.push(words.message.again(duration(payload["after_seconds"])));
      if (payload["by"]) parts.push(words.message.by(text(payload["by"])));
      if (payload["schedule"]) parts.push(text(payload["schedule"]));
  }
  const reason = lastReason(text(payload["reason"])) || text(payload["error"]) || text(payload["proof"]) || text(payload["code"]);
  return [reason, parts.join(" · ")].filter(Boolean).join(" — ");
}
