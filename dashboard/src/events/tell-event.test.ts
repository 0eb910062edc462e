import { expect, test } from "vitest";
import { tellEvent } from "./tell-event";

const event = (type: string, payload: Record<string, unknown>) => ({ seq: 1, type, at: 0, payload });

test("seconds are told as what they are", () => {
  expect(tellEvent(event("retried", { seconds: 3, attempt: 2, after_seconds: 4 }))).toBe("attempt 2 · ran 3.0 s · again after 4.0 s");
  expect(tellEvent(event("touched", { seconds: 120, by: "ada" }))).toBe("lease for 2 m 00 s · by ada");
  expect(tellEvent(event("loop_blocked", { seconds: 1.4 }))).toContain("for 1.4 s");
});
