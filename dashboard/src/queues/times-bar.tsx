// How long runs take, as one bar: half of them end in its light part, 95 of 100 before the dark one. Marks stand above.
import type { Quantiles } from "../api/schema";
import { duration } from "../format/duration";

export interface TimeMark {
  seconds: number;
  text: string;
  /** As a CSS colour; without one it is the ink. */
  hue?: string;
}

/** Two labels need so much room, as a part of the bar. */
const APART = 0.085;

/** On a scale of square roots, short times do not lie on each other and long ones do not leave the page. */
export function placeOf(seconds: number, longest: number): number {
  return longest <= 0 ? 0 : Math.sqrt(Math.max(0, seconds) / longest);
}

/** Those that stand apart from the ones before them: what matters most comes first. Pure. */
export function apart<Label extends { at: number }>(labels: readonly Label[], least = APART): Label[] {
  const kept: Label[] = [];
  for (const one of labels) if (kept.every((other) => Math.abs(other.at - one.at) >= least)) kept.push(one);
  return kept;
}

export function TimesBar({ times, marks = [], least = APART }: { times: Quantiles; marks?: readonly TimeMark[]; least?: number }) {
  const longest = Math.max(times.p99, ...marks.map((one) => one.seconds)) * 1.06;
  const at = (seconds: number) => placeOf(seconds, longest);
  const parts = [[0, times.p50, 0.32], [times.p50, times.p95, 0.6], [times.p95, times.p99, 1]] as const;
  const below = apart([{ at: at(times.p99), text: "p99" }, { at: at(times.p50), text: "p50" }, { at: at(times.p95), text: "p95" }], least);
  const above = apart(marks.map((one) => ({ at: at(one.seconds), ...one })), least * 1.5);
  const label = [`p50 ${duration(times.p50)}`, `p95 ${duration(times.p95)}`, `p99 ${duration(times.p99)}`, ...marks.map((one) => `${one.text} ${duration(one.seconds)}`)].join(", ");
  return (
    <div className="relative h-[46px]" role="img" aria-label={label}>
      <div className="absolute inset-x-0 top-[19px] h-2 rounded-[3px] bg-track" />
      {parts.map(([from, to, opacity]) => <div key={from} className={`absolute top-[19px] h-2 bg-leased-fill ${from === 0 ? "rounded-l-[3px]" : ""}`} style={{ left: `${at(from) * 100}%`, width: `${(at(to) - at(from)) * 100}%`, opacity }} />)}
      {below.map((one) => <Label key={one.text} at={one.at} text={one.text} className="top-[30px]" />)}
      {marks.map((one) => <div key={one.text} className="absolute top-[15px] h-4 w-0.5 -translate-x-px rounded-full" style={{ left: `${at(one.seconds) * 100}%`, background: one.hue ?? "var(--ink)" }} />)}
      {above.map((one) => <Label key={one.text} at={one.at} text={one.text} className="-top-0.5 text-ink!" />)}
    </div>
  );
}

/** At the ends of the bar it stays within it. */
function Label({ at, text, className }: { at: number; text: string; className: string }) {
  const shift = at < 0.05 ? "" : at > 0.95 ? "-translate-x-full" : "-translate-x-1/2";
  return <span className={`absolute text-[11px] leading-4 whitespace-nowrap text-faint ${shift} ${className}`} style={{ left: `${at * 100}%` }}>{text}</span>;
}
