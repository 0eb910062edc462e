// The worst queues, then the busiest tasks.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { queues as queuesQuery } from "../api/queries";
import type { Figures as Counted, FiguresReport, OverviewSnapshot, TaskOverview } from "../api/schema";
import { count, rate } from "../format/number";
import { DataTable, type Column } from "../parts/data-table";
import { QueueLink } from "../parts/links";
import { Panel } from "../parts/page";
import { errors, leaseUse, queueColumns, shortTimes, shortTimesColumn, type QueueRow } from "../queues/queue-columns";
import { words } from "../words";

const W = words.overview;
const SHOWN_QUEUES = 10;

const shownColumns = queueColumns.map((column) => (column.key === "times" ? shortTimesColumn : column));

export function QueueTable({ data, history }: { data: OverviewSnapshot; history: FiguresReport | undefined }) {
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
  { key: "queue", title: C.queue, width: "170px", from: "sm", cell: ({ task }) => <span className="text-soft"><QueueLink queue={task.queue} /></span> },
  // As wide as in the table of queues above it, so that like stands below like.
  { key: "waiting", title: C.waiting, width: "72px", isNumber: true, cell: ({ task }) => count(task.waiting) },
  { key: "running", title: C.running, width: "76px", isNumber: true, cell: ({ task }) => count(task.running) },
  { key: "use", title: C.leaseUse, width: "80px", from: "md", cell: ({ task }) => leaseUse(task.flow.lease_use) },
  { key: "out", title: C.out, width: "68px", isNumber: true, from: "sm", cell: ({ task }) => rate(task.flow.out_per_second) },
  { key: "times", title: C.shortTimes, width: "118px", isNumber: true, from: "md", cell: ({ task, figures }) => shortTimes(figures, task.flow) },
  { key: "errors", title: C.errors, width: "68px", isNumber: true, cell: ({ task }) => errors(task.flow.error_share) },
];

export function TaskTable({ tasks, all, figures }: { tasks: readonly TaskOverview[]; all: number; figures: readonly Counted[] | undefined }) {
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
