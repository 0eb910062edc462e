import { expect, test } from "vitest";
import type { ClientQuota } from "../api/schema";
import { isFull, moodOf, quotaText, useOf } from "./quota-text";

const NONE: ClientQuota = { waiting: null, running: null, per_second: null, rate: null, payload_bytes: null, at: null, by: "", waiting_use: null, running_use: null };

test("a quota is read as people write it", () => {
  expect(quotaText({ ...NONE, waiting: 10_000, running: 5, rate: "100/m", payload_bytes: 65_536 })).toBe("10,000 waiting, 5 at once, 100/m, 66 kB each");
  expect(quotaText({ ...NONE, rate: "5/s" })).toBe("5/s");
});

test("the larger part that is used counts", () => {
  expect(useOf(null)).toBe(null);
  expect(useOf({ ...NONE, waiting_use: 0.2, running_use: 1 })).toBe(1);
  expect([isFull({ ...NONE, running_use: 1 }), isFull({ ...NONE, waiting_use: 1 }), isFull(null)]).toEqual([false, true, false]);
  expect([moodOf(0.5), moodOf(0.9)]).toEqual(["calm", "soon"]);
});
