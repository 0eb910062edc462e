import { describe, expect, test } from "vitest";
import { backoffMs } from "./backoff";
import { merged } from "./event-list";
import { readEvent, type LiveEvent } from "./messages";
import { staleKeys } from "./stale-keys";

const event = (seq: number, type = "retried", payload = {}): LiveEvent => ({ seq, type, at: seq, payload });

describe("the list of events", () => {
  test("newest first, none twice", () => {
    const known = merged([], [event(1), event(2)]);
    expect(merged(known, [event(2), event(3)]).map((one) => one.seq)).toEqual([3, 2, 1]);
  });
  test("is bounded", () => expect(merged([], Array.from({ length: 50 }, (_, seq) => event(seq + 1)), 10).map((one) => one.seq)).toEqual([50, 49, 48, 47, 46, 45, 44, 43, 42, 41]));
  test("a gap is told although it has no place", () => expect(merged([event(5)], [event(0, "gap")])[0]!.type).toBe("gap"));
  test("nothing new is the same list", () => {
    const known = [event(5)];
    expect(merged(known, [event(4)])).toBe(known);
  });
});

test("events are read as the stream has them", () => {
  expect(readEvent('{"type":"requeue","timestamp":1704067200000,"payload":{"count":3}}', "4711")).toEqual({ seq: 4711, type: "requeue", at: 1704067200, payload: { count: 3 } });
  expect(readEvent('{"type":"gap","timestamp":0,"payload":{}}', "4711")!.seq).toBe(0);
  expect(readEvent("<html>", "1")).toBeNull();
});

test("tries come ever more seldom, and never all at once", () => {
  expect([0, 1, 2, 3, 9].map((tries) => backoffMs(tries, () => 1))).toEqual([1000, 2000, 4000, 8000, 15_000]);
  expect(backoffMs(0, () => 0)).toBe(600);
});

test("an event makes stale what it is about", () => {
  const found = staleKeys([event(1, "dead", { message_id: "m1" }), event(2, "requeue", { ids: ["m2"] }), event(3, "completed", { message_id: "m1" })]);
  expect([...found.keys()].sort()).toEqual(["dead", "message/m1", "message/m2", "messages"]);
});
