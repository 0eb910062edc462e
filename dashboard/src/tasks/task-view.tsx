// One task on one queue: its timing against its lease, what to do about it, its policy, and how reliably it works.
import { useQuery } from "@tanstack/react-query";
import { figures as figuresQuery } from "../api/queries";
import type { FiguresReport, TaskStatus, TaskTiming } from "../api/schema";
import { shortDuration } from "../format/duration";
import { count, rate, share } from "../format/number";
import { Figure, Figures, Panel } from "../parts/page";
import { LoadingRows, TroubleState } from "../parts/states";
import { Sparkline } from "../parts/sparkline";
import { Gauge } from "../parts/tick";
import type { By } from "../reliability/by-time";
import { Reliability } from "../reliability/reliability";
import { words } from "../words";
import { AdvicePanel } from "./advice-panel";
import { LeaseFacts } from "./lease-facts";
import { leaseStatus, margin, NEAR, type LeaseStatus } from "./lease-status";
import { Timing, useTiming } from "./timing";

const W = words.task;
const O = words.overview;

export function TaskView({ queue, task, seconds, step, window, known, by, onBy }: { queue: string; task: string; seconds: number; step: number; window: string; known: TaskStatus | undefined; by: By; onBy: (by: By) => void }) {
  const { data: report, error, refetch } = useQuery(figuresQuery({ seconds, step, queue, task }));
  const timing = useTiming(queue, task);
  if (!report) return <Panel>{error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows />}</Panel>;
  const { total } = report;
  const policy = known?.policy ?? null;
  // Where the server does not know the code, the lease is what the figures were reckoned with.
  const lease = policy?.lease_seconds ?? (total.duration && total.lease_use ? total.duration.p95 / total.lease_use : null);
  return (
    <>
      <Numbers report={report} known={known} lease={lease} timing={timing} />
      <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_320px]">
        <div className="flex min-w-0 flex-col gap-4">
          <Timing found={timing} report={report} lease={lease} policy={policy} window={window} />
          <AdvicePanel timing={timing} />
        </div>
        <LeaseFacts policy={policy} timing={timing} />
      </div>
      <Reliability report={report} aside={O.windows[window]!} queue={queue} task={task} by={by} onBy={onBy} again={timing?.redelivered} />
    </>
  );
}

/** The server's judgement, in the words of this page. */
const STATUS: Record<TaskTiming["status"], LeaseStatus | null> = { ok: "fits", high: "near", critical: "near", renewed: "renewed", unknown: null };

function Numbers({ report, known, lease, timing }: { report: FiguresReport; known: TaskStatus | undefined; lease: number | null; timing: TaskTiming | null | undefined }) {
  const { total, points } = report;
  const status = (timing && STATUS[timing.status]) ?? leaseStatus(total.lease_use, timing?.renewed ?? known?.policy?.heartbeat ?? null);
  const kind = status === "near" || status === "short" ? "soon" : "calm";
  return (
    <Figures label={total.task ?? ""}>
      <Figure label={O.running} value={count(known?.running)} beside={known?.policy?.concurrency ? W.atMost(count(known.policy.concurrency)) : undefined}>
        <p className="m-0 mt-1.5 h-6.5 truncate text-soft">{total.wait ? W.waits(shortDuration(total.wait.p50), shortDuration(total.wait.p99)) : ""}</p>
      </Figure>
      <Figure label={O.out} value={`${rate(total.rate_out)}${O.perSecond}`} beside={`${count(total.counts["completed"] ?? 0)} ${O.completed}`}>
        <Sparkline filled values={points.map((one) => one.figures.rate_out)} className="mt-1.5 h-6.5 w-full" label={O.out} />
      </Figure>
      <Figure label={O.errors} value={share(total.error_share)} beside={total.counts["retried"] ? O.retried(count(total.counts["retried"])) : undefined}>
        <Sparkline values={points.map((one) => one.figures.error_share)} className="mt-1.5 h-6.5 w-full" label={O.errors} least={0.05} />
      </Figure>
      <Figure label="p99" value={shortDuration(total.duration?.p99)} beside={total.duration ? `p50 ${shortDuration(total.duration.p50)}` : undefined}>
        <Sparkline values={points.map((one) => one.figures.duration?.p99 ?? null)} className="mt-1.5 h-6.5 w-full" label="p99" least={0.001} filled />
      </Figure>
      <Figure label={O.leaseUse} value={share(total.lease_use)} beside={status ? <span className={kind === "soon" ? "text-soon-ink" : ""}>{W.status[status]}</span> : undefined} title={margin(lease, total.duration?.p99)}>
        <div className="flex h-8 items-end pb-2"><Gauge part={total.lease_use ?? 0} kind={kind} mark={status === "renewed" ? undefined : NEAR} className="w-full" label={`${O.leaseUse} ${share(total.lease_use)}`} /></div>
      </Figure>
    </Figures>
  );
}
