// One queue: its numbers, its tasks, how reliably it works. `?task=`: one of its tasks.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { figures as figuresQuery, queues as queuesQuery, tasks as tasksQuery } from "../api/queries";
import type { QueueOverview, TaskStatus } from "../api/schema";
import { duration, roughly } from "../format/duration";
import { count } from "../format/number";
import { serverNow } from "../live/clock";
import { Choice } from "../parts/choice";
import { Page, Panel } from "../parts/page";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { StateWord } from "../parts/state-word";
import { InOut } from "../queues/in-out";
import { limitText } from "../queues/limit-text";
import { QueueActs } from "../queues/queue-acts";
import { QueueNumbers } from "../queues/queue-numbers";
import type { By } from "../reliability/by-time";
import { Reliability } from "../reliability/reliability";
import { TaskTable } from "../tasks/task-table";
import { TaskView } from "../tasks/task-view";
import { words } from "../words";

const W = words.queues;
const STEPS: Record<string, number> = { "3600": 60, "21600": 300, "86400": 1200 };

export default function QueuePage() {
  const { name } = useParams({ from: "/queues/$name" });
  const { window = "3600", task, by = "hour" } = useSearch({ from: "/queues/$name" });
  const navigate = useNavigate({ from: "/queues/$name" });
  const { data, error, refetch } = useQuery(queuesQuery);
  const tasks = useQuery(tasksQuery);
  const queue = data?.queues.find((one) => one.queue === name);
  const own = tasks.data?.tasks.filter((one) => one.queue === name) ?? [];
  const setBy = (next: By) => void navigate({ search: (search) => ({ ...search, by: next === "hour" ? undefined : next }), replace: true });
  const actions = (
    <>
      <Choice label={words.overview.window} value={window} options={Object.entries(words.overview.windows) as [typeof window, string][]} onChange={(next) => void navigate({ search: (search) => ({ ...search, window: next === "3600" ? undefined : next }), replace: true })} />
      <Link to="/messages" search={{ queue: [name], task }} className="button">{W.messages}</Link>
      {queue && !task && <QueueActs queue={queue} />}
    </>
  );
  return (
    <Page title={task ? `${task} · ${name}` : name} heading={<Crumbs queue={name} task={task} />} actions={actions} aside={queue && !task && <Waits queue={queue} />}>
      {!data ? <Panel>{error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows />}</Panel>
        : task ? <TaskView queue={name} task={task} seconds={Number(window)} step={STEPS[window]!} window={window} known={own.find((one) => one.task === task)} by={by} onBy={setBy} />
        : !queue ? <Panel><Empty title={words.states_.missing}>{words.states_.missingMore}</Empty></Panel>
        : <Whole queue={queue} window={window} known={own} by={by} onBy={setBy} />}
    </Page>
  );
}

function Crumbs({ queue, task }: { queue: string; task: string | undefined }) {
  const link = "font-normal text-soft no-underline hover:underline";
  const slash = <span className="font-normal text-faint"> / </span>;
  return (
    <span className="wrap-anywhere">
      <Link to="/queues" className={link}>{W.title}</Link>{slash}
      {task ? <><Link to="/queues/$name" params={{ name: queue }} className={link}>{queue}</Link>{slash}{task}</> : queue}
    </span>
  );
}

function Whole({ queue, window, known, by, onBy }: { queue: QueueOverview; window: string; known: readonly TaskStatus[]; by: By; onBy: (by: By) => void }) {
  const { data: report, isPending } = useQuery(figuresQuery({ seconds: Number(window), step: STEPS[window], queue: queue.queue }));
  const navigate = useNavigate({ from: "/queues/$name" });
  return (
    <>
      <QueueNumbers queue={queue} report={report} />
      <InOut report={report} window={window} queue={queue.queue} isPending={isPending} />
      <Panel title={W.tasks}><TaskTable figures={report?.tasks ?? []} known={known} onTask={(task) => void navigate({ search: (search) => ({ ...search, task }) })} /></Panel>
      {report && <Reliability report={report} aside={words.overview.windows[window]!} queue={queue.queue} by={by} onBy={onBy} />}
    </>
  );
}

/** What holds it up, or since when its oldest message waits. */
function Waits({ queue }: { queue: QueueOverview }) {
  const found = [queue.oldest_seconds === null || !queue.waiting ? "" : `${words.columns.oldest} ${duration(queue.oldest_seconds)}`, queue.delayed ? `${count(queue.delayed)} ${words.columns.delayed}` : ""].filter(Boolean);
  return <>{queue.paused && <StateWord state="paused" label={pausedText(queue)} />}{queue.limit && !queue.paused && <StateWord state="late" label={W.limitedBy(limitText(queue.limit))} />}{found.length > 0 && <span className="text-soft tabular-nums">{found.join(" · ")}</span>}</>;
}

function pausedText(queue: QueueOverview): string {
  return W.pausedFor(roughly(serverNow() - queue.paused!.at), queue.paused!.by);
}
