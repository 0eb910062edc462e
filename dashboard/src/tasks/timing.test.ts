import { expect, test } from "vitest";
import type { TaskTiming } from "../api/schema";
import { explained } from "./timing";

const timing = (more: Partial<TaskTiming>) => ({ durations: { q99: 25 }, lease_seconds: 30, status: "ok", use: 0.83, margin_seconds: 5, ...more }) as TaskTiming;

test("the sentence says what is left, what is missing, or that the lease is renewed", () => {
  expect(explained(timing({}))).toBe("99 of 100 runs end within 25 s. The lease is 30 s: 83 % of it is used, 5.0 s are left.");
  expect(explained(timing({ status: "critical", use: 1.2, margin_seconds: -6 }))).toBe("99 of 100 runs end within 25 s. The lease is 30 s, 6.0 s too short.");
  expect(explained(timing({ status: "renewed", use: null, margin_seconds: null }))).toContain("renewed while they run");
  expect(explained(timing({ status: "unknown", use: null, lease_seconds: null, margin_seconds: null }))).toBe("99 of 100 runs end within 25 s.");
});
