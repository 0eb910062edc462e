// Reliability: duplicates, how settles ended, why messages came back, how often they were delivered.
import type { Figures, FiguresReport } from "../api/schema";
import { count, share } from "../format/number";
import { Bars } from "../parts/sparkline";
import { Panel } from "../parts/page";
import { words } from "../words";

const W = words.reliability;
const CAUSES = ["retried", "snoozed", "given_back", "lease_lost", "returned", "lost", "crashed"] as const;

export function cameBack(counts: Record<string, number>): number {
  return CAUSES.reduce((sum, cause) => sum + (counts[cause] ?? 0), 0);
}

export function Reliability({ report, aside }: { report: FiguresReport; aside: string }) {
  const total = report.total;
  const ended = total.deliveries.reduce((sum, one) => sum + one, 0);
  const causes = CAUSES.map((cause) => [W.causes[cause]!, total.counts[cause] ?? 0] as const).filter(([, number]) => number > 0);
  const settles = Object.entries(total.settlements).filter(([, number]) => number > 0).sort((one, other) => other[1] - one[1]);
  return (
    <Panel title={W.title} aside={aside}>
      <div className="grid gap-x-8 gap-y-4 px-4 py-3.5 sm:grid-cols-2 xl:grid-cols-4">
        <Group title={W.delivered} none={!ended}>{total.deliveries.map((number, place) => <Row key={place} name={W.times(place + 1)} number={number} of={ended} bad={place >= 2 && number > 0} />)}</Group>
        <Group title={W.deletes} none={!settles.length}>{settles.map(([name, number]) => <Row key={name} name={W.outcomes[name] ?? name} number={number} of={settles.reduce((sum, one) => sum + one[1], 0)} bad={name === "unknown" || name === "taken_over"} />)}</Group>
        <Group title={W.redelivered} none={!causes.length}>{causes.map(([name, number]) => <Row key={name} name={name} number={number} of={causes.reduce((sum, one) => sum + one[1], 0)} />)}</Group>
        <Group title={W.duplicates}>
          <p className="m-0">{total.duplicates ? W.duplicatesSome(count(total.duplicates), share(total.duplicates / Math.max(1, endedOf(total)))) : <span className="text-soft">{W.duplicatesNone}</span>}</p>
          <h4 className="m-0 mt-3 mb-1 text-[12px] font-normal text-soft">{W.byTime}</h4>
          <Bars className="h-7 w-full" hue="text-soon" values={report.points.map((one) => cameBack(one.figures.counts))} label={W.byTime} />
        </Group>
      </div>
    </Panel>
  );
}

function endedOf(total: Figures): number {
  return (total.counts["completed"] ?? 0) + (total.counts["dead"] ?? 0) + total.duplicates;
}

function Group({ title, children, none }: { title: string; children: React.ReactNode; none?: boolean }) {
  return (
    <section className="min-w-0">
      <h3 className="m-0 mb-1.5 text-[12px] font-normal text-soft">{title}</h3>
      {none ? <p className="m-0 text-faint">{W.none}</p> : <div className="flex flex-col gap-0.5">{children}</div>}
    </section>
  );
}

function Row({ name, number, of, bad }: { name: string; number: number; of: number; bad?: boolean }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_56px_56px] items-center gap-2 text-[13px]">
      <span className="truncate" title={name}>{name}</span>
      <span className="gauge thin" aria-hidden="true"><i style={{ transform: `scaleX(${of ? number / of : 0})`, background: bad ? "var(--soon)" : "var(--faint)" }} /></span>
      <span className="number">{count(number)}</span>
    </div>
  );
}
