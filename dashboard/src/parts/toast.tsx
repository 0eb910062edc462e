// What an act came to, said once, at the foot of the page and to screen readers.
import { useSyncExternalStore } from "react";
import { ApiProblem, Disconnected, troubleOf } from "../api/problem";
import { words } from "../words";
import { Icon } from "./icon";
import { sentence } from "./states";

interface Toast {
  id: number;
  text: string;
  isBad: boolean;
}

const SHOWN_MS = 6000;
const BAD_SHOWN_MS = 15_000;
let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function dismiss(id: number): void {
  set(toasts.filter((one) => one.id !== id));
}

export function say(text: string, isBad = false): void {
  const toast = { id: nextId++, text: sentence(text), isBad };
  set([...toasts.slice(-2), toast]);
  setTimeout(() => dismiss(toast.id), isBad ? BAD_SHOWN_MS : SHOWN_MS);
}

export function sayFailed(error: unknown): void {
  const text = troubleOf(error) === "older" ? words.acts.older : error instanceof Disconnected ? words.states_.disconnected : error instanceof ApiProblem ? `${error.message}${error.remedy ? `. ${error.remedy}` : ""}` : String(error);
  say(`${words.acts.failed} ${text}`, true);
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="pointer-events-none fixed right-4 bottom-4 z-40 flex max-w-[min(480px,calc(100vw-32px))] flex-col items-end gap-2" role="status" aria-live="polite">
      {shown.map((one) => (
        <div key={one.id} className={`pointer-events-auto flex items-start gap-3 rounded-[10px] border bg-panel px-4 py-2.5 shadow-(--shadow) ${one.isBad ? "border-dead" : "border-line"}`}>
          <span className={`mt-0.5 ${one.isBad ? "text-dead" : "text-done"}`}><Icon name={one.isBad ? "close" : "tick"} /></span>
          <span className="min-w-0 wrap-anywhere">{one.text}</span>
          <button type="button" className="button quiet icon -my-1 -mr-2" onClick={() => dismiss(one.id)} aria-label={words.words.close}><Icon name="close" size={12} /></button>
        </div>
      ))}
    </div>
  );
}
