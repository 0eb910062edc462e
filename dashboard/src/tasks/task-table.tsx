// The tasks of one queue, as a table; a row opens the task's page.
import { useMemo } from "react";
import type { Figures as Counted, TaskStatus } from "../api/schema";
import { count, rate } from "../format/number";
import { DataTable, type Column } from "../parts/data-table";
import { errors, leaseUse, times } from "../queues/queue-columns";
import { words } from "../words";

const C = words.columns;

const taskColumns = (known: ReadonlyMap<string, TaskStatus>): readonly Column<Counted>[] => [
  { key: "task", title: C.task, cell: (row) => <b className="font-[550]">{row.task}</b> },
  { key: "running", title: C.running, width: "84px", isNumber: true, cell: (row) => count(known.get(row.task ?? "")?.running) },
  { key: "completed", title: words.overview.completed, width: "96px", isNumber: true, from: "sm", cell: (row) => count(row.counts["completed"] ?? 0) },
  { key: "out", title: C.out, width: "76px", isNumber: true, from: "sm", cell: (row) => rate(row.rate_out) },
  { key: "use", title: C.leaseUse, width: "88px", from: "md", cell: (row) => leaseUse(row.lease_use) },
  { key: "times", title: C.times, width: "180px", isNumber: true, from: "sm", cell: (row) => times(row, { p50_seconds: null, p95_seconds: null }) },
  { key: "errors", title: C.errors, width: "80px", isNumber: true, cell: (row) => errors(row.error_share) },
];

export function TaskTable({ figures, known, onTask }: { figures: readonly Counted[]; known: readonly TaskStatus[]; onTask: (task: string | undefined) => void }) {
  const byName = useMemo(() => new Map(known.map((one) => [one.task, one])), [known]);
  const columns = useMemo(() => taskColumns(byName), [byName]);
  const rows = figures.filter((one) => one.task);
  if (!rows.length) return <p className="m-0 px-4 py-4 text-soft">{words.queues.noTasks}</p>;
  return <DataTable label={words.queues.tasks} columns={columns} sections={[{ key: "all", rows }]} rowKey={(row) => row.task ?? ""} onOpen={(row) => onTask(row.task ?? undefined)} />;
}
