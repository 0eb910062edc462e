import { describe, expect, test } from "vitest";
import type { HeldLease } from "../api/schema";
import { leaseState, sectionsOf } from "./lease-order";
import { withChanges } from "../live/lease-rows";

const lease = (id: string, change: Partial<HeldLease> = {}): HeldLease => ({
  id, queue: "q", task: "t", owner: "w/1", fence: 1, attempt: 1, leased_at: 0, deadline: 30, deadline_in: 30, seconds: 30, beats: 1, last_beat_at: 0, progress: null, size: null, predicted_seconds: null, has_presence: true, ...change,
});
const times = { server_now: 0, made_at: 0, next_snapshot_in: 1, last_sweep_at: null, next_sweep_at: null };

describe("a lease", () => {
  test("is overdue from its deadline on", () => expect([leaseState(lease("a"), 29.9), leaseState(lease("a"), 30)]).toEqual(["late", "overdue"]));
  test("is late when a beat did not come", () => expect([leaseState(lease("a"), 5), leaseState(lease("a"), 21)]).toEqual(["held", "late"]));
  test("of a holder that need not beat is never late", () => expect(leaseState(lease("a", { has_presence: false }), 25)).toBe("held"));
  test("before its first beat is never late: what is learned may be longer", () => expect(leaseState(lease("a", { beats: 0 }), 25)).toBe("held"));
});

describe("the order", () => {
  const all = [lease("c", { leased_at: 2 }), lease("b", { leased_at: 1 }), lease("a", { leased_at: 2, deadline: 10 })];
  test("longest running first, in its section", () => {
    const found = sectionsOf(all, 9);
    expect([...found.late, ...found.held].map((one) => one.id)).toEqual(["a", "b", "c"]);
  });
  test("does not change because time passes", () => {
    const order = (now: number) => sectionsOf(all.filter((one) => one.id !== "a"), now).held.map((one) => one.id);
    expect(order(1)).toEqual(order(9));
  });
});

describe("changes", () => {
  const before = withChanges(undefined, { is_whole: true, changed: [lease("a"), lease("b", { deadline: 20 })], removed: [], is_cut: false }, times)!;
  test("begin with the whole, soonest end first", () => expect(before.leases.map((one) => one.id)).toEqual(["b", "a"]));
  test("remove, replace, add", () => {
    const after = withChanges(before, { is_whole: false, changed: [lease("a", { deadline: 40 }), lease("c", { deadline: 50 })], removed: ["b"], is_cut: true }, times)!;
    expect(after.leases.map((one) => [one.id, one.deadline])).toEqual([["a", 40], ["c", 50]]);
    expect(after.is_cut).toBe(true);
  });
  test("without a whole before them are of no use", () => expect(withChanges(undefined, { is_whole: false, changed: [lease("a")], removed: [], is_cut: false }, times)).toBeUndefined());
  test("none: only the times are new", () => expect(withChanges(before, undefined, { ...times, server_now: 9 })).toMatchObject({ server_now: 9, leases: before.leases }));
});
