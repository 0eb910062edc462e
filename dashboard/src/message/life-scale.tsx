// The timeline as one bar: what it waited, ran and rested, to scale, with its beats and the p99 of its task.
import { duration } from "../format/duration";
import { clockTime, dayOf, isSameDay } from "../format/moment";
import { words } from "../words";
import type { Segment, Timeline } from "./timeline";

const FILL: Record<Segment["kind"], string> = { waits: "var(--track)", delayed: "var(--delayed)", runs: "var(--run-fill)", overdue: "var(--dead-fill)" };
const ON: Record<Segment["kind"], string> = { waits: "", delayed: "var(--ink)", runs: "var(--on-run)", overdue: "var(--on-dead)" };
const END: Record<string, string> = { failed: "var(--soon)", crashed: "var(--soon)", lost: "var(--soon)", returned: "var(--soon)", lease_lost: "var(--soon)", dead: "var(--dead-fill)", completed: "var(--done-fill)" };
const LABEL: Record<Segment["kind"], string> = { waits: "waits", delayed: "delayed", runs: "runs", overdue: "overdue" };
/** Nothing is too short to be seen. */
const LEAST = 0.35;
/** A part that is so wide, of 100, says in itself what it is. */
const SAYS = 13;

export function LifeScale({ life, p99 }: { life: Timeline; p99?: number | null }) {
  const running = life.segments.findLast((one) => one.kind === "runs" && !one.ended);
  const mark = p99 && running ? running.from + p99 : null;
  const to = mark !== null && mark > life.to && mark - life.from < (life.to - life.from) * 3 ? mark + (mark - life.from) * 0.06 : life.to;
  const length = Math.max(0.001, to - life.from);
  const place = (at: number) => ((at - life.from) / length) * 100;
  const sameDay = isSameDay(life.from, to);
  const ends = (at: number) => (sameDay ? clockTime(at) : `${dayOf(at)} ${clockTime(at)}`);
  return (
    <div className="px-4 pt-3 pb-1">
      <div className="flex justify-between text-[11px] text-faint tabular-nums">
        <span>{ends(life.from)}</span>
        <span>{duration(life.to - life.from)}</span>
        <span>{to > life.to ? "" : ends(life.to)}</span>
      </div>
      <div className="relative mt-1">
      <svg viewBox="0 0 100 10" preserveAspectRatio="none" className="block h-5 w-full" role="img" aria-label={life.segments.map((one) => tell(one)).join(", ")}>
        {life.segments.map((one, at) => (
          <g key={at}>
            <title>{tell(one)}</title>
            <rect x={Math.min(place(one.from), 100 - LEAST)} y={one.kind === "waits" ? 3.4 : 0} height={one.kind === "waits" ? 3.2 : 10} width={Math.max(LEAST, place(one.to) - place(one.from))} fill={FILL[one.kind]} opacity={one.kind === "delayed" ? 0.5 : one.isGuess ? 0.6 : 1} />
            {END[one.ended] && <rect x={Math.max(0, Math.min(100, place(one.to)) - LEAST)} y="0" height="10" width={LEAST * 1.6} fill={END[one.ended]} />}
          </g>
        ))}
        {mark !== null && <path d={`M${place(mark)} 0v10`} stroke="var(--ink)" strokeWidth="1.5" strokeDasharray="2 2" vectorEffect="non-scaling-stroke" />}
      </svg>
        {life.segments.map((one, at) => {
          const wide = place(one.to) - place(one.from);
          if (wide < SAYS || one.kind === "waits" || one.isGuess) return null;
          return <span key={at} aria-hidden="true" className="pointer-events-none absolute inset-y-0 truncate px-2 text-[11px] leading-5 tabular-nums @max-[560px]:hidden" style={{ left: `${place(one.from)}%`, width: `${wide}%`, color: ON[one.kind] }}>{tell(one, true)}</span>;
        })}
      </div>
      <div className="relative h-4 overflow-hidden text-[11px] text-soft" aria-hidden="true">
        <svg viewBox="0 0 100 6" preserveAspectRatio="none" className="absolute inset-x-0 top-0.5 h-1.5 w-full">
          {life.beats.map((at) => <path key={at} d={`M${place(at)} 0v6`} stroke="var(--leased-fill)" strokeWidth="1" opacity="0.7" vectorEffect="non-scaling-stroke" />)}
        </svg>
        {mark !== null && <span className="absolute top-0.5 bg-panel px-1 leading-3.5" style={place(mark) > 70 ? { right: `${100 - place(mark)}%` } : { left: `${place(mark)}%` }}>{words.leases.p99(duration(p99))}</span>}
      </div>
    </div>
  );
}

/** `isShort`: without how it ended, which its end shows. */
function tell(one: Segment, isShort = false): string {
  const what = one.kind === "overdue" ? words.states.overdue : words.message.scale[LABEL[one.kind] as keyof typeof words.message.scale];
  return `${what} ${duration(one.to - one.from)}${one.ended && !isShort ? `, ${words.message.steps[one.ended] ?? one.ended}` : ""}`;
}
