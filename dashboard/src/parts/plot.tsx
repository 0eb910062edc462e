// A plot over time: uPlot, drawn in the hues of the page, with marks for what people and workers did.
//
// What is rare stands in a strip below what is plenty, as bars on a scale of its own: no line of it can be taken for
// one of the others.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import { clockMinute, clockTime, dayOf } from "../format/moment";
import { onThemeChange } from "../shell/theme";
import type { Mark } from "../overview/marks";
import { drawMarks, drawRare } from "./plot-drawing";

export interface Series {
  name: string;
  /** A custom property of the page, such as `--done`. */
  hue: string;
  values: readonly (number | null)[];
  filled?: boolean;
  /** In the strip below; the last of them stands lowest. */
  isRare?: boolean;
  text: (value: number | null) => string;
}

export interface Shown {
  at: readonly number[];
  series: readonly Series[];
  marks: readonly Mark[];
}

const NONE: readonly Mark[] = [];
const HEIGHT = 188;
/** The part of the height that the strip takes. */
const STRIP = 0.26;
/** Room for the marks' labels. */
const HEADROOM = 1.16;
/** Steps of an axis of spans, in seconds. */
const SPANS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800];

export default function Plot({ at, series, marks = NONE, label, least = 1, axisText }: { at: readonly number[]; series: readonly Series[]; marks?: readonly Mark[]; label: string; least?: number; axisText?: (value: number) => string }) {
  const frame = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef<Shown>({ at, series, marks });
  latest.current = { at, series, marks };
  const shape = series.map((one) => one.name).join();

  useEffect(() => {
    const element = frame.current!;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(element.clientWidth, latest, tip, least, axisText), dataOf(latest.current), element);
    };
    make();
    const sized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    sized.observe(element);
    const stop = onThemeChange(() => requestAnimationFrame(make));
    return () => {
      stop();
      sized.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(dataOf({ at, series })), [at, series]);
  useEffect(() => plot.current?.redraw(false), [marks]);
  return (
    <div className="relative px-2 pt-2 pb-1" role="img" aria-label={label}>
      <div ref={frame} style={{ height: HEIGHT }} />
      <div ref={tip} hidden className="mono pointer-events-none absolute top-3 z-10 rounded-md border border-line bg-panel px-2.5 py-1.5 whitespace-pre shadow-(--shadow)" />
    </div>
  );
}

const dataOf = ({ at, series }: { at: readonly number[]; series: readonly Series[] }) => [at as number[], ...series.map((one) => one.values as (number | null)[])] as uPlot.AlignedData;

function options(width: number, latest: { current: Shown }, tip: React.RefObject<HTMLDivElement | null>, least: number, axisText = plainNumber): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const hue = (name: string) => style.getPropertyValue(name).trim();
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const axis: uPlot.Axis = { stroke: hue("--faint"), font, grid: { stroke: hue("--line-soft"), width: 1 }, ticks: { show: false }, gap: 4 };
  const strip = latest.current.series.some((one) => one.isRare) ? STRIP : 0;
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 5 }, drag: { x: false, y: false } },
    scales: {
      x: { time: true },
      y: { range: (_, __, top) => { const high = Math.max(least, top * HEADROOM); return [(-high * strip) / (1 - strip), high]; } },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 22, space: 90, values: (_, splits, __, ___, step) => splits.map((one) => (step >= 86_400 ? dayOf(one) : clockMinute(one))) },
      { ...axis, size: 40, space: 40, ...(axisText === plainNumber ? {} : { incrs: SPANS }), filter: (_, splits) => splits.map((one) => (one < 0 ? null : one)), grid: { ...axis.grid, filter: (_: uPlot, splits: number[]) => splits.map((one) => (one < 0 ? null : one)) } as uPlot.Axis.Grid, values: (_, splits) => splits.map((one) => (one === null ? "" : one === 0 ? "0" : axisText(one))) },
    ],
    series: [
      {},
      ...latest.current.series.map((one) => ({
        label: one.name, scale: "y", stroke: hue(one.hue), width: 1.5, points: { show: false }, spanGaps: false,
        ...(one.filled ? { fill: `color-mix(in srgb, ${hue(one.hue)} 14%, transparent)` } : {}),
        // Drawn below, on a scale of its own.
        ...(one.isRare ? { scale: "rare", paths: () => null } : {}),
      })),
    ],
    hooks: {
      draw: [(u) => {
        if (strip) drawRare(u, latest.current.series.filter((one) => one.isRare), hue, font, strip);
        drawMarks(u, latest.current.marks, hue, font);
      }],
      setCursor: [(u) => tell(u, latest.current, tip.current)],
    },
  };
}

const plainNumber = (one: number) => (one >= 1000 ? `${+(one / 1000).toFixed(1)}k` : String(+one.toFixed(1)));

function tell(u: uPlot, { series, marks }: Shown, tip: HTMLDivElement | null): void {
  const place = u.cursor.idx;
  if (!tip) return;
  if (place === null || place === undefined || (u.cursor.left ?? -1) < 0) {
    tip.hidden = true;
    return;
  }
  const at = u.data[0][place]!;
  const step = (u.data[0][1] ?? at) - (u.data[0][0] ?? at);
  const most = Math.max(...series.map((one) => one.name.length));
  const near = marks.filter((one) => one.at >= at && one.at < at + step).map((one) => one.text);
  tip.textContent = [clockTime(at), ...series.map((one) => `${one.name.padEnd(most)}  ${one.text(one.values[place] ?? null)}`), ...near].join("\n");
  tip.hidden = false;
  const left = u.cursor.left! + u.bbox.left / devicePixelRatio + 20;
  tip.style.left = left + tip.offsetWidth > u.width ? `${left - tip.offsetWidth - 28}px` : `${left}px`;
}
