// The few icons that there are, as strokes of one weight.

const PATHS = {
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "m3.5 3.5 9 9m0-9-9 9",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9m3.4 7.9 3.1 3.1",
  copy: "M5.5 5.5h7v8h-7zM10.5 5.5v-3h-7v8h2",
  tick: "m3 8.5 3.2 3.2L13 4.5",
  expand: "M6 2.5H2.5V6M10 2.5h3.5V6M6 13.5H2.5V10m7.5 3.5h3.5V10",
  pause: "M5.5 3v10m5-10v10",
  play: "M5 3v10l8-5z",
  down: "m4 6 4 4 4-4",
  right: "m6 4 4 4-4 4",
  keyboard: "M1.5 4h13v8h-13zM4 6.5h.01M6.5 6.5h.01M9 6.5h.01M11.5 6.5h.01M4.5 9.5h7",
  warning: "M8 2.2 14.2 13H1.8zM8 6.5v3M8 11.2v.1",
  to: "M3 8h10M9.5 4.5 13 8l-3.5 3.5",
  note: "M8 7.2v4M8 4.6v.1M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8",
  lines: "M2.5 3h11M2.5 6.33h11M2.5 9.67h11M2.5 13h11",
  rows: "M2.5 3.5h11M2.5 8h11M2.5 12.5h11",
  external: "M6 3H3v10h10v-3M9 3h4v4m0-4L7.5 8.5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 14 }: { name: IconName; size?: number }) {
  return (
    <svg viewBox="0 0 16 16" width={size} height={size} aria-hidden="true" className="shrink-0" fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" strokeLinejoin="round">
      <path d={PATHS[name]} />
    </svg>
  );
}
