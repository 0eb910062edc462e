// Workers: who is alive, silent or gone, what each holds and how each does.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { soonLeases, workers as workersQuery } from "../api/queries";
import { count } from "../format/number";
import { DataTable, type Section } from "../parts/data-table";
import { Page, Panel } from "../parts/page";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { readSort, sorted } from "../parts/sorting";
import { OneWorker } from "../workers/one-worker";
import { workerColumns } from "../workers/worker-columns";
import { inStates, workerRows, type WorkerRow } from "../workers/worker-rows";
import { words } from "../words";

const W = words.workers;

export default function WorkersPage() {
  const { worker, sort: sortText } = useSearch({ from: "/workers" });
  const sort = readSort(sortText);
  const navigate = useNavigate({ from: "/workers" });
  const { data, error, refetch } = useQuery(workersQuery);
  const { data: held } = useQuery(soonLeases);
  const rows = useMemo(() => (data ? workerRows(data, held?.leases ?? []) : []), [data, held]);
  const columns = useMemo(() => workerColumns(data), [data]);
  const chosen = rows.find((row) => row.id === worker);
  return (
    <Page title={W.title} aside={data && data.workers.length > 0 && <span className="text-soft">{capacity(rows)}</span>}>
      <Panel label={W.title}>
        {!data ? (error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows />)
          : rows.length === 0 ? <Empty title={W.nothing} command={W.nothingCommand}>{W.nothingMore}</Empty>
          : <DataTable label={W.title} columns={columns} sort={sort} onSort={(next) => void navigate({ search: (search) => ({ ...search, sort: next }), replace: true })} sections={sectionsOf(rows).map((one) => ({ ...one, rows: sorted(one.rows, columns, sort) }))} rowKey={(row) => row.id} onOpen={(row) => void navigate({ search: (search) => ({ ...search, worker: row.id === worker ? undefined : row.id }), replace: true })} openKey={worker ?? null} />}
      </Panel>
      {chosen && <OneWorker key={chosen.id} row={chosen} />}
    </Page>
  );
}

function sectionsOf(rows: readonly WorkerRow[]): Section<WorkerRow>[] {
  const alive = inStates(rows, "alive", "draining");
  const all: Section<WorkerRow>[] = [
    { key: "gone", kind: "bad", title: `${W.gone} ${count(inStates(rows, "gone").length)} — ${W.goneMore}`, rows: inStates(rows, "gone") },
    { key: "silent", kind: "soon", title: `${words.states.silent} ${count(inStates(rows, "silent").length)} — ${W.silentMore}`, rows: inStates(rows, "silent") },
    { key: "alive", title: `${words.states.alive} ${count(alive.length)}`, rows: alive },
    { key: "http", title: `${W.noPresence} ${count(inStates(rows, "http").length)} — ${W.noPresenceMore}`, rows: inStates(rows, "http") },
  ];
  return all.filter((one) => one.rows.length);
}

/** How many are alive, and how much of what they can do at once they do. */
function capacity(rows: readonly WorkerRow[]): string {
  const workers = rows.flatMap((row) => row.worker ?? []);
  const slots = workers.reduce((sum, one) => sum + one.concurrency, 0);
  const silent = inStates(rows, "silent").length;
  return W.capacity(workers.length - silent, silent, count(workers.reduce((sum, one) => sum + one.holds.length, 0)), count(slots));
}
