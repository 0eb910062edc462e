// Copies a text, also on plain HTTP, where browsers have no clipboard API.
import { useEffect, useState } from "react";
import { words } from "../words";
import { Icon } from "./icon";

export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard && window.isSecureContext) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Refused by the browser's settings: the other way may still work.
    }
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.readOnly = true;
  area.style.position = "fixed";
  area.style.opacity = "0";
  // In a dialog, what lies outside of it cannot be selected.
  const dialogs = document.querySelectorAll("dialog[open]");
  const parent = dialogs[dialogs.length - 1] ?? document.body;
  const before = document.activeElement as HTMLElement | null;
  parent.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  before?.focus?.();
  return isDone;
}

export function CopyButton({ text, label = words.words.copy, wide }: { text: string | (() => string); label?: string; wide?: boolean }) {
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    if (!isDone) return;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [isDone]);
  const copy = async (event: React.MouseEvent) => {
    event.stopPropagation();
    setDone(await copyText(typeof text === "string" ? text : text()));
  };
  return (
    <button type="button" className={wide ? "button quiet" : "button quiet icon"} onClick={copy} title={label} aria-label={isDone ? words.words.copied : label}>
      <Icon name={isDone ? "tick" : "copy"} />
      {wide && (isDone ? words.words.copied : label)}
    </button>
  );
}
