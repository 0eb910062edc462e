// Overview: is work flowing, what is stuck, since when. Answered in five seconds.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { deadGroups, figures as figuresQuery, overview as overviewQuery, queues as queuesQuery, workers as workersQuery, type FiguresAsk } from "../api/queries";
import type { DeadGroups, Figures as Counted, FiguresReport, HeldLease, OverviewSnapshot, TaskOverview } from "../api/schema";
import { duration, roughly, wholeDuration } from "../format/duration";
import { localMidnight } from "../format/moment";
import { count, plural, rate, share, shortCount } from "../format/number";
import { serverNow } from "../live/clock";
import { useEvents } from "../live/live";
import { Choice } from "../parts/choice";
import { DataTable, type Column } from "../parts/data-table";
import { QueueLink } from "../parts/links";
import { Figure, Figures, Page, Panel } from "../parts/page";
import { Sparkline } from "../parts/sparkline";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { Gauge, TickText } from "../parts/tick";
import { Ago } from "../parts/when";
import { errors, leaseUse, queueColumns, shortTimesColumn, times, type QueueRow } from "../queues/queue-columns";
import { useOpenMessage } from "../shell/side-panel";
import { shortId } from "../format/names";
import { words } from "../words";

const Plot = lazy(() => import("../parts/plot"));
const W = words.overview;
/** Points of the plot: enough to see a minute of an hour, few enough to be read at once. */
export const STEPS: Record<string, number> = { "3600": 60, "21600": 300, "86400": 1200 };

export default function OverviewPage() {
  const { window = "3600" } = useSearch({ from: "/" });
  const navigate = useNavigate({ from: "/" });
  const { data, error, refetch } = useQuery(overviewQuery);
  const ask: FiguresAsk = { seconds: Number(window), step: STEPS[window] };
  const history = useQuery(figuresQuery(ask));
  const groups = useQuery(deadGroups());
  if (!data) return <Page title={W.title}><Panel>{error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows rows={12} />}</Panel></Page>;
  const isEmpty = data.queue_count === 0 && data.lease_count === 0;
  return (
    <Page title={W.title} actions={<Choice label={W.window} value={window} options={Object.entries(W.windows) as [typeof window, string][]} onChange={(next) => void navigate({ search: (search) => ({ ...search, window: next === "3600" ? undefined : next }), replace: true })} />}>
      <Headline data={data} />
      <FiveNumbers data={data} history={history.data} groups={groups.data} />
      {isEmpty ? (
        <Panel><Empty title={W.noQueues} command={W.noQueuesCommand}>{W.noQueuesMore}</Empty></Panel>
      ) : (
        <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_296px]">
          <div className="flex min-w-0 flex-col gap-4">
            <FlowPlot report={history.data} window={window} />
            <QueueTable data={data} history={history.data} />
            <TaskTable tasks={data.tasks} all={data.task_count} figures={history.data?.tasks} />
          </div>
          <div className="grid min-w-0 gap-4 sm:grid-cols-2 xl:grid-cols-1">
            <LongestRuns leases={data.leases} />
            <NewestDead groups={groups.data} />
          </div>
        </div>
      )}
    </Page>
  );
}

/** The sentence. What is wrong stands in the place of what is well. */
function Headline({ data }: { data: OverviewSnapshot }) {
  const { mood, text } = data.headline;
  const [first, rest] = splitAt(text);
  const hue = mood === "bad" ? "text-dead" : mood === "soon" ? "text-soon-ink" : "text-ink";
  return (
    <p className="m-0 -mt-2 min-h-6 text-[15px] wrap-anywhere">
      <span className={`${hue} ${mood === "well" ? "" : "font-[550]"}`}>{first}</span>
      <span className="text-soft">{rest}</span>
    </p>
  );
}

function splitAt(text: string): [string, string] {
  const place = text.search(/[:,]/);
  return place < 0 ? [text, ""] : [text.slice(0, place + 1), text.slice(place + 1)];
}

function FiveNumbers({ data, history, groups }: { data: OverviewSnapshot; history: FiguresReport | undefined; groups: DeadGroups | undefined }) {
  const { total } = data;
  const points = history?.points ?? [];
  const slots = useSlots();
  const drained = total.flow.out_per_second !== null && total.flow.in_per_second !== null ? total.flow.out_per_second - total.flow.in_per_second : null;
  const drains = total.waiting === null ? undefined : total.waiting === 0 ? W.nothingWaits : drained === null ? undefined : drained > 0 ? W.drains(roughly(total.waiting / drained)) : drained < -0.05 ? W.grows : W.steady;
  const retried = history?.total.counts["retried"] ?? 0;
  const today = groups ? deadToday(groups, serverNow()) : null;
  const course = (of: (point: FiguresReport["points"][number]) => number | null) => points.map(of);
  return (
    <Figures label={W.title}>
      <Figure label={W.waiting} value={shortCount(total.waiting)} beside={drains} title={total.oldest_seconds === null ? undefined : `${words.columns.oldest} ${duration(total.oldest_seconds)}`}>
        <Sparkline filled values={course((one) => one.depth)} hue="text-ready" className="mt-1.5 h-6.5 w-full" label={W.waiting} least={4} />
      </Figure>
      <Figure label={W.running} value={shortCount(total.running)} beside={slots ? W.slots(shortCount(slots)) : undefined}>
        <div className="flex h-8 items-end pb-2"><Gauge part={slots && total.running !== null ? total.running / slots : 0} className="w-full" label={W.running} /></div>
      </Figure>
      <Figure label={W.out} value={<>{rate(total.flow.out_per_second)}{total.flow.out_per_second !== null && W.perSecond}</>} beside={total.flow.in_per_second === null ? undefined : W.in(rate(total.flow.in_per_second))}>
        <Sparkline filled values={course((one) => one.figures.rate_out)} className="mt-1.5 h-6.5 w-full" label={W.out} />
      </Figure>
      <Figure label={W.errors} value={share(total.flow.error_share)} beside={retried ? W.retried(shortCount(retried)) : undefined}>
        <Sparkline values={course((one) => one.figures.error_share)} className="mt-1.5 h-6.5 w-full" label={W.errors} least={0.05} />
      </Figure>
      <Figure label={W.dead} value={<span className={today ? "text-dead" : ""}>{shortCount(today?.number ?? (groups ? 0 : null))}</span>} beside={today?.kinds ? W.kinds(today.kinds) : undefined}>
        <Sparkline filled values={today?.course ?? []} hue="text-dead" className="mt-1.5 h-6.5 w-full" label={W.dead} least={4} />
      </Figure>
    </Figures>
  );
}

function useSlots(): number | null {
  const { data } = useQuery(queuesWorkers);
  return data ?? null;
}

const queuesWorkers = { ...workersQuery, select: (found: { workers: { concurrency: number }[] }) => found.workers.reduce((sum, one) => sum + one.concurrency, 0) };

/** Since local midnight: how many, of how many kinds, and how they added up. */
export function deadToday(groups: DeadGroups, now: number): { number: number; kinds: number; course: number[] } {
  const since = localMidnight(now);
  const course: number[] = [];
  let [number, kinds] = [0, 0];
  const hours = Math.max(0, ...groups.groups.map((one) => one.by_hour.length));
  const begins = (hour: number) => groups.hours_since + hour * 3600;
  for (let hour = 0; hour < hours; hour += 1) {
    if (begins(hour) + 3600 <= since) continue;
    number += groups.groups.reduce((sum, one) => sum + (one.by_hour[hour] ?? 0), 0);
    course.push(number);
  }
  for (const one of groups.groups) if (one.by_hour.some((died, hour) => died > 0 && begins(hour) + 3600 > since)) kinds += 1;
  return { number, kinds, course };
}

const MARKED = new Set(["paused", "resumed", "owner_joined", "purged"]);

function FlowPlot({ report, window }: { report: FiguresReport | undefined; window: string }) {
  const events = useEvents();
  const points = report?.points ?? [];
  const at = useMemo(() => points.map((one) => one.at), [points]);
  const step = report?.step ?? 60;
  const perMinute = (value: number | undefined) => ((value ?? 0) / step) * 60;
  const series = useMemo(() => {
    const text = (value: number | null) => count(value);
    return [
      { name: W.completed, hue: "--done-fill", filled: true, values: points.map((one) => perMinute(one.figures.counts["completed"])), text },
      { name: W.retriedWord, hue: "--soon", isRare: true, values: points.map((one) => perMinute(one.figures.counts["retried"])), text },
      { name: W.deadWord, hue: "--dead-fill", filled: true, isRare: true, values: points.map((one) => perMinute(one.figures.counts["dead"])), text },
    ];
  }, [points]);
  const marks = useMemo(() => events.filter((one) => MARKED.has(one.type)).map((one) => ({ at: one.at, text: markText(one.type, one.payload) })).sort((one, other) => one.at - other.at), [events]);
  const legend = (
    <span className="flex gap-3 text-[12px]">
      {series.map((one) => <span key={one.name} className="flex items-center gap-1.5"><span className="inline-block h-0.5 w-3" style={{ background: `var(${one.hue})` }} />{one.name}</span>)}
    </span>
  );
  const label = `${W.plot}, ${W.windows[window]}: ${series.map((one) => `${one.name} ${count(one.values.reduce((sum, value) => sum + value, 0) * (step / 60))}`).join(", ")}`;
  return (
    <Panel title={W.plot} aside={W.each(W.minute)} actions={legend}>
      <div className="h-[188px]" data-plot={points.length > 1 ? "" : undefined}>
        {points.length > 1 && <Suspense fallback={null}><Plot at={at} series={series} marks={marks} label={label} /></Suspense>}
        {report && points.length <= 1 && <p className="m-0 px-4 py-6 text-soft">{W.noPlot}</p>}
      </div>
    </Panel>
  );
}

function markText(type: string, payload: Record<string, unknown>): string {
  const by = typeof payload["by"] === "string" ? payload["by"].split("@")[0]! : "";
  if (type === "owner_joined") return W.workersJoined(String(payload["owner"] ?? "").split("/")[0]!);
  const queue = String(payload["queue"] ?? payload["schedule"] ?? "");
  return type === "paused" ? W.pausedBy(queue, by) : `${queue} ${words.events.kind[type] ?? type}${by ? ` by ${by}` : ""}`;
}

const SHOWN_QUEUES = 10;

const shownColumns = queueColumns.map((column) => (column.key === "times" ? shortTimesColumn : column));

function QueueTable({ data, history }: { data: OverviewSnapshot; history: FiguresReport | undefined }) {
  const navigate = useNavigate();
  const all = useQuery(queuesQuery);
  const figures = useMemo(() => new Map(history?.queues.map((one) => [one.queue, one])), [history]);
  const courses = useMemo(() => new Map(all.data?.queues.map((one) => [one.queue, one.flow.history])), [all.data]);
  const rows: QueueRow[] = data.queues.slice(0, SHOWN_QUEUES).map((queue) => ({ queue, history: courses.get(queue.queue) ?? queue.flow.history, figures: figures.get(queue.queue) }));
  return (
    <Panel title={W.queues} aside={W.worst} actions={data.queue_count > SHOWN_QUEUES && <Link to="/queues" className="text-soft">{W.allQueues(data.queue_count)}</Link>}>
      <DataTable label={W.queues} columns={shownColumns} sections={[{ key: "all", rows }]} rowKey={(row) => row.queue.queue} onOpen={(row) => void navigate({ to: "/queues/$name", params: { name: row.queue.queue } })} />
    </Panel>
  );
}

interface TaskRow {
  task: TaskOverview;
  figures: Counted | undefined;
}

const C = words.columns;
const taskColumns: readonly Column<TaskRow>[] = [
  { key: "task", title: C.task, cell: ({ task }) => <b className="font-[550]">{task.task}</b> },
  { key: "queue", title: C.queue, width: "22%", from: "sm", cell: ({ task }) => <span className="text-soft"><QueueLink queue={task.queue} /></span> },
  { key: "running", title: C.running, width: "84px", isNumber: true, cell: ({ task }) => count(task.running) },
  { key: "use", title: C.leaseUse, width: "84px", from: "lg", cell: ({ task }) => leaseUse(task.flow.lease_use) },
  { key: "out", title: C.out, width: "72px", isNumber: true, cell: ({ task }) => rate(task.flow.out_per_second) },
  { key: "times", title: C.times, width: "172px", isNumber: true, from: "md", cell: ({ task, figures }) => times(figures, task.flow) },
  { key: "errors", title: C.errors, width: "76px", isNumber: true, cell: ({ task }) => errors(task.flow.error_share) },
];

function TaskTable({ tasks, all, figures }: { tasks: readonly TaskOverview[]; all: number; figures: readonly Counted[] | undefined }) {
  const navigate = useNavigate();
  const known = useMemo(() => new Map(figures?.map((one) => [`${one.queue}\n${one.task}`, one])), [figures]);
  const rows = tasks.filter((one) => one.task).map((task) => ({ task, figures: known.get(`${task.queue}\n${task.task}`) }));
  return (
    <Panel title={W.tasks} aside={all > rows.length ? `${rows.length} ${words.words.of} ${all}` : undefined}>
      {rows.length ? (
        <DataTable label={W.tasks} columns={taskColumns} sections={[{ key: "all", rows }]} rowKey={(row) => `${row.task.queue}/${row.task.task}`} onOpen={({ task }) => void navigate({ to: "/queues/$name", params: { name: task.queue }, search: { task: task.task } })} />
      ) : <p className="m-0 px-4 py-4 text-soft">{W.noTasks}</p>}
    </Panel>
  );
}

function LongestRuns({ leases }: { leases: readonly HeldLease[] }) {
  const { open, openId } = useOpenMessage();
  return (
    <Panel title={W.longest}>
      {leases.length === 0 ? <p className="m-0 px-4 py-3 text-soft">{W.longestNone}</p> : (
        <ul className="m-0 list-none p-0">
          {leases.slice(0, 5).map((lease) => (
            <li key={lease.id} className="border-b border-line-soft last:border-0">
              <button type="button" onClick={() => open(lease.id)} className={`flex h-[46px] w-full items-center justify-between gap-3 px-4 text-left hover:bg-hover ${openId === lease.id ? "bg-chosen" : ""}`}>
                <span className="min-w-0"><span className="block truncate">{lease.task ?? words.unknown}</span><span className="mono block truncate text-soft">{shortId(lease.id)}</span></span>
                <TickText className="number whitespace-nowrap" of={(now) => (lease.leased_at === null ? words.unknown : wholeDuration(now - lease.leased_at))} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function NewestDead({ groups }: { groups: DeadGroups | undefined }) {
  const newest = groups?.groups.toSorted((one, other) => (other.last_at ?? 0) - (one.last_at ?? 0)).slice(0, 5);
  return (
    <Panel title={W.newestDead}>
      {!newest ? <LoadingRows rows={3} /> : newest.length === 0 ? <p className="m-0 px-4 py-3 text-soft">{W.newestDeadNone}</p> : (
        <ul className="m-0 list-none p-0">
          {newest.map((group) => (
            <li key={group.fingerprint} className="border-b border-line-soft last:border-0">
              <Link to="/dead" search={{ group: group.fingerprint }} className="flex h-[46px] items-center justify-between gap-3 px-4 text-ink no-underline hover:bg-hover">
                <span className="min-w-0"><span className="block truncate" title={group.text ?? undefined}>{group.error || group.text || group.code}</span><span className="mono block truncate text-soft">{group.task ?? words.unknown} · {plural(group.count, "message")}</span></span>
                <span className="number whitespace-nowrap"><Ago at={group.last_at} /></span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
