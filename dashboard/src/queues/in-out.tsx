// What came in and what went out of a queue, over time.
import { lazy, Suspense, useMemo } from "react";
import type { FiguresReport } from "../api/schema";
import { rate } from "../format/number";
import { useMarks } from "../overview/flow-plot";
import { Legend } from "../parts/legend";
import { Panel } from "../parts/page";
import { LoadingPlot } from "../parts/states";
import { words } from "../words";

const Plot = lazy(() => import("../parts/plot"));
const perSecond = (value: number | null) => `${rate(value)}/s`;

export function InOut({ report, window, queue, isPending }: { report: FiguresReport | undefined; window: string; queue: string; isPending: boolean }) {
  const points = report?.points ?? [];
  const marks = useMarks(report?.step ?? 60, queue);
  const at = useMemo(() => points.map((one) => one.at), [points]);
  const series = useMemo(() => [
    { name: words.columns.inShort, hue: "--ready", values: points.map((one) => one.figures.rate_in), text: perSecond },
    { name: words.columns.outShort, hue: "--done-fill", filled: true, values: points.map((one) => one.figures.rate_out), text: perSecond },
  ], [points]);
  return (
    <Panel title={words.queues.inOut} aside={words.overview.each(words.overview.second)} actions={<Legend of={series} />}>
      <div className="h-[200px]" data-plot={points.length > 1 ? "" : undefined}>{!report && isPending && <LoadingPlot />}{points.length > 1 && <Suspense fallback={null}><Plot at={at} series={series} marks={marks} least={0.2} label={`${words.queues.inOut}, ${words.overview.windows[window]}`} /></Suspense>}</div>
    </Panel>
  );
}
