// How long runs took, over time.
import { lazy, Suspense, useMemo } from "react";
import type { FiguresReport } from "../api/schema";
import { duration, shortDuration } from "../format/duration";
import { Legend } from "../parts/legend";
import { words } from "../words";

const Plot = lazy(() => import("../parts/plot"));
const W = words.task;

export function History({ report, lease, window }: { report: FiguresReport; lease: number | null; window: string }) {
  const { points } = report;
  const at = useMemo(() => points.map((one) => one.at), [points]);
  const series = useMemo(() => {
    const of = (name: "p50" | "p95" | "p99", hue: string, filled = false) => ({ name, hue, filled, values: points.map((one) => one.figures.duration?.[name] ?? null), text: duration });
    const longest = Math.max(0, ...points.map((one) => one.figures.duration?.p99 ?? 0));
    // A lease far above every run would press the runs to the floor; one far below would lie on it.
    const isNear = lease !== null && lease <= longest * 4 && lease >= longest / 20;
    return [of("p50", "--calm-fill", true), of("p95", "--faint"), of("p99", "--ink"), ...(isNear ? [{ name: W.lease, hue: "--leased", values: points.map(() => lease), text: duration }] : [])];
  }, [points, lease]);
  if (points.length < 2) return null;
  return (
    <section aria-label={W.history} className="border-t border-line-soft">
      <div className="flex flex-wrap items-center justify-between gap-x-3 px-4 pt-2.5"><h3 className="m-0 text-[12px] font-normal text-soft">{W.history}, {words.overview.windows[window]}</h3><Legend of={series} /></div>
      <div className="h-[200px]" data-plot=""><Suspense fallback={null}><Plot at={at} series={series} least={0.001} axisText={shortDuration} label={`${W.history}, ${words.overview.windows[window]}`} /></Suspense></div>
    </section>
  );
}
