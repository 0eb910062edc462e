// Spans as people read them: two units at most, so that a column stays narrow.

const UNKNOWN = "—";

/** 0.4 s, 12 s, 3 m 41 s, 2 h 05 m, 4 d 3 h. `null` cannot be known. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return UNKNOWN;
  if (seconds < 0) return `−${duration(-seconds)}`;
  if (seconds === 0) return "0 s";
  if (seconds < 0.001) return "<1 ms";
  if (seconds < 0.0995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  return long(Math.round(seconds));
}

/** As `duration`, in whole seconds: for what changes each second. */
export function wholeDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return UNKNOWN;
  if (seconds < 0) return `−${wholeDuration(-seconds)}`;
  const whole = Math.floor(seconds);
  return whole < 60 ? `${whole} s` : long(whole);
}

function long(whole: number): string {
  const two = (number: number) => String(number).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)} m ${two(whole % 60)} s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} m`;
  return `${Math.floor(whole / 86_400)} d ${Math.floor((whole % 86_400) / 3600)} h`;
}

/** Seed 002: the seconds that are left, rounded up, and `Overdue` at the end. */
export function secondsLeft(deadline: number, now: number): number {
  return Math.ceil(deadline - now);
}

/** In one unit with its tenths, for narrow columns: 0.2 s, 19 s, 1.8 m. */
export function shortDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return UNKNOWN;
  if (seconds < 59.5) return duration(seconds);
  const [of, unit] = seconds < 3570 ? [seconds / 60, "m"] : seconds < 86_400 ? [seconds / 3600, "h"] : [seconds / 86_400, "d"];
  return `${of < 9.95 ? of.toFixed(1) : Math.round(of)} ${unit}`;
}

/** In one unit, for "2 min ago". */
export function roughly(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return UNKNOWN;
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.round(whole / 60)} min`;
  if (whole < 86_400) return `${Math.round(whole / 3600)} h`;
  return `${Math.round(whole / 86_400)} d`;
}

/** A duration as people type it: 30, 30s, 5m, 1h30m. Null: it is none. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim().toLowerCase();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Number(trimmed);
  const match = /^(?:(\d+)d)?\s*(?:(\d+)h)?\s*(?:(\d+)m)?\s*(?:(\d+(?:\.\d+)?)s)?$/.exec(trimmed);
  if (!match || !trimmed) return null;
  const [, days, hours, minutes, seconds] = match;
  return Number(days ?? 0) * 86_400 + Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
}
