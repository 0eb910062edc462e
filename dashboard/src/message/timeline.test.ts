import { describe, expect, test } from "vitest";
import type { HeldLease, MessageDetail, Step } from "../api/schema";
import { timeline } from "./timeline";
import { frames } from "./traceback";

const detail = (state: MessageDetail["state"], life: Step[], change: Partial<MessageDetail> = {}) => ({ state, life, sent_at: 100, deadline_in: null, due_in: null, ...change }) as unknown as MessageDetail;
const shape = (found: ReturnType<typeof timeline>) => found!.segments.map((one) => [one.kind, one.from, one.to, one.ended]);

describe("the life to scale", () => {
  test("waited, ran, done", () => {
    const found = timeline(detail("completed", [{ at: 100, what: "sent" }, { at: 110, what: "completed", seconds: 6 }]), undefined, 200);
    expect(shape(found)).toEqual([["waits", 100, 104, ""], ["runs", 104, 110, "completed"]]);
    expect(found!.to).toBe(110);
  });
  test("a failed attempt rests until its retry", () => {
    const found = timeline(detail("completed", [{ at: 100, what: "sent" }, { at: 102, what: "failed", seconds: 2, after_seconds: 5 }, { at: 109, what: "completed", seconds: 1 }]), undefined, 200);
    expect(shape(found)).toEqual([["runs", 100, 102, "failed"], ["delayed", 102, 107, ""], ["waits", 107, 108, ""], ["runs", 108, 109, "completed"]]);
  });
  test("the last failure and the death are one run", () => {
    const found = timeline(detail("dead", [{ at: 100, what: "sent" }, { at: 104, what: "failed", seconds: 3 }, { at: 104, what: "dead", seconds: 3 }]), undefined, 200);
    expect(shape(found)).toEqual([["waits", 100, 101, ""], ["runs", 101, 104, "failed"]]);
  });
  test("a run whose worker died is a guess", () => {
    const found = timeline(detail("ready", [{ at: 100, what: "sent" }, { at: 130, what: "crashed", owner: "w/1" }]), undefined, 140);
    expect(found!.segments[0]).toMatchObject({ kind: "runs", from: 100, to: 130, ended: "crashed", isGuess: true });
    expect(found!.segments[1]).toMatchObject({ kind: "waits", to: 140 });
  });
  test("what runs goes on until now, and red from its deadline on", () => {
    const lease = { leased_at: 105, deadline: 135, beats: 2, last_beat_at: 125 } as HeldLease;
    const found = timeline(detail("leased", [{ at: 100, what: "sent" }]), lease, 140);
    expect(shape(found)).toEqual([["waits", 100, 105, ""], ["runs", 105, 135, ""], ["overdue", 135, 140, ""]]);
    expect(found!.beats).toEqual([115, 125]);
  });
  test("of what was never sent nothing is drawn", () => expect(timeline(detail("ready", [], { sent_at: null }), undefined, 1)).toBeNull());
});

test("a traceback is cut into frames, the user's own apart", () => {
  const text = 'Traceback (most recent call last):\n  File "/usr/lib/python3.12/asyncio/tasks.py", line 1, in wait\n    await x\n  File "/app/jobs.py", line 27, in send\n    raise E("x")\nE: x\n';
  const found = frames(text);
  expect(found.map((one) => one.isOwn)).toEqual([true, false, true, true]);
  expect(found.map((one) => one.text).join("\n")).toBe(text.trimEnd());
});
