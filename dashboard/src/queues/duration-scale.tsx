// How long runs take, against the lease: their times on one scale, and the sentence that explains them.
import type { Quantiles } from "../api/schema";
import { duration } from "../format/duration";
import { share } from "../format/number";
import { leaseStatus } from "../tasks/lease-status";
import { words } from "../words";
import { TimesBar, type TimeMark } from "./times-bar";

const W = words.task;

/** `isRenewed`: whether its heartbeat renews the lease; null: not known. `margin`: what is left of the lease, in words. */
export function DurationScale({ times, lease, hold, use, isRenewed, margin }: { times: Quantiles; lease: number | null; hold?: number | null; use: number | null; isRenewed: boolean | null; margin: string }) {
  const status = leaseStatus(use, isRenewed);
  const marks: TimeMark[] = [
    ...(lease === null ? [] : [{ seconds: lease, text: W.lease }]),
    // Far beyond what runs take it would push them into a corner.
    ...(hold && hold < times.p99 * 12 ? [{ seconds: hold, text: W.hold, hue: "var(--faint)" }] : []),
  ];
  const values: readonly (readonly [string, number | null | undefined])[] = [["p50", times.p50], ["p95", times.p95], ["p99", times.p99], [W.mean, times.mean], [W.lease, lease], [W.hold, hold]];
  return (
    <div className="px-4 pt-3 pb-3.5">
      <TimesBar times={times} marks={marks} />
      <dl className="m-0 mt-1 flex flex-wrap gap-x-6 gap-y-1">
        {values.map(([name, seconds]) => (seconds === null || seconds === undefined ? null : <div key={name} className="flex gap-1.5"><dt className="text-soft">{name}</dt><dd className="m-0 tabular-nums">{duration(seconds)}</dd></div>))}
      </dl>
      {lease !== null && use !== null && <p className="m-0 mt-2.5">{W.sentence(duration(times.p99), duration(lease), share(use))} {status && <span className="text-soft">{W.explained[status]}{margin ? ` ${margin}.` : ""}</span>}</p>}
    </div>
  );
}
