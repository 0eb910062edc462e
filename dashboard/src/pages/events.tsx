// Events: the journal as it grows, newest first; filters, pause, and what came before.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { get } from "../api/client";
import { ApiProblem } from "../api/problem";
import type { EventPage as EventList } from "../api/schema";
import { tellEvent } from "../events/tell-event";
import { clockTime, exactTime, utc } from "../format/moment";
import { count } from "../format/number";
import { useCompletedEvents, useEvents } from "../live/live";
import type { LiveEvent } from "../live/messages";
import { DataTable, type Column } from "../parts/data-table";
import { FilterChip } from "../parts/filter-chip";
import { Icon } from "../parts/icon";
import { MessageLink, QueueLink, WorkerName } from "../parts/links";
import { Page, Panel } from "../parts/page";
import { SearchField } from "../parts/search-field";
import { Empty, LoadingRows } from "../parts/states";
import { isTyping } from "../shell/keyboard";
import { useOpenMessage } from "../shell/side-panel";
import { words } from "../words";

const W = words.events;
const C = words.columns;
const HUES: Record<string, string> = {
  dead: "text-dead", move_to_dlq: "text-dead", owner_retired: "text-soon-ink", lease_lost: "text-soon-ink", late_settle: "text-soon-ink", heartbeat_failed: "text-soon-ink", requeue: "text-soon-ink",
  loop_blocked: "text-soon-ink", sweep_grace: "text-soon-ink", deletions: "text-soon-ink", completed: "text-done", gap: "text-soon-ink", away: "text-dead",
};
const BEFORE = 200;

const columns: readonly Column<LiveEvent>[] = [
  { key: "at", title: C.at, width: "112px", from: "sm", cell: (row) => <time className="text-soft tabular-nums" title={utc(row.at)}>{exactTime(row.at)}</time> },
  { key: "short", title: C.at, width: "76px", until: "sm", cell: (row) => <time className="text-soft tabular-nums" title={utc(row.at)}>{clockTime(row.at)}</time> },
  { key: "kind", title: C.event, width: "130px", cell: (row) => <span className={`font-[550] ${HUES[row.type] ?? ""}`}>{W.kind[row.type] ?? row.type}</span> },
  { key: "task", title: C.task, width: "20%", from: "sm", cell: (row) => <span className="flex items-baseline gap-2"><span className="max-w-full shrink-0 truncate">{row.payload.task ?? <span className="hidden text-soft @max-[680px]:inline">{tellEvent(row)}</span>}</span>{row.payload.message_id && <span className="min-w-0 truncate @max-[520px]:hidden"><MessageLink id={row.payload.message_id} /></span>}</span> },
  { key: "queue", title: C.queue, width: "13%", from: "lg", cell: (row) => (row.payload.queue ? <span className="text-soft"><QueueLink queue={row.payload.queue} /></span> : null) },
  { key: "what", title: C.what, from: "md", cell: (row) => <span className="text-soft" title={tellEvent(row)}>{tellEvent(row)}</span> },
  { key: "worker", title: C.worker, width: "11%", from: "xl", cell: (row) => (row.payload.owner ? <WorkerName owner={row.payload.owner} /> : null) },
  { key: "small", title: C.what, until: "sm", cell: (row) => <span title={tellEvent(row)}>{row.payload.task && <>{row.payload.task} </>}<span className="text-soft">{tellEvent(row)}</span></span> },
];

export default function EventsPage() {
  const search = useSearch({ from: "/events" });
  const navigate = useNavigate({ from: "/events" });
  const live = useEvents();
  const [frozen, setFrozen] = useState<readonly LiveEvent[] | null>(null);
  const { open, openId } = useOpenMessage();
  useCompletedEvents(search.completed ?? false);
  const earlier = useQuery({ queryKey: ["events", "before", search.completed ?? false], queryFn: ({ signal }) => newestBefore(search.completed ?? false, signal), staleTime: Infinity });
  const set = (change: Partial<typeof search>) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const all = useMemo(() => joined(frozen ?? live, earlier.data ?? []), [frozen, live, earlier.data]);
  const rows = useMemo(() => all.filter((one) => matches(one, search)), [all, search]);
  const kinds = useMemo(() => [...new Set(all.map((one) => one.type))].sort(), [all]);
  const queues = useMemo(() => [...new Set(all.flatMap((one) => one.payload.queue ?? []))].sort(), [all]);
  const toggle = () => setFrozen(frozen ? null : live);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === "p" && !event.ctrlKey && !event.metaKey && !isTyping(event.target) && !document.querySelector("dialog[open]")) toggle();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  });
  const fresh = frozen ? live.findIndex((one) => one === frozen[0]) : 0;
  return (
    <Page
      title={W.title}
      aside={<span className="text-soft">{frozen ? W.paused(count(fresh < 0 ? live.length : fresh)) : W.live}</span>}
      actions={<><SearchField label={W.filter} value={search.text ?? ""} onChange={(text) => set({ text: text || undefined })} /><button type="button" className="button" aria-pressed={!!frozen} onClick={toggle}><Icon name={frozen ? "play" : "pause"} size={12} />{frozen ? W.resume : W.pause}</button></>}
    >
      <div className="flex flex-wrap items-center gap-1.5">
        <button type="button" className="chip" aria-pressed={search.completed ?? false} onClick={() => set({ completed: search.completed ? undefined : true })}>{W.completed}</button>
        <FilterChip name={C.event} value={search.kind?.[0]} options={kinds} onChange={(kind) => set({ kind: kind ? [kind] : undefined })} />
        <FilterChip name={C.queue} value={search.queue} options={queues} onChange={(queue) => set({ queue })} />
      </div>
      <Panel label={W.title}>
        {earlier.isPending && !rows.length ? <LoadingRows rows={12} />
          : rows.length === 0 ? <Empty title={all.length ? W.nothingFiltered : W.nothing}>{all.length ? undefined : W.nothingMore}</Empty>
          : <DataTable label={W.title} columns={columns} sections={[{ key: "all", rows }]} rowKey={(row) => `${row.seq}/${row.type}/${row.at}`} onOpen={(row) => row.payload.message_id && open(row.payload.message_id)} openKey={openId ?? null} />}
      </Panel>
    </Page>
  );
}

function matches(event: LiveEvent, search: { kind?: string[]; queue?: string; text?: string; completed?: boolean }): boolean {
  if (event.type === "completed" && !search.completed && !search.kind?.includes("completed")) return false;
  if (search.kind && !search.kind.includes(event.type) && event.seq !== 0) return false;
  if (search.queue && event.payload.queue !== search.queue) return false;
  if (!search.text) return true;
  return `${W.kind[event.type] ?? event.type} ${JSON.stringify(event.payload)}`.toLowerCase().includes(search.text.toLowerCase());
}

/** What came before this page was opened: the newest of the journal. */
async function newestBefore(completed: boolean, signal: AbortSignal): Promise<LiveEvent[]> {
  const kind = completed ? [] : Object.keys(W.kind).filter((one) => one !== "completed");
  const page = await get<EventList>("/events", { limit: BEFORE, kind }, signal).catch((error: unknown) => {
    // An older server refuses kinds that it does not know.
    if (error instanceof ApiProblem && error.status === 422) return get<EventList>("/events", { limit: BEFORE }, signal);
    throw error;
  });
  return page.events
    .map(({ seq, kind: type, at, data, queue, task, message_id, owner, attempt, seconds }) => {
      const fields = Object.fromEntries(Object.entries({ queue, task, message_id, owner, attempt, seconds }).filter(([, value]) => value !== null));
      return { seq, type, at, payload: { ...(data as Record<string, unknown>), ...fields } };
    })
    .reverse();
}

function joined(live: readonly LiveEvent[], before: readonly LiveEvent[]): LiveEvent[] {
  const known = new Set(live.map((one) => one.seq));
  return [...live, ...before.filter((one) => !known.has(one.seq))];
}
