// The columns of a queue, for the overview and the list of queues.
import type { Figures, QueueOverview } from "../api/schema";
import { duration, roughly, shortDuration } from "../format/duration";
import { count, rate, share } from "../format/number";
import type { Column } from "../parts/data-table";
import { Icon } from "../parts/icon";
import { QueueLink } from "../parts/links";
import { Sparkline } from "../parts/sparkline";
import { StateWord } from "../parts/state-word";
import { Gauge, TickText } from "../parts/tick";
import { words } from "../words";
import { limitText } from "./limit-text";

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
  return <Gauge thin part={use} className="w-14" kind={isNear(use) ? "soon" : "calm"} label={`${words.columns.leaseUse} ${share(use)}${use > 1 ? `: ${words.task.explained.renewed}` : ""}`} />;
}

export function times(figures: Figures | undefined, flow: { p50_seconds: number | null; p95_seconds: number | null }): string {
  const found = figures?.duration;
  if (found) return [found.p50, found.p95, found.p99].map(shortDuration).join(" · ");
  return flow.p50_seconds === null ? words.unknown : `${shortDuration(flow.p50_seconds)} · ${shortDuration(flow.p95_seconds)} · ${words.loading}`;
}

/** Two of the three, where there is little room. */
export function shortTimes(figures: Figures | undefined, flow: { p50_seconds: number | null }): string {
  const found = figures?.duration;
  if (found) return `${shortDuration(found.p50)} · ${shortDuration(found.p99)}`;
  return flow.p50_seconds === null ? words.unknown : `${shortDuration(flow.p50_seconds)} · ${words.loading}`;
}

export function errors(part: number | null) {
  return <span className={part !== null && part >= MANY_ERRORS ? "text-soon-ink" : ""}>{share(part)}</span>;
}

const guess = (row: QueueRow, value: number | null) => count(value, row.queue.estimated && value !== null && value > 0);

export const queueColumns: readonly Column<QueueRow>[] = [
  {
    key: "queue", title: C.queue,
    sortBy: ({ queue }) => queue.queue, cell: ({ queue }) => (
      <span className="flex items-center gap-2">
        <b className="min-w-0 truncate font-[550]"><QueueLink queue={queue.queue} /></b>
        {queue.paused && <><span className="@max-[520px]:hidden"><StateWord state="paused" /></span><span className="hidden @max-[520px]:inline"><StateWord bare state="paused" /></span></>}
        {queue.limit && !queue.paused && <span className="min-w-0 truncate" title={words.queues.limitedBy(limitText(queue.limit))}><StateWord state="late" label={words.queues.limited} /></span>}
        {!queue.workers && !queue.paused && !!queue.waiting && <StateWord state="silent" label={words.queues.unserved} />}
      </span>
    ),
  },
  { key: "history", title: C.fiveMinutes, width: "98px", from: "sm", cell: ({ history, queue }) => <Sparkline values={history} label={`${queue.queue}: ${words.columns.out}`} least={0.2} /> },
  { key: "waiting", title: C.waiting, width: "72px", isNumber: true, sortBy: ({ queue }) => queue.waiting, cell: (row) => guess(row, row.queue.waiting) },
  { key: "running", title: C.running, width: "76px", isNumber: true, sortBy: ({ queue }) => queue.running, cell: (row) => guess(row, row.queue.running) },
  { key: "oldest", title: C.oldest, width: "68px", isNumber: true, sortBy: ({ queue }) => queue.oldest_seconds, cell: ({ queue }) => (queue.oldest_seconds === null ? (queue.waiting === 0 ? "" : words.unknown) : roughly(queue.oldest_seconds)) },
  { key: "use", title: C.leaseUse, width: "80px", from: "md", sortBy: ({ queue }) => queue.flow.lease_use, cell: ({ queue }) => leaseUse(queue.flow.lease_use) },
  { key: "out", title: C.out, width: "68px", isNumber: true, from: "sm", sortBy: ({ queue }) => queue.flow.out_per_second, cell: ({ queue }) => rate(queue.flow.out_per_second) },
  { key: "times", title: C.times, width: "168px", isNumber: true, from: "xl", sortBy: ({ figures, queue }) => figures?.duration?.p99 ?? queue.flow.p95_seconds, cell: ({ queue, figures }) => times(figures, queue.flow) },
  { key: "errors", title: C.errors, width: "68px", isNumber: true, from: "sm", sortBy: ({ queue }) => queue.flow.error_share, cell: ({ queue }) => errors(queue.flow.error_share) },
];

/** Where there is room for two of the three. */
export const shortTimesColumn: Column<QueueRow> = {
  key: "times", title: C.shortTimes, width: "118px", isNumber: true, from: "md",
  cell: ({ figures, queue }) => shortTimes(figures, queue.flow),
};

export const deadColumn: Column<QueueRow> = { key: "dead", title: C.dead, width: "60px", isNumber: true, from: "sm", sortBy: ({ queue }) => queue.dead, cell: ({ queue }) => <span className={queue.dead ? "font-[550] text-dead" : ""}>{count(queue.dead)}</span> };
export const delayedColumn: Column<QueueRow> = { key: "delayed", title: C.delayed, width: "76px", isNumber: true, from: "2xl", sortBy: ({ queue }) => queue.delayed, cell: (row) => guess(row, row.queue.delayed) };
export const inColumn: Column<QueueRow> = { key: "in", title: C.in, width: "64px", isNumber: true, from: "md", sortBy: ({ queue }) => queue.flow.in_per_second, cell: ({ queue }) => rate(queue.flow.in_per_second) };
export const drainsColumn: Column<QueueRow> = { key: "drains", title: words.overview.drains("…").replace(" …", ""), width: "96px", isNumber: true, from: "2xl", sortBy: ({ queue }) => queue.drains_in_seconds, cell: ({ queue }) => (queue.drains_in_seconds !== null ? (queue.waiting ? <TickText of={() => duration(queue.drains_in_seconds)} /> : "") : queue.grows ? words.overview.grows : words.unknown) };

export type Wanted = ReadonlyMap<string, { desired: number | null; why: string }>;

/** Workers there are, and how many it takes where that is another number. Null: the server is too old to say. */
export const workersColumn = (wanted: Wanted | null): Column<QueueRow> => ({
  key: "workers", title: C.workers, width: "80px", isNumber: true, from: "lg", hint: wanted ? words.queues.desiredHint : undefined,
  sortBy: ({ queue }) => queue.workers, cell: ({ queue }) => {
    const found = wanted?.get(queue.queue);
    const desired = found?.desired ?? null;
    if (desired === null || desired === queue.workers) return <span title={found?.why}>{count(queue.workers)}</span>;
    return <span title={found?.why} className="inline-flex items-center gap-1">{count(queue.workers)}<span className="text-faint"><Icon name="to" size={11} /></span><span className={desired > queue.workers ? "font-semibold" : "text-soft"}><span className="sr-only">{words.queues.desired("")}</span>{count(desired)}</span></span>;
  },
});
