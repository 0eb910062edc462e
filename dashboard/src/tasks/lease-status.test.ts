import { expect, test } from "vitest";
import { leaseStatus, margin } from "./lease-status";

test("a lease that is renewed may be shorter than a run; one that is not may not", () => {
  expect([0.5, 0.9, 39].map((use) => leaseStatus(use, true))).toEqual(["fits", "fits", "renewed"]);
  expect([0.5, 0.9, 1.2].map((use) => leaseStatus(use, false))).toEqual(["fits", "near", "short"]);
  expect([leaseStatus(null, true), leaseStatus(2, null)]).toEqual([null, "renewed"]);
});

test("the margin says what is left, or by how much a run is longer", () => {
  expect([margin(30, 12), margin(30, 90), margin(null, 1), margin(30, null)]).toEqual(["At p99 18 s are left", "At p99 a run is 1 m 00 s longer", "", ""]);
});
