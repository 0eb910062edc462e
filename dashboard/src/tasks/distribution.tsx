// How long the runs of a task took, as bars, against its lease. The axis is logarithmic: milliseconds and hours have room
// beside each other.
import type { Durations, DurationBucket } from "../api/schema";
import { duration, shortDuration } from "../format/duration";
import { count } from "../format/number";
import { apart } from "../queues/times-bar";
import { words } from "../words";

const W = words.task;
const TICKS = [0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 21_600, 86_400, 604_800];
/** Where a scale is short there is room for these between them. */
const FINE_TICKS = [0.002, 0.005, 0.02, 0.05, 0.2, 0.5, 2, 5, 20, 30, 120, 300, 1200, 1800, 7200, 43_200, 172_800, 3, 8, 15, 45, 180, 420, 900];
/** Two labels need so much room, as a part of the width. */
const APART = 0.075;

export interface Scale {
  from: number;
  to: number;
}

/** From a little before the first bar to a little after the last, with the lease and the limit in view. Pure. */
export function scaleOf(buckets: readonly DurationBucket[], marks: readonly number[]): Scale {
  const all = [...buckets.flatMap((one) => [one.from_seconds, one.to_seconds]), ...marks].filter((one) => one > 0);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const room = Math.max(1.15, (most / least) ** 0.04);
  return { from: least / room, to: most * room };
}

/** Where a time lies on the scale, from 0 to 1. */
export function placeOn(scale: Scale, seconds: number): number {
  if (seconds <= scale.from) return 0;
  return Math.min(1, Math.log(seconds / scale.from) / Math.log(scale.to / scale.from));
}

/** Runs for each part of the axis: the buckets of the server are not all equally wide on it. */
function density(one: DurationBucket): number {
  return one.runs / Math.log(one.to_seconds / Math.max(one.from_seconds, one.to_seconds / 2));
}

/** A limit that is far beyond every run would press them together. */
const FAR = 40;

export function Distribution({ buckets, times, lease, hold, isRenewed }: { buckets: readonly DurationBucket[]; times: Durations; lease: number | null; hold: number | null; isRenewed: boolean | null }) {
  const limits = [...(lease === null ? [] : [{ seconds: lease, text: `${W.lease} ${shortDuration(lease)}` }]), ...(hold === null || hold > FAR * Math.max(times.longest, lease ?? 0) ? [] : [{ seconds: hold, text: `${W.hold} ${shortDuration(hold)}` }])];
  const scale = scaleOf(buckets, limits.map((one) => one.seconds));
  const at = (seconds: number) => placeOn(scale, seconds);
  const top = Math.max(...buckets.map(density));
  const quantiles = apart([{ text: "p99", seconds: times.q99 }, { text: "p50", seconds: times.q50 }, { text: "p95", seconds: times.q95 }].map((one) => ({ ...one, at: at(one.seconds) })), APART);
  const above = apart(limits.map((one) => ({ ...one, at: at(one.seconds) })), APART * 2);
  const ticks = apart([...TICKS, ...FINE_TICKS].filter((one) => one > scale.from && one < scale.to).map((seconds) => ({ seconds, at: at(seconds) })), APART);
  // Beyond a lease that nobody renews, a run is run again elsewhere.
  const outlives = (one: DurationBucket) => isRenewed === false && lease !== null && one.from_seconds >= lease;
  const label = [...quantiles.map((one) => `${one.text} ${duration(one.seconds)}`), ...limits.map((one) => one.text)].join(", ");
  return (
    <div className="relative h-[148px] text-[11px] leading-4 whitespace-nowrap" role="img" aria-label={`${W.distribution}: ${label}`}>
      <svg viewBox="0 0 1000 100" preserveAspectRatio="none" className="absolute inset-x-0 top-4 h-[100px] w-full overflow-visible">
        <path d="M0 100h1000" stroke="var(--line)" vectorEffect="non-scaling-stroke" />
        {buckets.map((one) => {
          const [left, right] = [at(one.from_seconds) * 1000, at(one.to_seconds) * 1000];
          const high = Math.max(1.5, (density(one) / top) * 92);
          return (
            <g key={one.from_seconds}>
              <title>{W.bucket(duration(one.from_seconds), duration(one.to_seconds), count(one.runs))}</title>
              <rect x={left} y={100 - high} width={Math.max(1.5, (right - left) * 0.86)} height={high} fill={outlives(one) ? "var(--soon)" : "var(--held-fill)"} />
            </g>
          );
        })}
        {quantiles.map((one) => <path key={one.text} d={`M${one.at * 1000} 4v96`} stroke="var(--soft)" strokeDasharray="2 3" vectorEffect="non-scaling-stroke" />)}
        {limits.map((one) => <path key={one.text} d={`M${at(one.seconds) * 1000} 0v100`} stroke="var(--ink)" strokeWidth="1.5" vectorEffect="non-scaling-stroke" />)}
      </svg>
      {above.map((one) => <Label key={one.text} at={one.at} text={one.text} className="top-0 text-ink" />)}
      {quantiles.map((one) => <Label key={one.text} at={one.at} text={one.text} className="top-[117px] text-soft" />)}
      {ticks.map((one) => <Label key={one.seconds} at={one.at} text={shortDuration(one.seconds).replace(".0 ", " ")} className="top-[132px] text-faint" />)}
    </div>
  );
}

/** At the ends it stays within the plot. */
function Label({ at, text, className }: { at: number; text: string; className: string }) {
  const shift = at < 0.04 ? "" : at > 0.94 ? "-translate-x-full" : "-translate-x-1/2";
  return <span className={`absolute ${shift} ${className}`} style={{ left: `${at * 100}%` }}>{text}</span>;
}
