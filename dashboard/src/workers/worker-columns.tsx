// The columns of a worker. What its server does not say has no column.
import type { ConsumerStatus, HeldLease, WorkerPage, WorkerStatus } from "../api/schema";
import { duration, shortDuration } from "../format/duration";
import { ownerName } from "../format/names";
import { bytes, count, percent, perMinute } from "../format/number";
import type { Column } from "../parts/data-table";
import { StateWord } from "../parts/state-word";
import { Gauge, TickText } from "../parts/tick";
import { words } from "../words";
import { says, type WorkerRow } from "./worker-rows";

const W = words.workers;
const C = words.columns;

const number = (key: string, title: string, width: string, from: Column<WorkerRow>["from"], of: (worker: WorkerStatus) => string, sortBy: (row: WorkerRow) => number | null | undefined, hint?: string): Column<WorkerRow> => ({
  key, title, width, isNumber: true, from, hint, sortBy, cell: (row) => (row.worker ? of(row.worker) : <span className="text-faint">{words.unknown}</span>),
});

export function workerColumns(page: WorkerPage | undefined): readonly Column<WorkerRow>[] {
  const all: readonly (readonly [Column<WorkerRow>, keyof WorkerStatus | null])[] = [
    [{ key: "state", title: C.state, width: "116px", cell: (row) => <StateWord state={row.state} /> }, null],
    [{ key: "worker", title: C.worker, cell: (row) => <Name row={row} /> }, null],
    [{ key: "version", title: C.version, width: "76px", from: "xl", cell: (row) => <span className="text-soft">{row.worker?.version ?? words.unknown}</span> }, "version"],
    [{ key: "holds", title: C.holds, width: "138px", sortBy: (row) => row.holds, cell: (row) => <Holds row={row} /> }, null],
    [{ key: "soonest", title: W.soonest, width: "100px", isNumber: true, from: "md", cell: (row) => <Soonest leases={row.leases} /> }, null],
    [number("cpu", C.cpu, "68px", "md", (one) => percent(one.cpu_percent), (row) => row.worker?.cpu_percent, W.cpuHint), "cpu_percent"],
    [number("memory", C.memory, "84px", "md", (one) => bytes(one.memory_bytes), (row) => row.worker?.memory_bytes), "memory_bytes"],
    [{ key: "rate", title: C.perMinute, width: "86px", isNumber: true, from: "lg", hint: W.rateHint, sortBy: (row) => paceOf(row)?.rate_per_minute, cell: (row) => (paceOf(row) ? perMinute(paceOf(row)!.rate_per_minute) : <span className="text-faint">{words.unknown}</span>) }, null],
    [{ key: "errors", title: C.errorsPerMinute, width: "84px", isNumber: true, from: "lg", hint: W.errorsHint, sortBy: (row) => paceOf(row)?.errors_per_minute, cell: (row) => <span className={paceOf(row)?.errors_per_minute ? "text-soon-ink" : "text-faint"}>{perMinute(paceOf(row)?.errors_per_minute)}</span> }, null],
    [{ key: "since", title: C.up, width: "64px", isNumber: true, from: "xl", cell: (row) => (row.worker ? <TickText of={(now) => shortDuration(Math.max(0, now - row.worker!.started_at))} /> : <span className="text-faint">{words.unknown}</span>) }, null],
    [{ key: "silent", title: C.silent, width: "86px", isNumber: true, from: "sm", cell: (row) => (paceOf(row)?.silent_seconds != null ? <span className={row.state === "silent" ? "text-soon-ink" : "text-soft"}>{W.heard(duration(paceOf(row)!.silent_seconds!))}</span> : <span className="text-faint">{words.unknown}</span>) }, null],
  ];
  return all.filter(([, field]) => field === null || says(page, field)).map(([column]) => column);
}

/** What finishes and fails: a worker, or a program over HTTP. */
function paceOf(row: WorkerRow): WorkerStatus | ConsumerStatus | undefined {
  return row.worker ?? row.consumer;
}

/** Its name, and the beginning of its boot's nonce; of a dead one how that is known, of one that leaves why. */
function Name({ row }: { row: WorkerRow }) {
  const beside = row.proof ?? row.worker?.leaving;
  return (
    <span className="flex items-baseline gap-2">
      <b className="shrink-0 truncate font-[550]">{row.worker?.name ?? row.consumer?.name ?? ownerName(row.id)}</b>
      {beside ? <span className="min-w-0 truncate text-soft" title={beside}>{beside}</span> : <span className="mono shrink-0 text-soft max-sm:hidden">{row.consumer ? `http:${row.consumer.token}` : row.id.slice(row.id.lastIndexOf("/") + 1).slice(0, 4)}</span>}
    </span>
  );
}

function Holds({ row }: { row: WorkerRow }) {
  const slots = row.worker?.concurrency ?? 0;
  return (
    <span className="flex items-center gap-2">
      {slots > 0 && <Gauge thin part={row.holds / slots} className="w-14 shrink-0" label={W.slotsUse(count(row.holds), count(slots))} />}
      <span className={`tabular-nums ${row.holds ? "" : "text-soft"}`}>{slots ? W.slotsUse(count(row.holds), count(slots)) : row.holds ? count(row.holds) : row.state === "gone" ? words.words.none : W.holdsNone}</span>
    </span>
  );
}

export function Soonest({ leases }: { leases: readonly HeldLease[] }) {
  const deadline = Math.min(...leases.map((one) => one.deadline));
  return leases.length ? <TickText className={leases.some((one) => one.deadline_in <= 0) ? "text-dead" : ""} of={(now) => (deadline <= now ? words.states.overdue : `${Math.ceil(deadline - now)} s`)} /> : <span className="text-faint">{words.unknown}</span>;
}
