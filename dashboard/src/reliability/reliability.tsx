// Reliability: duplicates, how settles ended, why messages came back, how often they were delivered; by hour and day.
import type { ReactNode } from "react";
import type { Figures, FiguresReport, Redelivered } from "../api/schema";
import { count, share } from "../format/number";
import { Panel } from "../parts/page";
import { words } from "../words";
import { ByTime, type By } from "./by-time";
import { CAUSES } from "./came-back";

const W = words.reliability;

/** `again`: of one task in the last day, what came back for which the figures know no task. */
export function Reliability({ report, aside, queue, task, by, onBy, again }: { report: FiguresReport; aside: string; queue: string; task?: string; by: By; onBy: (by: By) => void; again?: Redelivered }) {
  const total = report.total;
  const ended = total.deliveries.reduce((sum, one) => sum + one, 0);
  const counted = CAUSES.map((cause) => [W.causes[cause]!, total.counts[cause] ?? 0] as const);
  const told = again ? ([[W.againExpiry, again.expiry ?? 0], [W.againCrash, again.crash ?? 0]] as const) : [];
  const causes = [...counted, ...told].filter(([, number]) => number > 0);
  const settles = Object.entries(total.settlements).filter(([, number]) => number > 0).sort((one, other) => other[1] - one[1]);
  const done = (total.counts["completed"] ?? 0) + (total.counts["dead"] ?? 0) + total.duplicates;
  return (
    <Panel title={W.title} aside={aside}>
      <div className="grid gap-x-8 gap-y-4 px-4 py-3.5 sm:grid-cols-2 xl:grid-cols-4">
        <Group title={W.delivered} none={!ended}>{total.deliveries.map((number, place) => <Row key={place} name={W.times(place + 1)} number={number} of={ended} bad={place >= 2 && number > 0} />)}</Group>
        <Group title={W.deletes} none={!settles.length}>{settles.map(([name, number]) => <Row key={name} name={W.outcomes[name] ?? name} number={number} of={settles.reduce((sum, one) => sum + one[1], 0)} bad={name === "unknown" || name === "taken_over"} />)}</Group>
        <Group title={W.redelivered} none={!causes.length} text={W.noneBack}>{causes.map(([name, number]) => <Row key={name} name={name} number={number} of={causes.reduce((sum, one) => sum + one[1], 0)} />)}</Group>
        <Group title={W.renewals}>{renewals(total).map(([name, number]) => <Row key={name} name={name} number={number} of={null} />)}<p className="m-0 mt-1 text-soft">{total.duplicates ? W.duplicatesSome(count(total.duplicates), share(total.duplicates / Math.max(1, done))) : W.duplicatesNone}</p></Group>
      </div>
      <ByTime queue={queue} task={task} by={by} onBy={onBy} />
    </Panel>
  );
}

const renewals = (total: Figures): readonly (readonly [string, number])[] => [[W.beats, total.beats], [W.lost, total.lost_leases]];

function Group({ title, children, none, text = W.none }: { title: string; children: ReactNode; none?: boolean; text?: string }) {
  return (
    <section className="min-w-0">
      <h3 className="m-0 mb-1.5 text-[12px] font-normal text-soft">{title}</h3>
      {none ? <p className="m-0 text-faint">{text}</p> : <div className="flex flex-col gap-0.5">{children}</div>}
    </section>
  );
}

/** `of` null: a number that is no part of anything. */
function Row({ name, number, of, bad }: { name: string; number: number; of: number | null; bad?: boolean }) {
  return (
    <div className={`grid items-center gap-2 ${of === null ? "grid-cols-[minmax(0,1fr)_max-content]" : "grid-cols-[minmax(0,1fr)_44px_52px]"}`}>
      <span className="truncate" title={name}>{name}</span>
      {of !== null && <span className="gauge thin" aria-hidden="true"><i style={{ transform: `scaleX(${of ? number / of : 0})`, background: bad ? "var(--soon)" : "var(--calm-fill)" }} /></span>}
      <span className="number">{count(number)}</span>
    </div>
  );
}
