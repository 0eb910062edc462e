// Five numbers of one queue, with their courses.
import { useQuery } from "@tanstack/react-query";
import { scaling as scalingQuery } from "../api/queries";
import type { FiguresReport, QueueOverview } from "../api/schema";
import { duration, roughly } from "../format/duration";
import { count, rate, share } from "../format/number";
import { Figure, Figures } from "../parts/page";
import { Sparkline } from "../parts/sparkline";
import { Gauge } from "../parts/tick";
import { waitingOf } from "../overview/five-numbers";
import { isNear } from "./queue-columns";
import { words } from "../words";

const O = words.overview;
const C = words.columns;

export function QueueNumbers({ queue, report }: { queue: QueueOverview; report: FiguresReport | undefined }) {
  const points = report?.points ?? [];
  const use = queue.flow.lease_use;
  const times = report?.total.duration;
  const wanted = useQuery(scalingQuery).data?.queues.find((one) => one.queue === queue.queue);
  const isKnown = wanted !== undefined && wanted.desired !== null;
  return (
    <Figures label={queue.queue}>
      <Figure label={O.waiting} value={count(queue.waiting, queue.estimated)} beside={queue.drains_in_seconds !== null && queue.waiting ? O.drains(roughly(queue.drains_in_seconds)) : queue.grows ? O.grows : undefined}>
        <Sparkline filled values={points.map(waitingOf)} hue="text-ready" className="mt-1.5 h-6.5 w-full" label={C.waiting} least={4} />
      </Figure>
      <Figure label={O.running} value={count(queue.running)} title={wanted?.why} beside={<>{words.words.workers(queue.workers)}{isKnown && <>, <span className={wanted.desired! > queue.workers ? "font-[550] text-ink" : ""}>{words.queues.desired(count(wanted.desired))}</span></>}</>}>
        {points.some((one) => typeof one.running === "number")
          ? <Sparkline filled values={points.map((one) => one.running ?? null)} hue="text-leased" className="mt-1.5 h-6.5 w-full" label={C.running} least={4} />
          : <p className="m-0 mt-1.5 h-6.5" />}
      </Figure>
      <Figure label={O.out} value={`${rate(queue.flow.out_per_second)}${O.perSecond}`} beside={queue.flow.in_per_second === null ? undefined : O.in(rate(queue.flow.in_per_second))}>
        <Sparkline filled values={points.map((one) => one.figures.rate_out)} className="mt-1.5 h-6.5 w-full" label={C.out} />
      </Figure>
      <Figure label={O.errors} value={share(queue.flow.error_share)} beside={queue.dead ? `${count(queue.dead)} ${C.dead}` : undefined}>
        <Sparkline values={points.map((one) => one.figures.error_share)} className="mt-1.5 h-6.5 w-full" label={C.errors} least={0.05} />
      </Figure>
      <Figure label={O.leaseUse} value={share(use)} beside={times ? `p99 ${duration(times.p99)}` : undefined}>
        <div className="flex h-8 items-end pb-2"><Gauge part={use ?? 0} kind={isNear(use) ? "soon" : "calm"} className="w-full" label={C.leaseUse} /></div>
      </Figure>
    </Figures>
  );
}
