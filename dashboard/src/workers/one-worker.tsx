// One worker: what it holds, what is known of it, and how to drain or stop it.
import { DataTable, type Column } from "../parts/data-table";
import type { HeldLease, HeldMessage } from "../api/schema";
import { duration, wholeDuration } from "../format/duration";
import { shortId } from "../format/names";
import { bytes, percent, perMinute } from "../format/number";
import { Fact, Facts, Panel } from "../parts/page";
import { TickText } from "../parts/tick";
import { When } from "../parts/when";
import { useOpenMessage } from "../shell/side-panel";
import { words } from "../words";
import { WorkerActs } from "./worker-acts";
import { Soonest } from "./worker-columns";
import type { WorkerRow } from "./worker-rows";

const W = words.workers;
const C = words.columns;
const MOST = 500;

const columns = (known: ReadonlyMap<string, HeldLease>): readonly Column<HeldMessage>[] => [
  { key: "task", title: C.task, cell: (one) => <span><b className="font-[550]">{one.task ?? words.unknown}</b> <span className="mono text-soft">{shortId(one.id)}</span></span> },
  { key: "queue", title: C.queue, width: "26%", from: "sm", cell: (one) => <span className="text-soft">{one.queue}</span> },
  { key: "running", title: C.runningFor, width: "112px", isNumber: true, cell: (one) => <TickText of={(moment) => (known.get(one.id)?.leased_at ? wholeDuration(moment - known.get(one.id)!.leased_at!) : words.unknown)} /> },
  { key: "left", title: C.left, width: "96px", isNumber: true, cell: (one) => <Soonest leases={known.has(one.id) ? [known.get(one.id)!] : []} /> },
];

export function OneWorker({ row }: { row: WorkerRow }) {
  const { open, openId } = useOpenMessage();
  const holds = row.worker?.holds ?? row.consumer?.holds ?? row.leases.map((one) => ({ id: one.id, queue: one.queue, task: one.task }));
  return (
    <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_320px]">
      <Panel title={W.holdsNow} aside={holds.length ? words.words.messages(holds.length) : W.holdsNone}>
        {holds.length > 0 ? (
          <DataTable label={W.holdsNow} columns={columns(new Map(row.leases.map((one) => [one.id, one])))} sections={[{ key: "all", rows: holds.slice(0, MOST) }]} rowKey={(one) => one.id} onOpen={(one) => open(one.id)} openKey={openId ?? null} />
        ) : <p className="m-0 px-4 py-3 text-soft">{W.holdsNothing}</p>}
      </Panel>
      <Panel title={<span className="mono">{row.id}</span>} actions={row.worker && <WorkerActs worker={row.worker} />}>
        {row.worker ? (
          <Facts>
            {row.worker.leaving && <Fact name={W.leaving}><span title={row.worker.leaving}>{row.worker.leaving}</span></Fact>}
            <Fact name={W.host}>{row.worker.host}</Fact>
            <Fact name={W.pid}>{row.worker.pid}</Fact>
            {row.worker.version && <Fact name={C.version}>{row.worker.version}</Fact>}
            <Fact name={W.slots}>{row.worker.concurrency}</Fact>
            {row.worker.cpu_percent !== undefined && <Fact name={C.cpu}>{percent(row.worker.cpu_percent)}</Fact>}
            {row.worker.memory_bytes !== undefined && <Fact name={C.memory}>{bytes(row.worker.memory_bytes)}</Fact>}
            {row.worker.rate_per_minute !== undefined && <Fact name={W.finished}>{perMinute(row.worker.rate_per_minute)} {W.aMinute}</Fact>}
            {row.worker.errors_per_minute !== undefined && <Fact name={C.errors}>{perMinute(row.worker.errors_per_minute)} {W.aMinute}</Fact>}
            <Fact name={W.started}><When at={row.worker.started_at} /></Fact>
            <Fact name={W.serves}><span title={row.worker.queues.join(", ")}>{row.worker.queues.join(", ")}</span></Fact>
            {row.worker.slot && <Fact name={W.slot}>{row.worker.slot}</Fact>}
            <Fact name={C.silent}>{W.heard(duration(row.worker.silent_seconds))}</Fact>
          </Facts>
        ) : row.consumer ? (
          <Facts>
            <Fact name={W.token}><span className="mono">{row.consumer.token}</span></Fact>
            <Fact name={W.serves}><span title={row.consumer.queues.join(", ")}>{row.consumer.queues.join(", ")}</span></Fact>
            <Fact name={W.finished}>{perMinute(row.consumer.rate_per_minute)} {W.aMinute}</Fact>
            <Fact name={C.errors}>{perMinute(row.consumer.errors_per_minute)} {W.aMinute}</Fact>
            {row.consumer.silent_seconds !== null && <Fact name={C.silent}>{W.heard(duration(row.consumer.silent_seconds))}</Fact>}
          </Facts>
        ) : <p className="m-0 px-4 py-3 text-soft">{row.proof ?? W.noPresenceMore}</p>}
      </Panel>
    </div>
  );
}
