import { expect, test } from "vitest";
import type { HeldLease, WorkerStatus } from "../api/schema";
import { says, workerRows } from "./worker-rows";

const worker = (id: string, more: Partial<WorkerStatus> = {}) => ({ id, name: id, host: "h", pid: 1, started_at: 0, queues: [], concurrency: 1, holds: [], silent_seconds: 0.4, slot: "", ...more }) as WorkerStatus;
const page = (workers: WorkerStatus[]) => ({ workers, gone: [{ id: "d/1", proof: "its process has ended" }], consumers: [], after: null });
const lease = (owner: string) => ({ id: owner, owner }) as HeldLease;

test("silence weighs more than draining, and holders without presence are told apart", () => {
  const rows = workerRows(page([worker("a/1"), worker("b/1", { draining: true }), worker("c/1", { draining: true, silent_seconds: 60 })]), [lease("a/1"), lease("d/1"), lease("http:x/y")]);
  expect(rows.map((one) => [one.id, one.state, one.leases.length])).toEqual([["a/1", "alive", 1], ["b/1", "draining", 0], ["c/1", "silent", 0], ["d/1", "gone", 1], ["http:x/y", "http", 1]]);
});

test("consumers over HTTP are listed with what servers say of them, also those that hold nothing", () => {
  const consumer = (id: string) => ({ id, name: id.slice(id.lastIndexOf("/") + 1), token: "t", queues: ["q"], holds: [], silent_seconds: 1, rate_per_minute: 60, errors_per_minute: 2 });
  const rows = workerRows({ ...page([]), gone: [], consumers: [consumer("http:t/a"), consumer("http:t/b")] }, [lease("http:t/b"), lease("loop/1")]);
  expect(rows.map((one) => [one.id, one.state, one.consumer?.name, one.holds])).toEqual([["http:t/a", "http", "a", 0], ["http:t/b", "http", "b", 1], ["loop/1", "http", undefined, 1]]);
});

test("what an older server does not say is no column; null is said", () => {
  expect(says(page([worker("a/1")]), "cpu_percent")).toBe(false);
  expect(says(page([worker("a/1", { cpu_percent: null })]), "cpu_percent")).toBe(true);
});
