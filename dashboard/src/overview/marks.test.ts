import { expect, test } from "vitest";
import type { ActEntry } from "../api/schema";
import { actMarks, gathered, workerMarks } from "./marks";

const act = (kind: string, more: Partial<ActEntry> = {}): ActEntry => ({ seq: 1, kind, at: 5, by: "ops@bastion", triggered_by: "cli", source: "", queue: "mail", count: 0, ids: [], data: {}, ...more });

test("acts that change something are marked, looks are not", () => {
  expect(actMarks([act("paused"), act("stack_read"), act("redriven", { count: 12 })]).map((one) => one.text)).toEqual(["mail paused by ops", "12 messages redriven by ops"]);
});

test("a new version of the workers is marked by its name", () => {
  const worker = (id: string, started_at: number, version?: string) => ({ id, started_at, version });
  expect(workerMarks([worker("a/1", 0, "0.1"), worker("b/1", 1000, "0.2"), worker("c/1", 1060, "0.2")])).toEqual([{ at: 0, text: "a joined" }, { at: 1000, text: "workers 0.2" }]);
  expect(workerMarks([worker("a/1", 0), worker("b/1", 10)])).toEqual([{ at: 0, text: "2 workers joined" }]);
});

test("marks of one step are one", () => {
  expect(gathered([{ at: 70, text: "b" }, { at: 61, text: "a" }, { at: 200, text: "c" }], 60)).toEqual([{ at: 61, text: "a, b" }, { at: 200, text: "c" }]);
});
