// The columns of a message in a list.
import type { ListedMessage } from "../api/schema";
import { duration, roughly } from "../format/duration";
import { count, share } from "../format/number";
import { lastReason } from "../format/reason";
import type { Column } from "../parts/data-table";
import { MessageLink, QueueLink, WorkerName } from "../parts/links";
import { StateWord } from "../parts/state-word";
import { When } from "../parts/when";
import { words } from "../words";

const C = words.columns;
const W = words.messages;

/** `isEnded`: of messages that have ended, how long they took; of the others, how far they are. */
export const messageColumns = (isEnded: boolean): readonly Column<ListedMessage>[] => [
  { key: "state", title: C.state, width: "104px", cell: (row) => <StateWord state={row.state === "leased" && row.deadline_in !== null && row.deadline_in <= 0 ? "overdue" : row.state} /> },
  { key: "task", title: C.task, cell: (row) => <span className="flex items-baseline gap-2"><b className="max-w-full shrink-0 truncate font-[550]">{row.task ?? <span className="font-normal text-dead">{W.unreadable}</span>}</b><span className="min-w-0 truncate @max-[520px]:hidden"><MessageLink id={row.id} /></span></span> },
  { key: "queue", title: C.queue, width: "15%", from: "md", cell: (row) => <span className="text-soft"><QueueLink queue={row.queue} /></span> },
  { key: "sent", title: C.sent, width: "96px", isNumber: true, cell: (row) => <When at={row.sent_at} /> },
  { key: "attempt", title: C.attempt, width: "72px", isNumber: true, from: "lg", cell: (row) => <span className={row.state === "ready" && !row.counters.attempts ? "text-faint" : ""}>{count(row.counters.attempts + (row.state === "leased" || row.state === "completed" ? 1 : 0))}</span> },
  isEnded
    ? { key: "took", title: C.took, width: "88px", isNumber: true, from: "lg", cell: (row) => (row.state === "completed" ? duration(row.seconds) : "") }
    : { key: "progress", title: C.progress, width: "84px", isNumber: true, from: "lg", cell: (row) => (row.progress && row.progress.fraction !== null ? <span title={row.progress.note}>{share(row.progress.fraction)}</span> : "") },
  { key: "what", title: C.what, width: "31%", from: "sm", cell: (row) => <What row={row} /> },
];

function What({ row }: { row: ListedMessage }) {
  if (row.state === "leased") return <WorkerName owner={row.owner} />;
  if (row.state === "delayed") return <span className="text-soft">{W.due(duration(row.due_in))}{row.reason ? ` — ${reasonText(row)}` : ""}</span>;
  if (row.reason) return <span className="text-soft" title={row.reason.text ?? undefined}>{reasonText(row)}</span>;
  if (row.unreadable) return <span className="text-soft" title={row.unreadable}>{row.unreadable}</span>;
  if (row.finished_at !== null) return <span className="text-soft">{C.ended} <When at={row.finished_at} /></span>;
  return <span className="text-soft">{row.age_seconds === null ? "" : `${C.waiting} ${roughly(row.age_seconds)}`}{row.client ? ` · ${row.client}` : ""}{row.key ? ` · ${row.key}` : ""}</span>;
}

export function reasonText(row: ListedMessage): string {
  const { reason } = row;
  return reason ? lastReason(reason.text) || reason.code : "";
}
