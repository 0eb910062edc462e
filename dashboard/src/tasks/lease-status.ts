// What a lease is to the runs of a task: how much of it they use, what is left, and how that is to be judged. Pure.
import { duration } from "../format/duration";
import { words } from "../words";

const W = words.task;

/** From this part of the lease on a run comes near its end. */
export const NEAR = 0.8;

export type LeaseStatus = "fits" | "near" | "renewed" | "short";

/** `isRenewed`: by its heartbeat; null: not known, then it is, as without a setting. */
export function leaseStatus(use: number | null, isRenewed: boolean | null): LeaseStatus | null {
  if (use === null) return null;
  if (isRenewed === false) return use > 1 ? "short" : use > NEAR ? "near" : "fits";
  return use > 1 ? "renewed" : "fits";
}

/** What is left of the lease after the longest of 99 of 100 runs, in words. */
export function margin(lease: number | null, p99: number | null | undefined): string {
  if (lease === null || p99 === null || p99 === undefined) return "";
  return p99 <= lease ? W.marginLeft(duration(lease - p99)) : W.marginOver(duration(p99 - lease));
}
