// The columns of a queue, for the overview and the list of queues.
import type { Figures, QueueOverview } from "../api/schema";
import { duration, roughly, shortDuration } from "../format/duration";
import { count, rate, share } from "../format/number";
import type { Column } from "../parts/data-table";
import { QueueLink } from "../parts/links";
import { Sparkline } from "../parts/sparkline";
import { StateWord } from "../parts/state-word";
import { Gauge, TickText } from "../parts/tick";
import { words } from "../words";

const C = words.columns;
/** From this part of the lease on a bar is amber: p95 of the runs comes near its end. */
const NEAR = 0.8;
const MANY_ERRORS = 0.01;

/** Over the whole lease, runs live by their heartbeats, which is nothing to worry about. */
export const isNear = (use: number | null) => use !== null && use > NEAR && use <= 1;

export interface QueueRow {
  queue: QueueOverview;
  history: readonly number[];
  figures: Figures | undefined;
}

export function leaseUse(use: number | null) {
  if (use === null) return <span className="text-faint">{words.unknown}</span>;
  return <Gauge thin part={use} className="w-14" kind={isNear(use) ? "soon" : "calm"} label={`${words.columns.leaseUse} ${share(use)}${use > 1 ? `: ${words.task.beats}` : ""}`} />;
}

export function times(figures: Figures | undefined, flow: { p50_seconds: number | null; p95_seconds: number | null }): string {
  const found = figures?.duration;
  if (found) return [found.p50, found.p95, found.p99].map(shortDuration).join(" · ");
  return flow.p50_seconds === null ? words.unknown : `${shortDuration(flow.p50_seconds)} · ${shortDuration(flow.p95_seconds)} · ${words.loading}`;
}

export function errors(part: number | null) {
  return <span className={part !== null && part >= MANY_ERRORS ? "text-soon-ink" : ""}>{share(part)}</span>;
}

const guess = (row: QueueRow, value: number | null) => count(value, row.queue.estimated && value !== null && value > 0);

export const queueColumns: readonly Column<QueueRow>[] = [
  {
    key: "queue", title: C.queue,
    cell: ({ queue }) => (
      <span className="flex items-center gap-2">
        <b className="min-w-0 truncate font-[550]"><QueueLink queue={queue.queue} /></b>
        {queue.paused && <StateWord state="paused" />}
        {!queue.workers && !queue.paused && !!queue.waiting && <StateWord state="silent" label={words.queues.unserved} />}
      </span>
    ),
  },
  { key: "history", title: C.fiveMinutes, width: "98px", from: "sm", cell: ({ history, queue }) => <Sparkline values={history} label={`${queue.queue}: ${words.columns.out}`} least={0.2} /> },
  { key: "waiting", title: C.waiting, width: "72px", isNumber: true, cell: (row) => guess(row, row.queue.waiting) },
  { key: "running", title: C.running, width: "76px", isNumber: true, cell: (row) => guess(row, row.queue.running) },
  { key: "oldest", title: C.oldest, width: "68px", isNumber: true, cell: ({ queue }) => (queue.oldest_seconds === null ? (queue.waiting === 0 ? "" : words.unknown) : roughly(queue.oldest_seconds)) },
  { key: "use", title: C.leaseUse, width: "80px", from: "md", cell: ({ queue }) => leaseUse(queue.flow.lease_use) },
  { key: "out", title: C.out, width: "68px", isNumber: true, from: "sm", cell: ({ queue }) => rate(queue.flow.out_per_second) },
  { key: "times", title: C.times, width: "172px", isNumber: true, from: "xl", cell: ({ queue, figures }) => times(figures, queue.flow) },
  { key: "errors", title: C.errors, width: "68px", isNumber: true, from: "sm", cell: ({ queue }) => errors(queue.flow.error_share) },
];

/** Where there is room for two of the three. */
export const shortTimesColumn: Column<QueueRow> = {
  key: "times", title: C.shortTimes, width: "118px", isNumber: true, from: "md",
  cell: ({ figures, queue }) => (figures?.duration ? `${shortDuration(figures.duration.p50)} · ${shortDuration(figures.duration.p99)}` : queue.flow.p50_seconds === null ? words.unknown : `${shortDuration(queue.flow.p50_seconds)} · ${words.loading}`),
};

export const deadColumn: Column<QueueRow> = { key: "dead", title: C.dead, width: "64px", isNumber: true, from: "sm", cell: ({ queue }) => <span className={queue.dead ? "font-[550] text-dead" : ""}>{count(queue.dead)}</span> };
export const delayedColumn: Column<QueueRow> = { key: "delayed", title: C.delayed, width: "76px", isNumber: true, from: "2xl", cell: (row) => guess(row, row.queue.delayed) };
export const inColumn: Column<QueueRow> = { key: "in", title: C.in, width: "64px", isNumber: true, from: "md", cell: ({ queue }) => rate(queue.flow.in_per_second) };
export const workersColumn: Column<QueueRow> = { key: "workers", title: C.workers, width: "72px", isNumber: true, from: "xl", cell: ({ queue }) => count(queue.workers) };
export const drainsColumn: Column<QueueRow> = { key: "drains", title: words.overview.drains("…").replace(" …", ""), width: "96px", isNumber: true, from: "2xl", cell: ({ queue }) => (queue.drains_in_seconds !== null ? (queue.waiting ? <TickText of={() => duration(queue.drains_in_seconds)} /> : "") : queue.grows ? words.overview.grows : words.unknown) };
