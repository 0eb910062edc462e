// Completed, retried, dead over time, with marks for what people and workers did.
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { recentActs, workers as workersQuery } from "../api/queries";
import type { FiguresReport } from "../api/schema";
import { count } from "../format/number";
import { Legend } from "../parts/legend";
import { Panel } from "../parts/page";
import { LoadingPlot } from "../parts/states";
import { words } from "../words";
import { actMarks, gathered, workerMarks, type Mark } from "./marks";

const Plot = lazy(() => import("../parts/plot"));
const W = words.overview;
const text = (value: number | null) => count(value === null ? null : Math.round(value));
const NONE: readonly Mark[] = [];

/** `queue`: acts on this one only. */
export function useMarks(step: number, queue?: string): readonly Mark[] {
  const acts = useQuery(recentActs);
  const workers = useQuery(workersQuery);
  return useMemo(() => (acts.data || workers.data ? gathered([...actMarks((acts.data?.acts ?? []).filter((one) => queue === undefined || one.queue === queue)), ...workerMarks(workers.data?.workers ?? [])], step) : NONE), [acts.data, workers.data, step, queue]);
}

export function FlowPlot({ report, window, isPending }: { report: FiguresReport | undefined; window: string; isPending: boolean }) {
  const points = report?.points ?? [];
  const step = report?.step ?? 60;
  const marks = useMarks(step);
  const at = useMemo(() => points.map((one) => one.at), [points]);
  const series = useMemo(() => {
    const perMinute = (...kinds: string[]) => points.map((one) => (kinds.reduce((sum, kind) => sum + (one.figures.counts[kind] ?? 0), 0) / step) * 60);
    return [
      { name: W.completed, hue: "--done-fill", filled: true, values: perMinute("completed"), text },
      { name: W.retriedWord, hue: "--calm-fill", isRare: true, values: perMinute("retried"), text },
      { name: W.deadWord, hue: "--dead-fill", isRare: true, values: perMinute("dead", "move_to_dlq"), text },
    ];
  }, [points, step]);
  const label = `${W.plot}, ${W.windows[window]}: ${series.map((one) => `${one.name} ${count(one.values.reduce((sum, value) => sum + value, 0) * (step / 60))}`).join(", ")}`;
  return (
    <Panel title={W.plot} aside={W.each(W.minute)} actions={<Legend of={series} />}>
      <div className="h-[200px]" data-plot={points.length > 1 ? "" : undefined}>
        {!report && isPending && <LoadingPlot />}
        {points.length > 1 && <Suspense fallback={null}><Plot at={at} series={series} marks={marks} label={label} /></Suspense>}
        {report && points.length <= 1 && <p className="m-0 px-4 py-6 text-soft">{W.noPlot}</p>}
      </div>
    </Panel>
  );
}
