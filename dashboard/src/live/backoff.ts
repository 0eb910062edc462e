// How long to wait before the next try: longer each time, never all browsers at once.

const FIRST_MS = 1000;
const LONGEST_MS = 15_000;

export function backoffMs(tries: number, random: () => number = Math.random): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(tries, 10));
  return full * (0.6 + 0.4 * random());
}
