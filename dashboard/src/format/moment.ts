// Moments: local time, with UTC for the title that a pointer or a screen reader finds.

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minute = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const dayYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

const dateOf = (seconds: number) => new Date(seconds * 1000);

/** 14:32:07 of today, 17 Nov 14:32 of this year, else with its year. */
export function moment(seconds: number | null | undefined, now: number): string {
  if (seconds === null || seconds === undefined) return "—";
  const [date, today] = [dateOf(seconds), dateOf(now)];
  if (date.toDateString() === today.toDateString()) return clock.format(date);
  if (date.getFullYear() === today.getFullYear()) return `${day.format(date)} ${minute.format(date)}`;
  return dayYear.format(date);
}

export const clockTime = (seconds: number) => clock.format(dateOf(seconds));
export const clockMinute = (seconds: number) => minute.format(dateOf(seconds));

/** 14:01:12.204 */
export function exactTime(seconds: number): string {
  // Rounded first: 7.2 s may be kept as 7.1999.
  const milliseconds = Math.round(seconds * 1000);
  return `${clock.format(new Date(milliseconds))}.${String(milliseconds % 1000).padStart(3, "0")}`;
}

export const dayOf = (seconds: number) => day.format(dateOf(seconds));

export function isSameDay(one: number, other: number): boolean {
  return dateOf(one).toDateString() === dateOf(other).toDateString();
}

/** 2026-11-17 14:32:07 UTC */
export function utc(seconds: number): string {
  return `${dateOf(seconds).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function localMidnight(now: number): number {
  const date = dateOf(now);
  date.setHours(0, 0, 0, 0);
  return date.getTime() / 1000;
}

/** For an input of type datetime-local. */
export function inputTime(seconds: number): string {
  const date = dateOf(seconds);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
