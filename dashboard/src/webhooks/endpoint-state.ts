// How an endpoint answers, in words. Pure.
import type { EndpointStatus } from "../api/schema";
import { wholeDuration } from "../format/duration";
import { moment } from "../format/moment";
import { words } from "../words";

const W = words.webhooks;

export type EndpointMood = "alive" | "late" | "paused" | "gone";

/** The hue: switched off by a person, given up by the server, failing, or well. */
export function moodOf({ disabled, health }: EndpointStatus): EndpointMood {
  if (disabled) return disabled.code === "operator" ? "paused" : "gone";
  return health.failing_since !== null || health.state !== "closed" ? "late" : "alive";
}

export function stateText({ disabled, health }: EndpointStatus, now: number): string {
  if (disabled) return W.disabled(disabled.by, disabled.reason);
  if (health.state === "open" && health.rests_until !== null && health.rests_until > now) return W.rests(wholeDuration(health.rests_until - now + 0.999), health.failures);
  if (health.state !== "closed") return W.tries(health.failures);
  if (health.failing_since !== null) return W.failures(health.failures, moment(health.failing_since, now));
  return W.answers;
}

export function eventsText(events: readonly string[]): string {
  return events.length >= 3 ? W.allEvents : events.map((one) => W.ends[one] ?? one).join(", ");
}

/** `acme-*, shop`: names with commas between, as people type them. */
export function namesIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}
