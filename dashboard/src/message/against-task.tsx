// One run beside the runs of its task: where it lies among them, and the sentence that says so.
import { useQuery } from "@tanstack/react-query";
import { figures } from "../api/queries";
import type { HeldLease, MessageDetail, Quantiles } from "../api/schema";
import { duration } from "../format/duration";
import { count } from "../format/number";
import { Panel } from "../parts/page";
import { useNow } from "../parts/tick";
import { TimesBar } from "../queues/times-bar";
import { words } from "../words";

const W = words.against;

/** How long the last run took, or runs already. Null: none ran, or that is not known. */
export function ranSeconds(detail: MessageDetail, lease: HeldLease | undefined, now: number): number | null {
  if (detail.state === "leased") return lease?.leased_at ? Math.max(0, now - lease.leased_at) : null;
  return detail.life.findLast((step) => step.seconds !== undefined && step.seconds !== null)?.seconds ?? null;
}

/** Where a run lies among the others, in words. */
export function placeAmong(seconds: number, times: Quantiles): string {
  if (seconds > times.p99) return W.over99;
  if (seconds > times.p95) return W.over95;
  return seconds > times.p50 ? W.over50 : W.under50;
}

export function AgainstTask({ detail, lease }: { detail: MessageDetail; lease: HeldLease | undefined }) {
  const now = useNow(detail.state === "leased" ? 1 : 60);
  const { data } = useQuery({ ...figures({ seconds: 3600, queue: detail.queue, task: detail.task ?? "" }), enabled: detail.task !== null });
  const times = data?.total.duration;
  const ran = ranSeconds(detail, lease, now);
  if (!times || ran === null) return null;
  const isRunning = detail.state === "leased";
  return (
    <Panel title={W.title} aside={W.runs(count(times.count))}>
      <div className="px-4 pt-3"><TimesBar times={times} marks={[{ seconds: ran, text: W.mark }]} least={0.16} /></div>
      <p className="m-0 px-4 pt-1 pb-3.5"><span className="tabular-nums">{(isRunning ? W.runs_ : W.ran)(duration(ran))}</span> <span className="text-soft">{placeAmong(ran, times)}</span></p>
    </Panel>
  );
}
