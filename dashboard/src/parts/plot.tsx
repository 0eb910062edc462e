// A plot over time: uPlot, drawn in the hues of the page, with marks for what people and workers did.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import { clockMinute, clockTime, dayOf } from "../format/moment";
import { shortCount } from "../format/number";
import { onThemeChange } from "../shell/theme";

export interface Series {
  name: string;
  /** A custom property of the page, such as `--done`. */
  hue: string;
  values: readonly (number | null)[];
  filled?: boolean;
  /** On a scale of its own, to the right: what is rare beside what is plenty. */
  isRare?: boolean;
  text: (value: number | null) => string;
}

export interface Mark {
  at: number;
  text: string;
}

const HEIGHT = 176;
/** What is rare stays in the lower part of the plot. */
const RARE_ROOM = 2.6;

export default function Plot({ at, series, marks = [], label, least = 1 }: { at: readonly number[]; series: readonly Series[]; marks?: readonly Mark[]; label: string; least?: number }) {
  const frame = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef({ at, series, marks });
  latest.current = { at, series, marks };
  const shape = series.map((one) => one.name).join();

  useEffect(() => {
    const element = frame.current!;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(element.clientWidth, latest, tip, least), dataOf(latest.current), element);
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
  return (
    <div className="relative px-2 pt-2 pb-1" role="img" aria-label={label}>
      <div ref={frame} style={{ height: HEIGHT }} />
      <div ref={tip} hidden className="mono pointer-events-none absolute top-3 z-10 rounded-md border border-line bg-panel px-2.5 py-1.5 whitespace-pre shadow-(--shadow)" />
    </div>
  );
}

const dataOf = ({ at, series }: { at: readonly number[]; series: readonly Series[] }) => [at as number[], ...series.map((one) => one.values as (number | null)[])] as uPlot.AlignedData;

function options(width: number, latest: { current: { at: readonly number[]; series: readonly Series[]; marks: readonly Mark[] } }, tip: React.RefObject<HTMLDivElement | null>, least: number): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const hue = (name: string) => style.getPropertyValue(name).trim();
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const axis: uPlot.Axis = { stroke: hue("--faint"), font, grid: { stroke: hue("--line-soft"), width: 1 }, ticks: { show: false }, gap: 4 };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 5 }, drag: { x: false, y: false } },
    scales: {
      x: { time: true },
      y: { range: (_, __, top) => [0, Math.max(least, top * 1.12)] },
      rare: { range: (_, __, top) => [0, Math.max(4, top * RARE_ROOM)] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 22, space: 90, values: (_, splits, __, ___, step) => splits.map((one) => (step >= 86_400 ? dayOf(one) : clockMinute(one))) },
      { ...axis, size: 40, space: 44, values: (_, splits) => splits.map((one) => (one === 0 ? "0" : one >= 1000 ? `${+(one / 1000).toFixed(1)}k` : String(+one.toFixed(1)))) },
      ...(latest.current.series.some((one) => one.isRare)
        ? [{ ...axis, scale: "rare", side: 1 as const, size: 34, space: 40, grid: { show: false }, values: (_: uPlot, splits: number[]) => splits.map((one) => (Number.isInteger(one) ? shortCount(one) : "")) }]
        : []),
    ],
    series: [
      {},
      ...latest.current.series.map((one) => ({ label: one.name, scale: one.isRare ? "rare" : "y", stroke: hue(one.hue), width: 1.5, points: { show: false }, spanGaps: false, ...(one.filled ? { fill: `color-mix(in srgb, ${hue(one.hue)} 14%, transparent)` } : {}) })),
    ],
    hooks: {
      draw: [(u) => drawMarks(u, latest.current.marks, hue("--faint"), hue("--soft"), font)],
      setCursor: [(u) => tell(u, latest.current.series, tip.current)],
    },
  };
}

function drawMarks(u: uPlot, marks: readonly Mark[], line: string, text: string, font: string): void {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = font.replace("11px", `${11 * ratio}px`);
  ctx.textBaseline = "top";
  let free = -Infinity;
  for (const mark of marks) {
    const x = Math.round(u.valToPos(mark.at, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = line;
    ctx.lineWidth = ratio;
    ctx.setLineDash([2 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const wide = ctx.measureText(mark.text).width;
    const left = x + wide + 8 * ratio > bbox.left + bbox.width ? x - wide - 5 * ratio : x + 5 * ratio;
    if (left < free) continue;
    ctx.fillStyle = text;
    ctx.fillText(mark.text, left, bbox.top + ratio);
    free = left + wide + 8 * ratio;
  }
  ctx.restore();
}

function tell(u: uPlot, series: readonly Series[], tip: HTMLDivElement | null): void {
  const place = u.cursor.idx;
  if (!tip) return;
  if (place === null || place === undefined || (u.cursor.left ?? -1) < 0) {
    tip.hidden = true;
    return;
  }
  const at = u.data[0][place]!;
  const most = Math.max(...series.map((one) => one.name.length));
  tip.textContent = [clockTime(at), ...series.map((one) => `${one.name.padEnd(most)}  ${one.text(one.values[place] ?? null)}`)].join("\n");
  tip.hidden = false;
  const left = u.cursor.left! + u.bbox.left / devicePixelRatio + 20;
  tip.style.left = left + tip.offsetWidth > u.width ? `${left - tip.offsetWidth - 28}px` : `${left}px`;
}
