// Which leases are overdue, late or held, and in which order they stand. Pure.
//
// Longest running first; ties by id. Nothing in the order depends on the clock, so rows move only when rows come or go.
import type { HeldLease } from "../api/schema";

/** A beat that is due came not: more than so much of the lease is gone. Workers beat at a third of it. */
const LATE_SHARE = 0.66;

export type LeaseState = "overdue" | "late" | "held";

export interface LeaseSections {
  overdue: HeldLease[];
  late: HeldLease[];
  held: HeldLease[];
}

export function leaseState(lease: HeldLease, now: number): LeaseState {
  const left = lease.deadline - now;
  if (left <= 0) return "overdue";
  // Who has no presence need not beat at all, and what is learned may be longer than one lease.
  return lease.has_presence && left < lease.seconds * (1 - LATE_SHARE) && lease.beats > 0 ? "late" : "held";
}

export function ordered(leases: readonly HeldLease[]): HeldLease[] {
  return leases.toSorted((one, other) => (one.leased_at ?? one.deadline) - (other.leased_at ?? other.deadline) || (one.id < other.id ? -1 : 1));
}

export function sectionsOf(leases: readonly HeldLease[], now: number): LeaseSections {
  const found: LeaseSections = { overdue: [], late: [], held: [] };
  for (const one of ordered(leases)) found[leaseState(one, now)].push(one);
  return found;
}

export function worstOf(leases: readonly HeldLease[], now: number): LeaseState {
  const states = leases.map((one) => leaseState(one, now));
  return states.includes("overdue") ? "overdue" : states.includes("late") ? "late" : "held";
}
