// Numbers as people read them. `null` cannot be known and is a dash; 0 is 0.

const UNKNOWN = "—";
const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-GB", { notation: "compact", maximumFractionDigits: 1 });

export type Maybe = number | null | undefined;

const isKnown = (value: Maybe): value is number => value !== null && value !== undefined && Number.isFinite(value);

/** 1,284; with a sign before a guess. */
export function count(value: Maybe, isGuess = false): string {
  return isKnown(value) ? `${isGuess ? "≈ " : ""}${whole.format(value)}` : UNKNOWN;
}

/** 1.3K, 12M: where there is little room. */
export function shortCount(value: Maybe): string {
  if (!isKnown(value)) return UNKNOWN;
  return value < 10_000 ? whole.format(value) : short.format(value);
}

/** 312, 18.2, 0.4: a rate a second. */
export function rate(value: Maybe): string {
  if (!isKnown(value)) return UNKNOWN;
  if (value === 0) return "0";
  if (value < 0.05) return "<0.1";
  return value < 99.5 ? value.toFixed(1) : whole.format(value);
}

/** 0.4 %, 12 %, 100 %. */
export function share(value: Maybe): string {
  if (!isKnown(value)) return UNKNOWN;
  const percent = value * 100;
  if (percent === 0) return "0 %";
  if (percent < 0.1) return "<0.1 %";
  if (value >= 10) return `${whole.format(value)} ×`;
  return percent < 9.95 ? `${percent.toFixed(1)} %` : `${Math.round(percent)} %`;
}

/** 12 %, 150 %: what is given in percent already. */
export function percent(value: Maybe): string {
  if (!isKnown(value)) return UNKNOWN;
  return value > 0 && value < 0.5 ? "<1 %" : `${whole.format(value)} %`;
}

/** 0, 0.4, 12, 1,200: a number a minute. */
export function perMinute(value: Maybe): string {
  if (!isKnown(value)) return UNKNOWN;
  return value > 0 && value < 9.95 ? value.toFixed(1) : whole.format(value);
}

export function bytes(value: Maybe): string {
  if (!isKnown(value)) return UNKNOWN;
  if (value < 1000) return `${value} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let left = value / 1000;
  let unit = 0;
  while (left >= 999.5 && unit < units.length - 1) {
    left /= 1000;
    unit += 1;
  }
  return `${left < 9.95 ? left.toFixed(1) : Math.round(left)} ${units[unit]}`;
}

export function plural(number: number, one: string, many = `${one}s`): string {
  return `${whole.format(number)} ${number === 1 ? one : many}`;
}
