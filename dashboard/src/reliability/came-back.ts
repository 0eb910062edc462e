// Why messages came back, and what went wrong with them, point by point. Pure.
import type { Figures } from "../api/schema";
import { words } from "../words";

const W = words.reliability;

/** Outcomes after which a message comes again: wanted ones first. */
export const CAUSES = ["retried", "snoozed", "given_back", "requeue", "lease_lost", "late_settle"] as const;

export function cameBack(counts: Record<string, number>): number {
  return CAUSES.reduce((sum, cause) => sum + (counts[cause] ?? 0), 0);
}

export interface Course {
  key: string;
  name: string;
  of: (figures: Figures) => number;
  /** Nothing of it is the goal. */
  isBad?: boolean;
}

const counted = (key: string, isBad = false): Course => ({ key, name: W.courses[key] ?? key, of: (figures) => figures.counts[key] ?? 0, isBad });

/** What is shown by hour and day. */
export const COURSES: readonly Course[] = [
  counted("completed"),
  counted("retried"),
  counted("snoozed"),
  counted("requeue", true),
  counted("lease_lost", true),
  { key: "duplicates", name: W.courses["duplicates"]!, of: (figures) => figures.duplicates, isBad: true },
  { key: "often", name: W.courses["often"]!, of: (figures) => figures.deliveries.slice(2).reduce((sum, one) => sum + one, 0), isBad: true },
  { key: "unsure", name: W.courses["unsure"]!, of: (figures) => (figures.settlements["unknown"] ?? 0) + (figures.settlements["taken_over"] ?? 0), isBad: true },
  { key: "dead", name: W.courses["dead"]!, of: (figures) => (figures.counts["dead"] ?? 0) + (figures.counts["move_to_dlq"] ?? 0), isBad: true },
];
