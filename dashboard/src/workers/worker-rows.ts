// The rows of the workers' page: from the roster, the proven dead, and whoever holds leases besides. Pure.
import type { ConsumerStatus, HeldLease, WorkerPage, WorkerStatus } from "../api/schema";

export interface WorkerRow {
  id: string;
  state: "alive" | "silent" | "draining" | "gone" | "http";
  worker?: WorkerStatus;
  /** Of a program that leases over HTTP, as servers report it. */
  consumer?: ConsumerStatus;
  proof?: string;
  leases: readonly HeldLease[];
  holds: number;
}

/** A worker is heard about once a second; one that is silent for longer may be frozen. */
const SILENT_SECONDS = 10;

export function workerRows(page: WorkerPage, held: readonly HeldLease[]): WorkerRow[] {
  const leases = new Map<string, HeldLease[]>();
  for (const one of held) leases.set(one.owner, [...(leases.get(one.owner) ?? []), one]);
  const known: WorkerRow[] = page.workers.map((one) => ({ id: one.id, state: stateOf(one), worker: one, leases: leases.get(one.id) ?? [], holds: one.holds.length }));
  const gone: WorkerRow[] = page.gone.map((one) => ({ id: one.id, state: "gone", proof: one.proof, leases: leases.get(one.id) ?? [], holds: leases.get(one.id)?.length ?? 0 }));
  const listed = new Set([...known, ...gone].map((one) => one.id));
  const consumers = new Map((page.consumers ?? []).map((one) => [one.id, one])); // an older server says nothing of them
  const ids = new Set([...consumers.keys(), ...leases.keys()].filter((id) => !listed.has(id)));
  const others: WorkerRow[] = [...ids].map((id) => {
    const of = leases.get(id) ?? [];
    return { id, state: "http", consumer: consumers.get(id), leases: of, holds: Math.max(of.length, consumers.get(id)?.holds.length ?? 0) };
  });
  return [...known, ...gone, ...others];
}

function stateOf(worker: WorkerStatus): WorkerRow["state"] {
  if (worker.silent_seconds > SILENT_SECONDS) return "silent";
  return worker.draining ? "draining" : "alive";
}

/** Of these states, by name. */
export function inStates(rows: readonly WorkerRow[], ...states: WorkerRow["state"][]): WorkerRow[] {
  return rows.filter((row) => states.includes(row.state)).sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** What a server that is too old does not say of any worker is no column. */
export function says(page: WorkerPage | undefined, field: keyof WorkerStatus): boolean {
  return page?.workers.some((one) => one[field] !== undefined) ?? true;
}
