// Workers: who is alive, silent or gone, and what each holds.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { overview, soonLeases, workers as workersQuery } from "../api/queries";
import type { HeldLease, WorkerStatus } from "../api/schema";
import { duration, wholeDuration } from "../format/duration";
import { ownerName, shortId } from "../format/names";
import { count } from "../format/number";
import { DataTable, type Column, type Section } from "../parts/data-table";
import { Fact, Facts, Page, Panel } from "../parts/page";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { StateWord } from "../parts/state-word";
import { Gauge, TickText } from "../parts/tick";
import { When } from "../parts/when";
import { useOpenMessage } from "../shell/side-panel";
import { words } from "../words";

const W = words.workers;
const C = words.columns;
/** A worker is heard about once a second; one that is silent for longer may be frozen. */
const SILENT_SECONDS = 10;

interface WorkerRow {
  id: string;
  state: "alive" | "silent" | "gone" | "http";
  worker?: WorkerStatus;
  proof?: string;
  leases: readonly HeldLease[];
  holds: number;
}

const columns: readonly Column<WorkerRow>[] = [
  { key: "state", title: C.state, width: "112px", cell: (row) => <StateWord state={row.state} /> },
  { key: "worker", title: C.worker, cell: (row) => <span className="flex items-baseline gap-2"><b className="min-w-0 truncate font-[550]">{row.worker?.name ?? ownerName(row.id)}</b><span className="mono text-soft max-sm:hidden">{row.id.slice(row.id.lastIndexOf("/") + 1).slice(0, 6)}</span></span> },
  { key: "host", title: C.host, width: "14%", from: "lg", cell: (row) => <span className="text-soft">{row.proof ?? (row.worker ? `${row.worker.host} · ${row.worker.pid}` : words.unknown)}</span> },
  { key: "holds", title: C.holds, width: "132px", cell: (row) => <Holds row={row} /> },
  { key: "soonest", title: W.soonest, width: "96px", isNumber: true, from: "md", cell: (row) => <Soonest leases={row.leases} /> },
  { key: "since", title: C.since, width: "92px", isNumber: true, from: "sm", cell: (row) => (row.worker ? <TickText of={(now) => wholeDuration(Math.max(0, now - row.worker!.started_at))} /> : words.unknown) },
  { key: "silent", title: C.silent, width: "84px", isNumber: true, from: "sm", cell: (row) => (row.worker ? <span className={row.state === "silent" ? "text-soon-ink" : ""}>{W.heard(duration(row.worker.silent_seconds))}</span> : words.unknown) },
  { key: "queues", title: C.queues, width: "17%", from: "xl", cell: (row) => <span className="text-soft" title={row.worker?.queues.join(", ")}>{row.worker?.queues.join(", ") ?? words.unknown}</span> },
];

function Holds({ row }: { row: WorkerRow }) {
  const slots = row.worker?.concurrency ?? 0;
  return (
    <span className="flex items-center gap-2">
      {slots > 0 && <Gauge thin part={row.holds / slots} className="w-14 shrink-0" label={W.slotsUse(count(row.holds), count(slots))} />}
      <span className="tabular-nums">{row.holds ? (slots ? W.slotsUse(count(row.holds), count(slots)) : count(row.holds)) : <span className="text-soft">{slots ? W.slotsUse("0", count(slots)) : W.holdsNone}</span>}</span>
    </span>
  );
}

function Soonest({ leases }: { leases: readonly HeldLease[] }) {
  const deadline = Math.min(...leases.map((one) => one.deadline));
  return leases.length ? <TickText of={(now) => (deadline <= now ? words.states.overdue : `${Math.ceil(deadline - now)} s`)} /> : <span className="text-faint">{words.unknown}</span>;
}

export default function WorkersPage() {
  const { worker } = useSearch({ from: "/workers" });
  const navigate = useNavigate({ from: "/workers" });
  const { data, error, refetch } = useQuery(workersQuery);
  const { data: held } = useQuery(soonLeases);
  const { data: seen } = useQuery(overview);
  const rows = useMemo(() => {
    if (!data) return [];
    const leases = new Map<string, HeldLease[]>();
    for (const one of held?.leases ?? []) leases.set(one.owner, [...(leases.get(one.owner) ?? []), one]);
    const known: WorkerRow[] = data.workers.map((one) => ({ id: one.id, state: one.silent_seconds > SILENT_SECONDS ? "silent" : "alive", worker: one, leases: leases.get(one.id) ?? [], holds: one.holds.length }));
    const gone: WorkerRow[] = data.gone.map((one) => ({ id: one.id, state: "gone", proof: one.proof, leases: leases.get(one.id) ?? [], holds: leases.get(one.id)?.length ?? 0 }));
    const listed = new Set([...known, ...gone].map((one) => one.id));
    const others: WorkerRow[] = [...leases].filter(([id]) => !listed.has(id)).map(([id, of]) => ({ id, state: "http", leases: of, holds: of.length }));
    return [...known, ...gone, ...others];
  }, [data, held]);
  const of = (...states: WorkerRow["state"][]) => rows.filter((row) => states.includes(row.state)).sort((one, other) => (one.id < other.id ? -1 : 1));
  const all: Section<WorkerRow>[] = [
    { key: "gone", kind: "bad", title: `${W.gone} ${count(of("gone").length)} — ${W.goneMore}`, rows: of("gone") },
    { key: "alive", title: `${words.states.alive} ${count(of("alive", "silent").length)}`, rows: of("silent", "alive") },
    { key: "http", title: `${W.noPresence} ${count(of("http").length)} — ${W.noPresenceMore}`, rows: of("http") },
  ];
  const sections = all.filter((one) => one.rows.length);
  const chosen = rows.find((row) => row.id === worker);
  return (
    <Page title={W.title} aside={seen && <span className="text-soft">{W.total(seen.total.workers)} {W.alive}</span>}>
      <Panel label={W.title}>
        {!data ? (error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows />)
          : rows.length === 0 ? <Empty title={W.nothing} command={W.nothingCommand}>{W.nothingMore}</Empty>
          : <DataTable label={W.title} columns={columns} sections={sections} rowKey={(row) => row.id} onOpen={(row) => void navigate({ search: (search) => ({ ...search, worker: row.id === worker ? undefined : row.id }), replace: true })} openKey={worker ?? null} />}
      </Panel>
      {chosen && <OneWorker row={chosen} />}
    </Page>
  );
}

function OneWorker({ row }: { row: WorkerRow }) {
  const { open, openId } = useOpenMessage();
  const known = new Map(row.leases.map((one) => [one.id, one]));
  const holds = row.worker?.holds ?? row.leases.map((one) => ({ id: one.id, queue: one.queue, task: one.task }));
  return (
    <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_320px]">
      <Panel title={W.holds} aside={holds.length ? words.words.messages(holds.length) : W.holdsNone}>
        {holds.length > 0 && (
          <DataTable
            label={W.holds}
            columns={[
              { key: "task", title: C.task, cell: (one) => <span><b className="font-[550]">{one.task ?? words.unknown}</b> <span className="mono text-soft">{shortId(one.id)}</span></span> },
              { key: "queue", title: C.queue, width: "26%", from: "sm", cell: (one) => <span className="text-soft">{one.queue}</span> },
              { key: "running", title: C.runningFor, width: "112px", isNumber: true, cell: (one) => <TickText of={(moment) => (known.get(one.id)?.leased_at ? wholeDuration(moment - known.get(one.id)!.leased_at!) : words.unknown)} /> },
              { key: "left", title: C.left, width: "96px", isNumber: true, cell: (one) => <Soonest leases={known.has(one.id) ? [known.get(one.id)!] : []} /> },
            ]}
            sections={[{ key: "all", rows: holds.slice(0, 500) }]}
            rowKey={(one) => one.id}
            onOpen={(one) => open(one.id)}
            openKey={openId ?? null}
          />
        )}
      </Panel>
      <Panel title={<span className="mono">{row.id}</span>}>
        {row.worker ? (
          <Facts>
            <Fact name={W.host}>{row.worker.host}</Fact>
            <Fact name={W.pid}>{row.worker.pid}</Fact>
            <Fact name={W.slots}>{row.worker.concurrency}</Fact>
            <Fact name={W.started}><When at={row.worker.started_at} /></Fact>
            <Fact name={W.serves}><span title={row.worker.queues.join(", ")}>{row.worker.queues.join(", ")}</span></Fact>
            {row.worker.slot && <Fact name="slot">{row.worker.slot}</Fact>}
            <Fact name={C.silent}>{W.heard(duration(row.worker.silent_seconds))}</Fact>
          </Facts>
        ) : <p className="m-0 px-4 py-3 text-soft">{row.proof ?? W.noPresenceMore}</p>}
      </Panel>
    </div>
  );
}
