// One queue: its numbers, its tasks, how long they run against their lease, how reliably it works.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { figures as figuresQuery, queues as queuesQuery, tasks as tasksQuery } from "../api/queries";
import type { Figures as Counted, FiguresReport, QueueOverview, TaskStatus } from "../api/schema";
import { duration, roughly } from "../format/duration";
import { count, rate, share } from "../format/number";
import { Choice } from "../parts/choice";
import { DataTable, type Column } from "../parts/data-table";
import { Fact, Facts, Figure, Figures, Page, Panel } from "../parts/page";
import { Sparkline } from "../parts/sparkline";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { StateWord } from "../parts/state-word";
import { Gauge, TickText } from "../parts/tick";
import { DurationScale } from "../queues/duration-scale";
import { QueueActs } from "../queues/queue-acts";
import { errors, isNear, leaseUse, times } from "../queues/queue-columns";
import { Reliability } from "../queues/reliability";
import { words } from "../words";

const Plot = lazy(() => import("../parts/plot"));
const W = words.queues;
const C = words.columns;
const STEPS: Record<string, number> = { "3600": 60, "21600": 300, "86400": 1200 };

export default function QueuePage() {
  const { name } = useParams({ from: "/queues/$name" });
  const { window = "3600", task } = useSearch({ from: "/queues/$name" });
  const navigate = useNavigate({ from: "/queues/$name" });
  const { data, error, refetch } = useQuery(queuesQuery);
  const report = useQuery(figuresQuery({ seconds: Number(window), step: STEPS[window], queue: name }));
  const tasks = useQuery(tasksQuery);
  const queue = data?.queues.find((one) => one.queue === name);
  const heading = <span><Link to="/queues" className="font-normal text-soft no-underline hover:underline">{W.title}</Link> <span className="font-normal text-faint">/</span> {name}</span>;
  const actions = (
    <>
      <Choice label={words.overview.window} value={window} options={Object.entries(words.overview.windows) as [typeof window, string][]} onChange={(next) => void navigate({ search: (search) => ({ ...search, window: next === "3600" ? undefined : next }), replace: true })} />
      <Link to="/messages" search={{ queue: [name] }} className="button">{W.messages}</Link>
      {queue && <QueueActs queue={queue} />}
    </>
  );
  const own = tasks.data?.tasks.filter((one) => one.queue === name) ?? [];
  return (
    <Page title={name} heading={heading} actions={actions} aside={queue?.paused && <StateWord state="paused" label={pausedText(queue)} />}>
      {!data ? <Panel>{error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows />}</Panel>
        : !queue ? <Panel><Empty title={words.states_.missing}>{words.states_.missingMore}</Empty></Panel>
        : (
          <>
            <Numbers queue={queue} report={report.data} />
            <InOut report={report.data} window={window} />
            <Panel title={W.tasks}>
              <Tasks figures={report.data?.tasks ?? []} known={own} chosen={task} onChoose={(next) => void navigate({ search: (search) => ({ ...search, task: next === task ? undefined : next }), replace: true })} />
            </Panel>
            {task && <TaskPanel queue={name} task={task} window={window} known={own.find((one) => one.task === task)} />}
            {report.data && <Reliability report={report.data} aside={words.overview.windows[window]!} />}
          </>
        )}
    </Page>
  );
}

function pausedText(queue: QueueOverview): string {
  return W.pausedFor(roughly(Date.now() / 1000 - queue.paused!.at), queue.paused!.by);
}

function Numbers({ queue, report }: { queue: QueueOverview; report: FiguresReport | undefined }) {
  const points = report?.points ?? [];
  const times_ = report?.total.duration;
  const use = queue.flow.lease_use;
  return (
    <Figures label={queue.queue}>
      <Figure label={words.overview.waiting} value={count(queue.waiting, queue.estimated)} beside={queue.drains_in_seconds !== null && queue.waiting ? words.overview.drains(roughly(queue.drains_in_seconds)) : queue.grows ? words.overview.grows : undefined}>
        <Sparkline filled values={points.map((one) => one.depth)} hue="text-ready" className="mt-1.5 h-6.5 w-full" label={C.waiting} least={4} />
      </Figure>
      <Figure label={words.overview.running} value={count(queue.running)} beside={words.words.workers(queue.workers)}>
        <p className="m-0 mt-1.5 h-6.5 text-soft">{queue.oldest_seconds === null ? "" : `${C.oldest} ${duration(queue.oldest_seconds)}`}{queue.delayed ? ` · ${count(queue.delayed)} ${C.delayed}` : ""}</p>
      </Figure>
      <Figure label={words.overview.out} value={`${rate(queue.flow.out_per_second)}${words.overview.perSecond}`} beside={queue.flow.in_per_second === null ? undefined : words.overview.in(rate(queue.flow.in_per_second))}>
        <Sparkline filled values={points.map((one) => one.figures.rate_out)} className="mt-1.5 h-6.5 w-full" label={C.out} />
      </Figure>
      <Figure label={words.overview.errors} value={share(queue.flow.error_share)} beside={queue.dead ? `${count(queue.dead)} ${C.dead}` : undefined}>
        <Sparkline values={points.map((one) => one.figures.error_share)} className="mt-1.5 h-6.5 w-full" label={C.errors} least={0.05} />
      </Figure>
      <Figure label={words.overview.leaseUse} value={share(use)} beside={times_ ? `p99 ${duration(times_.p99)}` : undefined}>
        <div className="flex h-8 items-end pb-2"><Gauge part={use ?? 0} kind={isNear(use) ? "soon" : "calm"} className="w-full" label={C.leaseUse} /></div>
      </Figure>
    </Figures>
  );
}

function InOut({ report, window }: { report: FiguresReport | undefined; window: string }) {
  const points = report?.points ?? [];
  const at = useMemo(() => points.map((one) => one.at), [points]);
  const series = useMemo(() => {
    const perSecond = (value: number | null) => `${rate(value)}/s`;
    return [
      { name: "in", hue: "--ready", values: points.map((one) => one.figures.rate_in), text: perSecond },
      { name: "out", hue: "--done-fill", filled: true, values: points.map((one) => one.figures.rate_out), text: perSecond },
    ];
  }, [points]);
  return (
    <Panel title={W.inOut} aside={words.overview.each(words.overview.second)} actions={<span className="flex gap-3 text-[12px]">{series.map((one) => <span key={one.name} className="flex items-center gap-1.5"><span className="inline-block h-0.5 w-3" style={{ background: `var(${one.hue})` }} />{one.name}</span>)}</span>}>
      <div className="h-[188px]" data-plot={points.length > 1 ? "" : undefined}>{points.length > 1 && <Suspense fallback={null}><Plot at={at} series={series} least={0.2} label={`${W.inOut}, ${words.overview.windows[window]}`} /></Suspense>}</div>
    </Panel>
  );
}

const taskColumns = (known: ReadonlyMap<string, TaskStatus>): readonly Column<Counted>[] => [
  { key: "task", title: C.task, cell: (row) => <b className="font-[550]">{row.task}</b> },
  { key: "running", title: C.running, width: "84px", isNumber: true, cell: (row) => count(known.get(row.task ?? "")?.running) },
  { key: "completed", title: words.overview.completed, width: "96px", isNumber: true, from: "sm", cell: (row) => count(row.counts["completed"] ?? 0) },
  { key: "out", title: C.out, width: "76px", isNumber: true, from: "sm", cell: (row) => rate(row.rate_out) },
  { key: "use", title: C.leaseUse, width: "88px", from: "md", cell: (row) => leaseUse(row.lease_use) },
  { key: "times", title: C.times, width: "180px", isNumber: true, from: "sm", cell: (row) => times(row, { p50_seconds: null, p95_seconds: null }) },
  { key: "errors", title: C.errors, width: "80px", isNumber: true, cell: (row) => errors(row.error_share) },
];

function Tasks({ figures, known, chosen, onChoose }: { figures: readonly Counted[]; known: readonly TaskStatus[]; chosen: string | undefined; onChoose: (task: string) => void }) {
  const byName = useMemo(() => new Map(known.map((one) => [one.task, one])), [known]);
  const columns = useMemo(() => taskColumns(byName), [byName]);
  const rows = figures.filter((one) => one.task);
  if (!rows.length) return <p className="m-0 px-4 py-4 text-soft">{W.noTasks}</p>;
  return <DataTable label={W.tasks} columns={columns} sections={[{ key: "all", rows }]} rowKey={(row) => row.task ?? ""} onOpen={(row) => onChoose(row.task ?? "")} openKey={chosen ?? null} />;
}

function TaskPanel({ queue, task, window, known }: { queue: string; task: string; window: string; known: TaskStatus | undefined }) {
  const report = useQuery(figuresQuery({ seconds: Number(window), step: STEPS[window], queue, task }));
  const total = report.data?.total;
  const policy = known?.policy;
  const lease = policy?.lease_seconds ?? (total?.duration && total.lease_use ? total.duration.p95 / total.lease_use : null);
  const T = words.task;
  return (
    <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_296px]">
      <Panel title={task} aside={T.durations}>
        {total?.duration ? <DurationScale times={total.duration} lease={lease} use={total.lease_use} /> : <p className="m-0 px-4 py-3 text-soft">{report.data ? T.none : words.loading}</p>}
        {report.data && total?.duration && (
          <div className="border-t border-line-soft px-4 py-2.5">
            <h3 className="m-0 mb-1 text-[12px] font-normal text-soft">{T.history}</h3>
            <Sparkline className="h-12 w-full" values={report.data.points.map((one) => one.figures.duration?.p95 ?? null)} label={T.history} least={0.001} filled />
          </div>
        )}
        {total?.wait && <p className="m-0 border-t border-line-soft px-4 py-2.5 text-soft">{T.wait}: <TickText of={() => `p50 ${duration(total.wait!.p50)} · p95 ${duration(total.wait!.p95)} · p99 ${duration(total.wait!.p99)}`} /></p>}
      </Panel>
      <Panel title={T.policy}>
        {policy ? (
          <Facts>
            <Fact name={T.lease}>{duration(policy.lease_seconds)}</Fact>
            <Fact name={T.heartbeat}>{policy.heartbeat ? T.on : T.off}</Fact>
            <Fact name={T.attempts}>{policy.max_attempts}</Fact>
            <Fact name={T.hold}>{policy.max_hold_seconds === null ? T.notSet : duration(policy.max_hold_seconds)}</Fact>
            <Fact name={T.concurrency}>{policy.concurrency ?? T.notSet}</Fact>
            <Fact name={T.runsIn}>{policy.runs_in}</Fact>
            <Fact name={T.parameters}><span className="mono" title={policy.parameters.join(", ")}>{policy.parameters.join(", ") || words.words.none}</span></Fact>
          </Facts>
        ) : <p className="m-0 px-4 py-3 text-soft">{T.noCode}</p>}
      </Panel>
    </div>
  );
}
