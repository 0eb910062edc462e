// A course in the size of a word. The scale begins at 0, and a line of only zeros lies at the bottom.

export function Sparkline({ values, className = "h-4.5 w-21", hue = "text-soft", filled, label, least = 1 }: {
  values: readonly (number | null)[];
  className?: string;
  hue?: string;
  filled?: boolean;
  label: string;
  /** The scale's top is no lower than this: noise of a quiet queue is no mountain. */
  least?: number;
}) {
  const width = 100;
  const height = 24;
  if (values.length < 2) return <span className={`inline-block ${className}`} role="img" aria-label={label} />;
  const top = Math.max(least, ...values.map((one) => one ?? 0));
  const points = values.map((one, place) => [(place * width) / (values.length - 1), height - 1.5 - ((one ?? 0) / top) * (height - 4)] as const);
  const line = points.map(([x, y], place) => `${place ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  return (
    <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" className={`block ${className} ${hue}`} role="img" aria-label={label}>
      {filled && <path d={`${line}L${width} ${height}L0 ${height}Z`} fill="currentColor" opacity="0.12" />}
      <path d={line} fill="none" stroke="currentColor" strokeWidth="1.4" vectorEffect="non-scaling-stroke" strokeLinejoin="round" />
    </svg>
  );
}
/** Counts as bars: for what happens now and then. */
export function Bars({ values, className = "h-5 w-24", hue = "text-dead", label }: { values: readonly number[]; className?: string; hue?: string; label: string }) {
  const top = Math.max(1, ...values);
  const step = 100 / Math.max(1, values.length);
  return (
    <svg viewBox="0 0 100 24" preserveAspectRatio="none" className={`block ${className} ${hue}`} role="img" aria-label={label}>
      <path d="M0 23.5h100" stroke="var(--line)" strokeWidth="1" vectorEffect="non-scaling-stroke" />
      {values.map((one, place) => {
        const high = one ? Math.max(2, (one / top) * 22) : 0;
        return high ? <rect key={place} x={place * step + step * 0.12} width={step * 0.76} y={23 - high} height={high} fill="currentColor" /> : null;
      })}
    </svg>
  );
}
