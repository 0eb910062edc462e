import { expect, test } from "vitest";
import type { HeldLease, MessageDetail } from "../api/schema";
import { words } from "../words";
import { placeAmong, ranSeconds } from "./against-task";

const times = { p50: 1, p95: 5, p99: 9, mean: 1.4, count: 100 };
const W = words.against;

test("a run is told by the quantile that it passed", () => {
  expect([0.5, 1, 3, 6, 12].map((one) => placeAmong(one, times))).toEqual([W.under50, W.under50, W.over50, W.over95, W.over99]);
});

test("a running message runs since its lease began, an ended one ran as its last run did", () => {
  const detail = (state: MessageDetail["state"], life: unknown[] = []) => ({ state, life }) as MessageDetail;
  expect(ranSeconds(detail("leased"), { leased_at: 10 } as HeldLease, 25)).toBe(15);
  expect(ranSeconds(detail("leased"), undefined, 25)).toBeNull();
  expect(ranSeconds(detail("dead", [{ what: "failed", seconds: 2 }, { what: "dead", seconds: 3 }, { what: "redriven" }]), undefined, 25)).toBe(3);
  expect(ranSeconds(detail("ready", [{ what: "sent" }]), undefined, 25)).toBeNull();
});
