// The columns of a lease. Everything that counts seconds hangs on the one timer and renders nothing again.
import type { Figures, HeldLease } from "../api/schema";
import { duration, secondsLeft, wholeDuration } from "../format/duration";
import { count, share } from "../format/number";
import type { Column } from "../parts/data-table";
import { MessageLink, QueueLink, WorkerName } from "../parts/links";
import { StateWord } from "../parts/state-word";
import { TickBar, TickText, useNow } from "../parts/tick";
import { words } from "../words";
import { leaseState } from "./lease-order";

const C = words.columns;

export interface LeaseRow {
  lease: HeldLease;
  figures: Figures | undefined;
  /** How often it may fail. Null: the server does not know the task's code. */
  most: number | null;
}

function State({ lease }: { lease: HeldLease }) {
  const now = useNow();
  return <StateWord state={leaseState(lease, now)} />;
}

/** The bar's end is a little beyond p99, so that a run that outlives it still has where to go. */
const BEYOND = 1.25;

function Against({ lease, figures }: LeaseRow) {
  const p99 = figures?.duration?.p99 ?? null;
  const expected = p99 ?? lease.predicted_seconds;
  if (expected === null || lease.leased_at === null) return <span className="text-faint" title={words.leases.noP99}>{words.unknown}</span>;
  const end = expected * BEYOND;
  const began = lease.leased_at;
  const title = p99 === null ? `≈ ${duration(expected)}` : words.leases.asIs(duration(p99), count(figures?.duration?.count));
  return <TickBar className="w-full max-w-30" of={(now) => (now - began) / end} kind={(now) => (now > lease.deadline ? "bad" : now - began > expected ? "soon" : "")} mark={1 / BEYOND} title={title} label={`${words.columns.against}: ${title}`} />;
}

export const leaseColumns: readonly Column<LeaseRow>[] = [
  { key: "state", title: C.state, width: "102px", cell: ({ lease }) => <State lease={lease} /> },
  { key: "task", title: C.task, cell: ({ lease }) => <span className="flex items-baseline gap-2"><b className="max-w-full shrink-0 truncate font-[550]">{lease.task ?? words.unknown}</b><span className="min-w-0 truncate @max-[520px]:hidden"><MessageLink id={lease.id} /></span></span> },
  { key: "worker", title: C.worker, width: "122px", from: "lg", cell: ({ lease }) => <WorkerName owner={lease.owner} /> },
  { key: "running", title: C.runningFor, width: "88px", isNumber: true, from: "sm", cell: ({ lease }) => <TickText of={(now) => (lease.leased_at === null ? words.unknown : wholeDuration(Math.max(0, now - lease.leased_at)))} /> },
  { key: "against", title: C.against, width: "116px", from: "sm", cell: (row) => <Against {...row} /> },
  { key: "left", title: C.left, width: "106px", isNumber: true, cell: ({ lease }) => <Left lease={lease} /> },
  { key: "beats", title: C.beats, width: "90px", isNumber: true, from: "xl", cell: ({ lease }) => <TickText of={(now) => `${count(lease.beats)} · ${lease.last_beat_at === null ? words.leases.noBeat : wholeDuration(Math.max(0, now - lease.last_beat_at))}`} /> },
  { key: "attempt", title: C.attempt, width: "74px", isNumber: true, from: "lg", cell: ({ lease, most }) => <>{count(lease.attempt)}{most !== null && <span className="text-faint">/{most}</span>}</> },
  { key: "progress", title: C.progress, width: "82px", isNumber: true, from: "lg", cell: ({ lease }) => (lease.progress ? <span title={lease.progress.note}>{lease.progress.fraction === null ? lease.progress.note : share(lease.progress.fraction)}</span> : <span className="text-faint">{words.unknown}</span>) },
  { key: "queue", title: C.queue, width: "13%", from: "xl", cell: ({ lease }) => <span className="text-soft"><QueueLink queue={lease.queue} /></span> },
];

/** The seconds, and a thin bar of them. */
function Left({ lease }: { lease: HeldLease }) {
  return (
    <span className="flex items-center justify-end gap-2.5">
      <TickText className={lease.deadline_in <= 0 ? "text-dead" : ""} of={(now) => (lease.deadline <= now ? `−${Math.floor(now - lease.deadline)} s` : `${secondsLeft(lease.deadline, now)} s`)} />
      <TickBar thin className="w-9 shrink-0" of={(now) => (lease.deadline - now) / lease.seconds} kind={(now) => (lease.deadline - now < lease.seconds * 0.25 ? "soon" : "")} />
    </span>
  );
}
