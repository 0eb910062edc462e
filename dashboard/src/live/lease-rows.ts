// The leases of now from those of before and what changed. Pure.
import type { HeldLease, LeasesSnapshot } from "../api/schema";
import type { LeaseChanges, SnapshotTimes } from "./messages";

export function withChanges(before: LeasesSnapshot | undefined, changes: LeaseChanges | undefined | null, times: SnapshotTimes): LeasesSnapshot | undefined {
  if (!changes) return before && { ...before, ...times };
  if (!changes.is_whole && !before) return undefined;
  const rows = new Map<string, HeldLease>();
  if (!changes.is_whole) for (const one of before!.leases) rows.set(one.id, one);
  for (const id of changes.removed ?? []) rows.delete(id);
  for (const one of changes.changed) rows.set(one.id, one);
  const leases = [...rows.values()].sort((one, other) => one.deadline - other.deadline || (one.id < other.id ? -1 : 1));
  return { ...times, leases, is_cut: changes.is_cut };
}
