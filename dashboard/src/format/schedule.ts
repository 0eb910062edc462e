// A schedule in words: "0 3 * * MON-FRI Europe/Berlin" is "every weekday at 03:00 Europe/Berlin". Pure.
//
// What is not of a common form stays the cron line that it is: a wrong sentence is worse than a line.

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const DAY_NAMES = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const MONTH_NAMES = MONTHS.map((name) => name.slice(0, 3).toUpperCase());
const NICKNAMES: Record<string, string> = { "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *" };

export function scheduleInWords(spec: string): string {
  if (/^every /.test(spec)) return intervalInWords(spec);
  const parts = spec.trim().split(/\s+/);
  const line = parts[0]?.startsWith("@") ? [...(NICKNAMES[parts[0]] ?? "").split(" "), ...parts.slice(1)] : parts;
  if (line.length < 5) return spec;
  const [minute, hour, day, month, weekday] = line as [string, string, string, string, string];
  const zone = line.slice(5).join(" ");
  const when = timesOf(minute, hour);
  const which = daysOf(day, month, weekday);
  if (when === null || which === null) return spec;
  const text = when.isTime ? `${which || "every day"} at ${when.text}` : which && which !== "every day" ? `${when.text}, ${which.replace(/^every /, "on every ")}` : when.text;
  // The zone matters only where a time of day is named.
  return when.isTime || which ? `${text}${zone ? ` ${zone}` : ""}` : text;
}

function intervalInWords(spec: string): string {
  const match = /^every ([\d.]+) (s|min|h|d)$/.exec(spec);
  if (!match) return spec;
  const unit = { s: "second", min: "minute", h: "hour", d: "day" }[match[2] as "s"];
  return match[1] === "1" ? `every ${unit}` : `every ${match[1]} ${unit}s`;
}

const isNumber = (text: string) => /^\d+$/.test(text);
const two = (text: string) => text.padStart(2, "0");

function timesOf(minute: string, hour: string): { text: string; isTime: boolean } | null {
  const everyMinutes = /^\*\/(\d+)$/.exec(minute);
  const everyHours = /^\*\/(\d+)$/.exec(hour);
  if (minute === "*" && hour === "*") return { text: "every minute", isTime: false };
  if (everyMinutes && hour === "*") return { text: `every ${everyMinutes[1]} minutes`, isTime: false };
  if (isNumber(minute) && hour === "*") return { text: minute === "0" ? "every hour" : `every hour at :${two(minute)}`, isTime: false };
  if (isNumber(minute) && everyHours) return { text: `every ${everyHours[1]} hours${minute === "0" ? "" : ` at :${two(minute)}`}`, isTime: false };
  const range = /^(\d+)-(\d+)$/.exec(hour);
  if (everyMinutes && range) return { text: `every ${everyMinutes[1]} minutes from ${two(range[1]!)}:00 to ${two(range[2]!)}:59`, isTime: false };
  if (isNumber(minute) && /^\d+(,\d+)*$/.test(hour)) return { text: joined(hour.split(",").map((one) => `${two(one)}:${two(minute)}`)), isTime: true };
  if (isNumber(hour) && /^\d+(,\d+)+$/.test(minute)) return { text: joined(minute.split(",").map((one) => `${two(hour)}:${two(one)}`)), isTime: true };
  return null;
}

function daysOf(day: string, month: string, weekday: string): string | null {
  const months = month === "*" ? "" : monthsOf(month);
  if (months === null) return null;
  const suffix = months ? ` in ${months}` : "";
  if (day === "*" && weekday === "*") return months ? `every day${suffix}` : "";
  if (day !== "*" && weekday !== "*") return null;
  if (weekday !== "*") {
    const days = weekdaysOf(weekday);
    return days === null ? null : `every ${days}${suffix}`;
  }
  if (day === "L") return `the last day of ${months || "every month"}`;
  if (/^\d+(,\d+)*$/.test(day)) return `the ${joined(day.split(",").map(ordinal))} of ${months || "every month"}`;
  return null;
}

function weekdaysOf(field: string): string | null {
  const number = (text: string) => (isNumber(text) ? Number(text) % 7 : DAY_NAMES.indexOf(text.toUpperCase()));
  const upper = field.toUpperCase();
  if (upper === "MON-FRI" || field === "1-5") return "weekday";
  if (upper === "SAT,SUN" || field === "6,0" || field === "0,6" || field === "6,7" || upper === "SAT-SUN" || field === "6-7") return "weekend day";
  const range = /^(\w+)-(\w+)$/.exec(field);
  if (range) {
    const [from, to] = [number(range[1]!), number(range[2]!)];
    return from < 0 || to < 0 ? null : `day from ${DAYS[from]} to ${DAYS[to]}`;
  }
  const all = field.split(",").map(number);
  return all.some((one) => one < 0 || Number.isNaN(one)) || !/^[\w,]+$/.test(field) ? null : joined(all.map((one) => DAYS[one]!));
}

function monthsOf(field: string): string | null {
  const all = field.split(",").map((text) => (isNumber(text) ? Number(text) - 1 : MONTH_NAMES.indexOf(text.toUpperCase())));
  return all.some((one) => one < 0 || one > 11) ? null : joined(all.map((one) => MONTHS[one]!));
}

function ordinal(text: string): string {
  const number = Number(text);
  const ending = number % 100 >= 11 && number % 100 <= 13 ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${number}${ending}`;
}

function joined(all: readonly string[]): string {
  return all.length <= 1 ? (all[0] ?? "") : `${all.slice(0, -1).join(", ")} and ${all[all.length - 1]}`;
}
