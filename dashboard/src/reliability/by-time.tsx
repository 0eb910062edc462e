// Reliability by hour of the last day, or by day of the last week: a row of bars for each thing that can happen.
import { useQuery } from "@tanstack/react-query";
import { figures } from "../api/queries";
import type { Point } from "../api/schema";
import { clockMinute, dayOf } from "../format/moment";
import { count } from "../format/number";
import { Choice } from "../parts/choice";
import { words } from "../words";
import { COURSES, type Course } from "./came-back";

const W = words.reliability;
const SPANS = { hour: { seconds: 86_400, step: 3600 }, day: { seconds: 7 * 86_400, step: 86_400 } } as const;
export type By = keyof typeof SPANS;

export function ByTime({ queue, task, by, onBy }: { queue?: string; task?: string; by: By; onBy: (by: By) => void }) {
  const { data } = useQuery(figures({ ...SPANS[by], queue, task }));
  const points = data?.points ?? [];
  const when = by === "hour" ? clockMinute : dayOf;
  return (
    <section aria-label={W.byTime} className="border-t border-line-soft px-4 pt-2.5 pb-3">
      <div className="mb-1.5 flex items-center justify-between gap-3">
        <h3 className="m-0 text-[12px] font-normal text-soft">{W.byTime}</h3>
        <Choice label={W.byTime} value={by} options={[["hour", W.byHour], ["day", W.byDay]]} onChange={onBy} />
      </div>
      <div className="grid grid-cols-[minmax(88px,168px)_minmax(0,1fr)_minmax(48px,max-content)] items-end gap-x-4">
        {COURSES.map((course) => <Row key={course.key} course={course} points={points} when={when} />)}
        <span />
        <span className="flex justify-between pt-1 text-[11px] text-faint tabular-nums" aria-hidden="true">
          {points.length > 1 && [0, Math.floor(points.length / 2), points.length - 1].map((place) => <span key={place}>{when(points[place]!.at)}</span>)}
        </span>
        <span />
      </div>
    </section>
  );
}

function Row({ course, points, when }: { course: Course; points: readonly Point[]; when: (at: number) => string }) {
  const values = points.map((one) => course.of(one.figures));
  const sum = values.reduce((all, one) => all + one, 0);
  const top = Math.max(1, ...values);
  const step = 100 / Math.max(1, values.length);
  return (
    <>
      <span className={`flex h-7 items-end truncate leading-5 ${sum ? "" : "text-faint"}`}>{course.name}</span>
      <svg viewBox="0 0 100 24" preserveAspectRatio="none" className={`block h-7 w-full ${course.isBad ? "text-soon" : "text-calm-fill"} ${course.key === "dead" ? "text-dead-fill!" : ""}`} role="img" aria-label={`${course.name}: ${count(sum)}`}>
        <path d="M0 23.5h100" stroke="var(--line)" strokeWidth="1" vectorEffect="non-scaling-stroke" />
        {values.map((one, place) => {
          const high = one ? Math.max(2.5, (one / top) * 20) : 0;
          return (
            <g key={place}>
              <title>{`${when(points[place]!.at)}: ${count(one)}`}</title>
              <rect x={place * step} width={step} y="0" height="24" fill="transparent" />
              {high > 0 && <rect x={place * step + step * 0.14} width={step * 0.72} y={23 - high} height={high} fill="currentColor" />}
            </g>
          );
        })}
      </svg>
      <span className={`number flex h-7 items-end justify-end leading-5 ${sum ? "" : "text-faint"}`}>{points.length ? count(sum) : words.loading}</span>
    </>
  );
}
