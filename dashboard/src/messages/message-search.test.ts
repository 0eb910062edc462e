import { describe, expect, test } from "vitest";
import { flag, list, number, oneOf, parseSearch, stringifySearch, text } from "../search";
import { cancelSelection, deadSelection, paramsOf, statesOf, toggled } from "./message-search";

describe("filters and the address", () => {
  test("there and back", () => {
    const search = { state: ["dead", "ready"], queue: ["mail & co", "ns/x"], task: "send", text: "a=b&c", since: 5 };
    const read = parseSearch(stringifySearch(search));
    expect(read).toEqual({ state: ["dead", "ready"], queue: ["mail & co", "ns/x"], task: "send", text: "a=b&c", since: "5" });
    expect(stringifySearch({ a: undefined, b: "", c: [], d: false })).toBe("");
  });
  test("values of another kind are left out", () => {
    expect([text(["a", "b"]), text(""), number("x"), number("5"), flag("true"), flag("1"), oneOf("b", ["a"]), list("a"), list([])]).toEqual(["a", undefined, undefined, 5, true, undefined, undefined, ["a"], undefined]);
  });
});

describe("states", () => {
  test("none means all that are open", () => expect(statesOf({})).toEqual(["leased", "ready", "delayed", "dead"]));
  test("ended ones are looked at apart", () => {
    expect(statesOf({ state: ["dead", "completed"] })).toEqual(["dead"]);
    expect(toggled({ state: ["dead"] }, "completed")).toEqual(["completed"]);
    expect(toggled({ state: ["completed"] }, "ready")).toEqual(["ready"]);
  });
  test("pressed twice it is off", () => expect(toggled(toggled({}, "dead") ? { state: ["dead"] } : {}, "dead")).toBeUndefined());
  test("unknown ones from an old address do no harm", () => expect(statesOf({ state: ["sleeping"] })).toHaveLength(4));
});

test("a last hour is asked in whole minutes, so that the same question is the same for a minute", () => {
  expect(paramsOf({ last: 3600 }, 10_000).since).toBe(paramsOf({ last: 3600 }, 10_019).since);
});

describe("acts on all that match", () => {
  test("a filter is handed on", () => expect(cancelSelection({ queue: ["mail"], text: "x" }, 0)).toEqual({ queues: ["mail"], text: "x" }));
  test("everything is asked for in so many words", () => {
    expect(cancelSelection({}, 0)).toEqual({ all: true });
    expect(deadSelection({}, 0)).toEqual({ all: true });
  });
  test("only the shown states are meant", () => {
    expect(cancelSelection({ state: ["ready"] }, 0)).toEqual({ states: ["ready"] });
    expect(cancelSelection({ state: ["completed"] }, 0)).toBeNull();
    expect(deadSelection({ state: ["ready"] }, 0)).toBeNull();
  });
  test("dead letters are meant by every filter that is on: one that was left out would hit too many", () => {
    const search = { state: ["dead"], queue: ["mail"], task: "t", client: "a", key: "k", text: "x", since: 2, until: 3 };
    expect(deadSelection(search, 0)).toEqual({ queues: ["mail"], task: "t", client: "a", key: "k", text: "x", since: "2", before: "3" });
  });
});
