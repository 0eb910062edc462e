// What a plot draws by itself: the strip of rare things, and the marks.
import type uPlot from "uplot";
import { shortCount } from "../format/number";
import type { Mark } from "../overview/marks";

interface Rare {
  hue: string;
  values: readonly (number | null)[];
}

/** Nothing that happened is too little to be seen. */
const LEAST_HIGH = 3;
/** Of the strip, what stays free above its highest bar. */
const GAP = 0.4;

/** Bars below the plot's own zero, stacked; the number beside them is what the highest stands for. */
export function drawRare(u: uPlot, series: readonly Rare[], hue: (name: string) => string, font: string, strip: number): void {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  const at = u.data[0];
  const sums = at.map((_, place) => series.reduce((sum, one) => sum + (one.values[place] ?? 0), 0));
  const top = Math.max(1, ...sums);
  const room = bbox.height * strip * (1 - GAP);
  const floor = bbox.top + bbox.height;
  const step = at.length > 1 ? u.valToPos(at[1]!, "x", true) - u.valToPos(at[0]!, "x", true) : 8 * ratio;
  const wide = Math.max(ratio, Math.min(step * 0.62, 10 * ratio));
  ctx.save();
  for (let place = 0; place < at.length; place += 1) {
    const x = u.valToPos(at[place]!, "x", true) - wide / 2;
    let y = floor;
    for (const one of [...series].reverse()) {
      const value = one.values[place] ?? 0;
      if (!value) continue;
      const high = Math.max(LEAST_HIGH * ratio, (value / top) * room);
      ctx.fillStyle = hue(one.hue);
      const left = Math.max(bbox.left, x);
      ctx.fillRect(left, y - high, x + wide - left, high);
      y -= high;
    }
  }
  if (sums.some(Boolean)) {
    ctx.font = font.replace("11px", `${11 * ratio}px`);
    ctx.fillStyle = hue("--faint");
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    ctx.fillText(shortCount(Math.round(top)), bbox.left - 8 * ratio, floor - room + 3 * ratio);
  }
  ctx.restore();
}

export function drawMarks(u: uPlot, marks: readonly Mark[], hue: (name: string) => string, font: string): void {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  const shown = marks.map((mark) => ({ ...mark, x: Math.round(u.valToPos(mark.at, "x", true)) })).filter(({ x }) => x >= bbox.left && x <= bbox.left + bbox.width);
  ctx.save();
  ctx.font = font.replace("11px", `${11 * ratio}px`);
  ctx.textAlign = "left";
  ctx.textBaseline = "top";
  ctx.strokeStyle = hue("--faint");
  ctx.lineWidth = ratio;
  ctx.setLineDash([2 * ratio, 3 * ratio]);
  for (const { x } of shown) {
    ctx.beginPath();
    ctx.moveTo(x + 0.5, bbox.top);
    ctx.lineTo(x + 0.5, bbox.top + bbox.height);
    ctx.stroke();
  }
  // Labels lie above the lines; one for which there is no room is told under the pointer.
  let free = -Infinity;
  for (const { x, text } of shown) {
    const wide = ctx.measureText(text).width;
    const left = x + wide + 8 * ratio > bbox.left + bbox.width ? x - wide - 5 * ratio : x + 5 * ratio;
    if (left < free) continue;
    ctx.fillStyle = hue("--panel");
    ctx.fillRect(left - 2 * ratio, bbox.top, wide + 4 * ratio, 15 * ratio);
    ctx.fillStyle = hue("--soft");
    ctx.fillText(text, left, bbox.top + 2 * ratio);
    free = left + wide + 8 * ratio;
  }
  ctx.restore();
}
