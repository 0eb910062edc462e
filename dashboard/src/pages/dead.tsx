// Dead letters: grouped by what went wrong; a group opens to its traceback, its messages and its acts.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { BulkDialog } from "../acts/bulk-dialog";
import type { Choice, Verb } from "../acts/requests";
import { deadGroups } from "../api/queries";
import type { DeadGroup } from "../api/schema";
import { shortId } from "../format/names";
import { count, plural } from "../format/number";
import { lastReason } from "../format/reason";
import { DataTable, type Column } from "../parts/data-table";
import { FilterChip } from "../parts/filter-chip";
import { QueueLink } from "../parts/links";
import { Page, Panel } from "../parts/page";
import { Bars } from "../parts/sparkline";
import { Empty, LoadingRows, Redacted, sentence, TroubleState } from "../parts/states";
import { Ago, When } from "../parts/when";
import { Traceback } from "../message/traceback";
import { useActs } from "../shell/session";
import { useOpenMessage } from "../shell/side-panel";
import { words } from "../words";

const W = words.dead;
const C = words.columns;

const columns: readonly Column<DeadGroup>[] = [
  { key: "error", title: C.reason, cell: (row) => <span><b className="font-[550]">{row.error || row.code}</b> <span className="text-soft">{row.redacted ? "" : lastReason(row.text, row.error)}</span></span> },
  { key: "task", title: C.task, width: "16%", from: "sm", cell: (row) => row.task ?? <span className="text-soft">{words.messages.unreadable}</span> },
  { key: "place", title: W.place, width: "20%", from: "xl", cell: (row) => (row.place ? <span className="mono text-soft" title={row.place}>{row.place}</span> : <span className="text-faint">{words.unknown}</span>) },
  { key: "trend", title: C.trend, width: "124px", from: "md", hint: W.trend, cell: (row) => <Bars values={row.by_hour.slice(-24)} label={`${W.trend}: ${row.by_hour.slice(-24).join(", ")}`} /> },
  { key: "last", title: C.last, width: "92px", isNumber: true, cell: (row) => <Ago at={row.last_at} /> },
  { key: "count", title: C.count, width: "80px", isNumber: true, cell: (row) => <b className="font-semibold">{count(row.count)}</b> },
];

export default function DeadPage() {
  const search = useSearch({ from: "/dead" });
  const navigate = useNavigate({ from: "/dead" });
  const { data, error, refetch } = useQuery(deadGroups({ queue: search.queue, task: search.task }));
  const [asks, setAsks] = useState<{ verb: Verb; choice: Choice; what: string } | null>(null);
  const { may, why } = useActs();
  const set = (change: Partial<typeof search>) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const chosen = data?.groups.find((one) => one.fingerprint === search.group);
  const total = data?.groups.reduce((sum, one) => sum + one.count, 0) ?? 0;
  const all: Record<string, unknown> = { ...(search.queue ? { queues: [search.queue] } : {}), ...(search.task ? { task: search.task } : {}) };
  const ask = (verb: Verb, query: Record<string, unknown>, what: string) => setAsks({ verb, choice: { query: Object.keys(query).length ? query : { all: true } }, what });
  const what = [search.queue, search.task].filter(Boolean).join("  ") || words.words.all;
  const queues = [...new Set(data?.groups.flatMap((one) => Object.keys(one.queues)))].sort();
  const tasks = [...new Set(data?.groups.map((one) => one.task).filter((one) => one !== null))].sort();
  return (
    <Page
      title={W.title}
      actions={total > 0 && (
        <>
          <Link to="/messages" search={{ state: ["dead"], queue: search.queue ? [search.queue] : undefined, task: search.task }} className="button">{W.list}</Link>
          <button type="button" className="button" disabled={!may} title={why} onClick={() => ask("redrive", all, what)}>{W.redriveAll}</button>
          <button type="button" className="button" disabled={!may} title={why} onClick={() => ask("delete", all, what)}>{W.deleteAll}</button>
        </>
      )}
    >
      {(total > 0 || search.queue || search.task) && (
        <div className="flex flex-wrap items-center gap-1.5">
          <FilterChip name={C.queue} value={search.queue} options={queues} onChange={(queue) => set({ queue, group: undefined })} />
          <FilterChip name={C.task} value={search.task} options={tasks} onChange={(task) => set({ task, group: undefined })} />
          {data && <span className="ml-1 text-soft">{W.looked(count(data.looked_at))}{data.more ? ` ${W.more(count(data.looked_at))}` : ""}</span>}
        </div>
      )}
      <Panel label={W.groups}>
        {!data ? (error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows />)
          : data.groups.length === 0 ? <Empty title={W.nothing}>{W.nothingMore}</Empty>
          : <DataTable label={W.groups} columns={columns} sections={[{ key: "all", rows: data.groups }]} rowKey={(row) => row.fingerprint} onOpen={(row) => set({ group: row.fingerprint === search.group ? undefined : row.fingerprint })} openKey={search.group ?? null} />}
      </Panel>
      {chosen && <Group group={chosen} onAsk={(verb) => ask(verb, { fingerprint: chosen.fingerprint }, `${chosen.task ?? ""} ${chosen.error || chosen.code}`)} />}
      {asks && <BulkDialog verb={asks.verb} choice={asks.choice} what={asks.what} onClose={() => setAsks(null)} />}
    </Page>
  );
}

function Group({ group, onAsk }: { group: DeadGroup; onAsk: (verb: Verb) => void }) {
  const { may, why } = useActs();
  const { open, openId } = useOpenMessage();
  return (
    <Panel
      title={group.error || group.code}
      aside={<><span className="mono">{group.code}</span> · {plural(group.count, "message")}</>}
      actions={
        <>
          <button type="button" className="button" disabled={!may} title={why} onClick={() => onAsk("redrive")}>{W.redriveAll}</button>
          <button type="button" className="button" disabled={!may} title={why} onClick={() => onAsk("delete")}>{W.deleteAll}</button>
        </>
      }
    >
      <div className="grid xl:grid-cols-[minmax(0,1fr)_320px]">
        <div className="min-w-0">
          <p className="m-0 px-4 pt-3 wrap-anywhere">{group.redacted ? <Redacted /> : sentence(group.text ?? "")}</p>
          {group.traceback ? <Traceback text={group.traceback} /> : <p className="m-0 px-4 py-3 text-soft">{group.redacted ? "" : W.noTraceback}</p>}
        </div>
        <div className="min-w-0 border-line-soft px-4 py-3 max-xl:border-t xl:border-l">
          <dl className="m-0 grid grid-cols-[max-content_1fr] gap-x-4 gap-y-1">
            <dt className="text-soft">{C.first}</dt><dd className="number m-0"><When at={group.first_at} /></dd>
            <dt className="text-soft">{C.last}</dt><dd className="number m-0"><When at={group.last_at} /></dd>
            {Object.entries(group.queues).map(([queue, number]) => (
              <div key={queue} className="contents"><dt className="min-w-0 truncate text-soft"><QueueLink queue={queue} /></dt><dd className="number m-0">{count(number)}</dd></div>
            ))}
          </dl>
          <h3 className="m-0 mt-3 mb-1 text-[12px] font-normal text-soft">{W.newest}</h3>
          <ul className="m-0 list-none p-0">
            {group.ids.slice(0, 8).map((id) => (
              <li key={id}><button type="button" className={`mono w-full rounded px-1 py-0.5 text-left text-soft hover:bg-hover hover:text-ink ${openId === id ? "bg-chosen" : ""}`} onClick={() => open(id)} title={id}>{shortId(id)}</button></li>
            ))}
          </ul>
        </div>
      </div>
    </Panel>
  );
}
