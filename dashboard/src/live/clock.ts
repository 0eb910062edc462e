// The server's clock, and one timer for everything that counts seconds.
//
// Every answer that carries the server's time sets the clock; between answers it runs by `performance.now()`, which no
// change of the machine's own clock moves. All countdowns hang on one timer, and only while the page is visible.

let offset = Date.now() / 1000 - performance.now() / 1000;
let isKnown = false;
let updatedAt: number | null = null;

const monotonic = () => performance.now() / 1000;

/** An answer of just now said that it is this late. Answers take time, so the latest clock wins but for a moment. */
export function seen(serverNow: number): void {
  const found = serverNow - monotonic();
  if (!isKnown || Math.abs(found - offset) > 2 || found > offset) offset = found;
  else offset += (found - offset) * 0.2;
  isKnown = true;
}

/** Unix seconds by the server's clock. */
export function serverNow(): number {
  return offset + monotonic();
}

/** Live data came in. */
export function refreshed(): void {
  updatedAt = monotonic();
}

/** Seconds since live data last came in; null: there was none yet. */
export function dataAge(): number | null {
  return updatedAt === null ? null : monotonic() - updatedAt;
}

type Tick = (now: number) => void;

const listeners = new Set<Tick>();
let timer: ReturnType<typeof setTimeout> | null = null;

function beat(): void {
  timer = null;
  const now = serverNow();
  for (const listener of listeners) listener(now);
  plan();
}

function plan(): void {
  if (timer !== null || !listeners.size || (typeof document !== "undefined" && document.hidden)) return;
  // On the second, so that every countdown changes at once.
  timer = setTimeout(beat, 1000 - ((serverNow() * 1000) % 1000) + 5);
}

/** Call once a second while the page is visible; returns how to stop. */
export function onTick(listener: Tick): () => void {
  listeners.add(listener);
  plan();
  return () => {
    listeners.delete(listener);
    if (!listeners.size && timer !== null) {
      clearTimeout(timer);
      timer = null;
    }
  };
}

if (typeof document !== "undefined") {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || !listeners.size) return;
    if (timer !== null) clearTimeout(timer);
    timer = null;
    beat();
  });
}
