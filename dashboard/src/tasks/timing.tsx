// Timing of a task: how long its runs take against its lease, the sentence that explains it, and how that changed.
import { useQuery } from "@tanstack/react-query";
import { timing as timingQuery } from "../api/queries";
import type { FiguresReport, TaskPolicy, TaskTiming } from "../api/schema";
import { duration } from "../format/duration";
import { count, share } from "../format/number";
import { Panel } from "../parts/page";
import { sentence } from "../parts/states";
import { DurationScale } from "../queues/duration-scale";
import { words } from "../words";
import { Distribution } from "./distribution";
import { History } from "./history";
import { margin } from "./lease-status";

const W = words.task;

/** What is known of one task. Undefined: it is still asked; null: the server is too old, or nothing was measured. */
export function useTiming(queue: string, task: string): TaskTiming | null | undefined {
  const { data } = useQuery(timingQuery(queue, task));
  return data === undefined ? undefined : (data?.tasks.find((one) => one.task === task && one.queue === queue) ?? null);
}

export function Timing({ found, report, lease, policy, window }: { found: TaskTiming | null | undefined; report: FiguresReport; lease: number | null; policy: TaskPolicy | null; window: string }) {
  const { duration: times, lease_use } = report.total;
  const isMeasured = !!found?.durations && found.distribution.length > 0;
  const runs = isMeasured ? W.runsOfDay(count(found.durations!.samples)) : times ? `${words.overview.windows[window]} · ${W.runs(count(times.count))}` : "";
  return (
    <Panel title={W.timing} aside={runs}>
      {isMeasured ? <Measured timing={found} policy={policy} />
        : times ? <DurationScale times={times} lease={lease} hold={policy?.max_hold_seconds} use={lease_use} isRenewed={policy?.heartbeat ?? null} margin={margin(lease, times.p99)} />
        : <p className="m-0 px-4 py-3 text-soft">{found === undefined ? words.loading : W.none}</p>}
      {times && <History report={report} lease={found?.lease_seconds ?? lease} window={window} />}
    </Panel>
  );
}

function Measured({ timing, policy }: { timing: TaskTiming; policy: TaskPolicy | null }) {
  const times = timing.durations!;
  const hold = timing.max_hold_seconds ?? policy?.max_hold_seconds ?? null;
  const values: readonly (readonly [string, string])[] = [
    ["p50", duration(times.q50)], ["p95", duration(times.q95)], ["p99", duration(times.q99)], [W.longest, duration(times.longest)], [W.mean, duration(times.mean)],
  ];
  return (
    <div className="px-4 pt-3 pb-3.5">
      <Distribution buckets={timing.distribution} times={times} lease={timing.lease_seconds} hold={hold} isRenewed={timing.renewed} />
      <dl className="m-0 mt-2.5 flex flex-wrap gap-x-6 gap-y-1">
        {values.map(([name, value]) => <div key={name} className="flex gap-1.5"><dt className="text-soft">{name}</dt><dd className="m-0 tabular-nums">{value}</dd></div>)}
        {times.killed > 0 && <div className="text-soft">{W.killed(count(times.killed))}</div>}
      </dl>
      <p className="m-0 mt-2.5 max-w-[90ch]">{explained(timing)} {timing.lease_why && <span className="text-soft">{sentence(timing.lease_why)}</span>}</p>
    </div>
  );
}

/** What the picture says, in words. */
export function explained(timing: TaskTiming): string {
  const q99 = duration(timing.durations?.q99);
  const lease = duration(timing.lease_seconds);
  if (timing.status === "renewed") return W.sentenceRenewed(q99, lease);
  if (timing.status === "unknown" || timing.use === null) return W.sentenceUnknown(q99);
  const left = timing.margin_seconds ?? 0;
  return left >= 0 ? W.sentenceLeft(q99, lease, share(timing.use), duration(left)) : W.sentenceShort(q99, lease, duration(-left));
}
