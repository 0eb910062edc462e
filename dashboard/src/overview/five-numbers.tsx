// Five numbers with their courses: what waits, runs, goes out, fails, died.
import { useQuery } from "@tanstack/react-query";
import { workers as workersQuery } from "../api/queries";
import type { DeadGroups, FiguresReport, OverviewSnapshot, Point } from "../api/schema";
import { duration, roughly } from "../format/duration";
import { localMidnight } from "../format/moment";
import { rate, share, shortCount } from "../format/number";
import { serverNow } from "../live/clock";
import { Figure, Figures } from "../parts/page";
import { Sparkline } from "../parts/sparkline";
import { Gauge } from "../parts/tick";
import { words } from "../words";

const W = words.overview;

export function FiveNumbers({ data, history, groups }: { data: OverviewSnapshot; history: FiguresReport | undefined; groups: DeadGroups | undefined }) {
  const { total } = data;
  const points = history?.points ?? [];
  const slots = useSlots();
  const drained = total.flow.out_per_second !== null && total.flow.in_per_second !== null ? total.flow.out_per_second - total.flow.in_per_second : null;
  const drains = total.waiting === null ? undefined : total.waiting === 0 ? W.nothingWaits : drained === null ? undefined : drained > 0 ? W.drains(roughly(total.waiting / drained)) : drained < -0.05 ? W.grows : W.steady;
  const retried = history?.total.counts["retried"] ?? 0;
  const today = groups ? deadToday(groups, serverNow()) : null;
  const course = (of: (point: FiguresReport["points"][number]) => number | null) => points.map(of);
  return (
    <Figures label={W.title}>
      <Figure label={W.waiting} value={shortCount(total.waiting)} beside={drains} title={total.oldest_seconds === null ? undefined : `${words.columns.oldest} ${duration(total.oldest_seconds)}`}>
        <Sparkline filled values={course(waitingOf)} hue="text-ready" className="mt-1.5 h-6.5 w-full" label={W.waiting} least={4} />
      </Figure>
      <Figure label={W.running} value={shortCount(total.running)} beside={slots ? W.slots(shortCount(slots)) : undefined}>
        {points.some((one) => typeof one.running === "number")
          ? <Sparkline filled values={course((one) => one.running ?? null)} hue="text-leased" className="mt-1.5 h-6.5 w-full" label={W.running} least={4} />
          : <div className="flex h-8 items-end pb-2"><Gauge part={slots && total.running !== null ? total.running / slots : 0} className="w-full" label={W.running} /></div>}
      </Figure>
      <Figure label={W.out} value={<>{rate(total.flow.out_per_second)}{total.flow.out_per_second !== null && W.perSecond}</>} beside={total.flow.in_per_second === null ? undefined : W.in(rate(total.flow.in_per_second))}>
        <Sparkline filled values={course((one) => one.figures.rate_out)} className="mt-1.5 h-6.5 w-full" label={W.out} />
      </Figure>
      <Figure label={W.errors} value={share(total.flow.error_share)} beside={retried ? W.retried(shortCount(retried)) : undefined}>
        <Sparkline values={course((one) => one.figures.error_share)} className="mt-1.5 h-6.5 w-full" label={W.errors} least={0.05} />
      </Figure>
      <Figure label={W.dead} value={<span className={today?.number ? "text-dead" : ""}>{shortCount(today?.number ?? (groups ? 0 : null))}</span>} beside={today?.kinds ? W.kinds(today.kinds) : undefined}>
        <Sparkline filled values={today?.course ?? []} hue={today?.number ? "text-dead" : "text-soft"} className="mt-1.5 h-6.5 w-full" label={W.dead} least={4} />
      </Figure>
    </Figures>
  );
}

/** A server that is older than the page does not say how many of them run. */
export const waitingOf = (point: Point): number | null => (point.depth === null ? null : Math.max(0, point.depth - (point.running ?? 0)));

function useSlots(): number | null {
  const { data } = useQuery(queuesWorkers);
  return data ?? null;
}

const queuesWorkers = { ...workersQuery, select: (found: { workers: { concurrency: number }[] }) => found.workers.reduce((sum, one) => sum + one.concurrency, 0) };

/** Since local midnight: how many, of how many kinds, and how they added up. */
export function deadToday(groups: DeadGroups, now: number): { number: number; kinds: number; course: number[] } {
  const since = localMidnight(now);
  const course: number[] = [];
  let [number, kinds] = [0, 0];
  const hours = Math.max(0, ...groups.groups.map((one) => one.by_hour.length));
  const begins = (hour: number) => groups.hours_since + hour * 3600;
  for (let hour = 0; hour < hours; hour += 1) {
    if (begins(hour) + 3600 <= since) continue;
    number += groups.groups.reduce((sum, one) => sum + (one.by_hour[hour] ?? 0), 0);
    course.push(number);
  }
  for (const one of groups.groups) if (one.by_hour.some((died, hour) => died > 0 && begins(hour) + 3600 > since)) kinds += 1;
  return { number, kinds, course };
}
