// What counts seconds: written straight into the page, so that a thousand countdowns render nothing again.
import { memo, useEffect, useLayoutEffect, useRef, useState } from "react";
import { onTick, serverNow } from "../live/clock";

/** A text that is a function of the server's time. */
export const TickText = memo(function TickText({ of, className, title }: { of: (now: number) => string; className?: string; title?: string }) {
  const element = useRef<HTMLSpanElement>(null);
  const latest = useRef(of);
  latest.current = of;
  useLayoutEffect(() => write(element.current, of(serverNow())));
  useEffect(() => onTick((now) => write(element.current, latest.current(now))), []);
  return <span ref={element} className={className} title={title} />;
});

function write(element: HTMLSpanElement | null, text: string): void {
  if (element && element.textContent !== text) element.textContent = text;
}

/** A bar whose filled part is a function of the server's time, 0 to 1. `mark`: a line in it, 0 to 1. */
export const TickBar = memo(function TickBar({ of, kind, className = "w-24", mark, title, thin, label }: {
  of: (now: number) => number;
  kind?: "soon" | "bad" | "calm" | "" | ((now: number) => string);
  className?: string;
  mark?: number | null;
  title?: string;
  thin?: boolean;
  label?: string;
}) {
  const bar = useRef<HTMLElement>(null);
  const frame = useRef<HTMLSpanElement>(null);
  const latest = useRef({ of, kind });
  latest.current = { of, kind };
  const draw = (now: number) => {
    const part = Math.max(0, Math.min(1, latest.current.of(now)));
    if (bar.current) bar.current.style.transform = `scaleX(${part.toFixed(4)})`;
    const kindNow = typeof latest.current.kind === "function" ? latest.current.kind(now) : (latest.current.kind ?? "");
    if (frame.current && frame.current.dataset["kind"] !== kindNow) {
      frame.current.classList.remove("soon", "bad", "calm");
      if (kindNow) frame.current.classList.add(kindNow);
      frame.current.dataset["kind"] = kindNow;
    }
  };
  useLayoutEffect(() => draw(serverNow()));
  useEffect(() => onTick(draw), []);
  return (
    <span ref={frame} className={`gauge ${thin ? "thin" : ""} ${className}`} title={title} role={label ? "img" : undefined} aria-label={label} aria-hidden={label ? undefined : true}>
      <i ref={bar as React.RefObject<HTMLElement>} />
      {mark !== null && mark !== undefined && <u style={{ left: `calc(${Math.max(0, Math.min(1, mark)) * 100}% - 1px)` }} />}
    </span>
  );
});

/** A bar that does not change by itself. */
export function Gauge({ part, kind, className = "w-16", thin, label, mark }: { part: number | null; kind?: "soon" | "bad" | "calm"; className?: string; thin?: boolean; label: string; mark?: number }) {
  return (
    <span className={`gauge ${thin ? "thin" : ""} ${kind ?? ""} ${className}`} role="img" aria-label={label} title={label}>
      <i style={{ transform: `scaleX(${part === null ? 0 : Math.max(0, Math.min(1, part))})` }} />
      {mark !== undefined && <u style={{ left: `${mark * 100}%` }} />}
    </span>
  );
}

/** The server's time, for what must render again with it. `each`: every so many seconds. */
export function useNow(each = 1): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    let last = serverNow();
    return onTick((moment) => {
      if (moment - last < each - 0.5) return;
      last = moment;
      setNow(moment);
    });
  }, [each]);
  return now;
}
