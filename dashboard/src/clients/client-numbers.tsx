// Five numbers of one client, with their courses.
import type { ClientDetail, FiguresReport } from "../api/schema";
import { duration, roughly } from "../format/duration";
import { count, rate, share } from "../format/number";
import { waitingOf as waitingAt } from "../overview/five-numbers";
import { Figure, Figures } from "../parts/page";
import { Sparkline } from "../parts/sparkline";
import { Gauge } from "../parts/tick";
import { words } from "../words";
import { waitingOf } from "./client-columns";
import { isFull, moodOf } from "./quota-text";

const C = words.columns;
const O = words.overview;
const W = words.clients;
const COURSE = "mt-1.5 h-6.5 w-full";

export function ClientNumbers({ client, report }: { client: ClientDetail; report: FiguresReport | undefined }) {
  const points = report?.points ?? [];
  const { quota } = client;
  const limit = (part: number | null | undefined, use: number | null | undefined, text: string) => (part == null ? undefined : <span className={use != null && moodOf(use) === "soon" ? "text-soon-ink" : ""}>{text}</span>);
  const work = [client.work_seconds ? duration(client.work_seconds) : "", client.weight === 1 ? "" : W.weight(client.weight)].filter(Boolean).join(" · ");
  return (
    <Figures label={client.client}>
      <Figure label={O.waiting} value={count(waitingOf(client), client.estimated)} beside={limit(quota?.waiting, quota?.waiting_use, isFull(quota) ? W.full : W.ofMost(count(quota?.waiting))) ?? (client.oldest_age_seconds === null ? undefined : `${C.oldest} ${roughly(client.oldest_age_seconds)}`)}>
        <Sparkline filled values={points.map(waitingAt)} hue="text-ready" className={COURSE} label={C.waiting} least={4} />
      </Figure>
      <Figure label={O.running} value={count(client.running)} beside={limit(quota?.running, quota?.running_use, W.ofMost(count(quota?.running)))}>
        {points.some((one) => typeof one.running === "number")
          ? <Sparkline filled values={points.map((one) => one.running ?? null)} hue="text-leased" className={COURSE} label={C.running} least={4} />
          : <p className="m-0 mt-1.5 h-6.5" />}
      </Figure>
      <Figure label={O.out} value={`${rate(client.out_per_second)}${O.perSecond}`} beside={limit(quota?.per_second, null, W.atMost(quota?.rate ?? "")) ?? (client.in_per_second === null ? undefined : O.in(rate(client.in_per_second)))}>
        <Sparkline filled values={points.map((one) => one.figures.rate_out)} className={COURSE} label={C.out} />
      </Figure>
      <Figure label={O.errors} value={share(client.error_share)} beside={client.dead ? `${count(client.dead)} ${C.dead}` : undefined}>
        <Sparkline values={points.map((one) => one.figures.error_share)} className={COURSE} label={C.errors} least={0.05} />
      </Figure>
      <Figure label={W.workFigure} value={share(client.work_share)} beside={work || undefined} title={W.workHint}>
        <div className="flex h-8 items-end pb-2"><Gauge part={client.work_share ?? 0} kind="calm" className="w-full" label={W.work} /></div>
      </Figure>
    </Figures>
  );
}
