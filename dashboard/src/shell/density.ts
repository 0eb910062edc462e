// How high rows are: 32 px, or 40 px, as chosen in this browser. Read before the first paint by theme.js.

export type Density = "compact" | "comfortable";
const KEY = "tenure.density";

/** Without a choice rows are low; on a touch screen they are high, which the style sheet says. */
export function currentDensity(): Density {
  const chosen = document.documentElement.dataset["density"];
  if (chosen === "compact" || chosen === "comfortable") return chosen;
  return matchMedia("(pointer: coarse)").matches ? "comfortable" : "compact";
}

export function applyDensity(density: Density): void {
  document.documentElement.dataset["density"] = density;
  try {
    localStorage.setItem(KEY, density);
  } catch {
    // A browser that keeps nothing still shows it until it is closed.
  }
  for (const listener of listeners) listener();
}

export const toggleDensity = () => applyDensity(currentDensity() === "compact" ? "comfortable" : "compact");

const listeners = new Set<() => void>();

export function onDensityChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
