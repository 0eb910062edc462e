// What an older server lacks: a route that it does not know hides its column or its act, quietly, until the page is
// loaded anew.
import { useSyncExternalStore } from "react";
import { troubleOf } from "./problem";

export type Feature = "touch" | "run-now" | "children" | "drain" | "scaling" | "timing" | "findings";

const missing = new Set<Feature>();
const listeners = new Set<() => void>();

function isMissing(feature: Feature, error: unknown): boolean {
  if (troubleOf(error) !== "older") return false;
  missing.add(feature);
  for (const listener of listeners) listener();
  return true;
}

/** The answer; null: the server does not know the route. */
export async function orNothing<T>(feature: Feature, asking: Promise<T>): Promise<T | null> {
  try {
    return await asking;
  } catch (error) {
    if (isMissing(feature, error)) return null;
    throw error;
  }
}

/** As it is, and remembered where the server does not know the route. */
export async function noticing<T>(feature: Feature, doing: Promise<T>): Promise<T> {
  try {
    return await doing;
  } catch (error) {
    isMissing(feature, error);
    throw error;
  }
}

/** Whether the server may have it: not yet asked counts as yes. */
export function useHas(feature: Feature): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => !missing.has(feature),
  );
}
