// How long runs take, against the lease: p50, p95, p99 and the lease on one scale, and the sentence that explains it.
import type { Quantiles } from "../api/schema";
import { duration } from "../format/duration";
import { count, share } from "../format/number";
import { words } from "../words";

const W = words.task;

/** On a scale of square roots, short times do not lie on each other and long ones do not leave the page. */
export function placeOf(seconds: number, longest: number): number {
  return longest <= 0 ? 0 : Math.sqrt(Math.max(0, seconds) / longest);
}

export function DurationScale({ times, lease, use }: { times: Quantiles; lease: number | null; use: number | null }) {
  const longest = Math.max(times.p99, lease ?? 0) * 1.08;
  const at = (seconds: number) => `${placeOf(seconds, longest) * 100}%`;
  const width = (from: number, to: number) => `${(placeOf(to, longest) - placeOf(from, longest)) * 100}%`;
  return (
    <div className="px-4 pt-3 pb-3.5">
      <div className="relative h-10" role="img" aria-label={`p50 ${duration(times.p50)}, p95 ${duration(times.p95)}, p99 ${duration(times.p99)}${lease === null ? "" : `, ${W.lease} ${duration(lease)}`}`}>
        <div className="absolute inset-x-0 top-3.5 h-2 rounded-[3px] bg-track" />
        <div className="absolute top-3.5 h-2 rounded-l-[3px] bg-leased-fill opacity-35" style={{ left: 0, width: at(times.p50) }} />
        <div className="absolute top-3.5 h-2 bg-leased-fill opacity-65" style={{ left: at(times.p50), width: width(times.p50, times.p95) }} />
        <div className="absolute top-3.5 h-2 bg-leased-fill" style={{ left: at(times.p95), width: width(times.p95, times.p99) }} />
        {lease !== null && <div className="absolute top-1 h-7 w-0.5 bg-ink" style={{ left: at(lease) }} />}
        <Label left={at(times.p99)} text="p99" below />
        {lease !== null && <Label left={at(lease)} text={W.lease} />}
      </div>
      <div className="flex flex-wrap items-baseline justify-between gap-x-6 text-[13px]">
      <dl className="m-0 flex flex-wrap gap-x-6 gap-y-1">
        {([["p50", times.p50], ["p95", times.p95], ["p99", times.p99], [W.mean, times.mean]] as const).map(([name, seconds]) => (
          <div key={name} className="flex gap-1.5"><dt className="text-soft">{name}</dt><dd className="m-0 tabular-nums">{duration(seconds)}</dd></div>
        ))}
        {lease !== null && <div className="flex gap-1.5"><dt className="text-soft">{W.lease}</dt><dd className="m-0 tabular-nums">{duration(lease)}</dd></div>}
      </dl>
      <p className="m-0 text-faint">{W.runs(count(times.count))}</p>
      </div>
      {lease !== null && use !== null && <p className="m-0 mt-2">{W.sentence(duration(times.p99), duration(lease), share(use))} <span className="text-soft">{use <= 0.8 ? W.fits : use > 1 ? W.beats : W.near}</span></p>}
    </div>
  );
}

function Label({ left, text, below }: { left: string; text: string; below?: boolean }) {
  return <span className={`absolute -translate-x-1/2 text-[11px] text-faint ${below ? "top-6" : "-top-2.5"}`} style={{ left }}>{text}</span>;
}
