// The columns of a delivery in a list: what it tells, how the receiver answered, when it is tried again.
import { duration } from "../format/duration";
import { count } from "../format/number";
import { lastReason } from "../format/reason";
import type { Column } from "../parts/data-table";
import { MessageLink } from "../parts/links";
import { Redacted } from "../parts/states";
import { StateWord } from "../parts/state-word";
import { Ago, Until, When } from "../parts/when";
import { words } from "../words";
import type { Show, TimedDelivery } from "./use-deliveries";

const W = words.webhooks;

/** `isHidden`: error texts, and the answers in them, are not shown to this access. */
export const deliveryColumns = (show: Show, isHidden: boolean): readonly Column<TimedDelivery>[] => [
  { key: "endpoint", title: W.endpoint, cell: (row) => <span title={row.url ?? row.endpoint ?? undefined}>{row.endpoint ?? <span className="text-dead">{W.unreadable}</span>}{row.url && <span className="mono text-soft"> {hostOf(row.url)}</span>}</span> },
  { key: "state", title: W.state, width: "104px", from: "sm", cell: (row) => <StateWord state={row.state} label={row.state === "completed" ? W.shows.done : row.state === "dead" ? W.shows.failed : undefined} /> },
  { key: "message", title: W.message, width: "112px", from: "sm", cell: (row) => (row.message_id ? <MessageLink id={row.message_id} /> : <span className="text-faint">{words.unknown}</span>) },
  { key: "tells", title: W.tells, width: "88px", from: "md", cell: (row) => (row.status ? W.ends[row.status] ?? row.status : <span className="text-faint">{words.unknown}</span>) },
  { key: "attempts", title: W.attempts, width: "80px", isNumber: true, from: "md", cell: (row) => <span className={row.attempts ? "" : "text-faint"}>{count(row.attempts)}</span> },
  { key: "answer", title: W.answer, width: "112px", isNumber: true, cell: (row) => <Answer row={row} isHidden={isHidden} /> },
  ...(show === "waiting" ? [{ key: "next", title: W.next, width: "92px", isNumber: true, cell: (row: TimedDelivery) => (row.next_at === null ? <span className="text-faint">{row.state === "dead" ? words.unknown : words.words.now}</span> : <Until at={row.next_at} />) }] : []),
  { key: "made", title: W.made, width: "116px", isNumber: true, from: show === "waiting" ? "lg" : "md", cell: (row) => <When at={row.made_at} /> },
  show === "done"
    ? { key: "arrived", title: W.arrived, width: "104px", isNumber: true, from: "sm", cell: (row) => <Ago at={row.finished_at} /> }
    : { key: "error", title: W.error, width: "26%", from: "lg", cell: (row) => <Failure row={row} isHidden={isHidden} /> },
];

/** What the receiver answered last, and after what time. */
function Answer({ row, isHidden }: { row: TimedDelivery; isHidden: boolean }) {
  const took = row.answer_seconds === null ? "" : duration(row.answer_seconds);
  if (row.answer_status !== null) return <span className={row.state === "completed" ? "" : "text-soon-ink"}>{took ? W.answered(row.answer_status, took) : row.answer_status}</span>;
  if (row.answer_seconds !== null) return <span className="text-soon-ink">{W.noAnswer} <span className="text-soft">{took}</span></span>;
  return isHidden && row.attempts > 0 ? <Redacted /> : <span className="text-faint">{words.unknown}</span>;
}

function Failure({ row, isHidden }: { row: TimedDelivery; isHidden: boolean }) {
  if (row.error) return <span className="text-soft" title={row.error}>{lastReason(row.error)}</span>;
  return isHidden && (row.attempts > 0 || row.state === "dead") ? <Redacted /> : null;
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}
