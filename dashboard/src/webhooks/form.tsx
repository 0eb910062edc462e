// A dialog that is a form: its fields, and what the server says against them.
import { useId, type ReactNode } from "react";
import { ApiProblem, troubleOf } from "../api/problem";
import { Dialog } from "../parts/dialog";
import { sentence } from "../parts/states";
import { words } from "../words";

export function FormDialog({ id, title, button, isGood = true, isBusy, error, onSend, onClose, children }: {
  id: string;
  title: string;
  button: string;
  isGood?: boolean;
  isBusy: boolean;
  error: unknown;
  onSend: () => void;
  onClose: () => void;
  children: ReactNode;
}) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      busy={isBusy}
      footer={
        <>
          <button type="button" className="button" onClick={onClose} disabled={isBusy}>{words.words.back}</button>
          <button type="submit" form={id} className="button main" disabled={!isGood || isBusy}>{button}</button>
        </>
      }
    >
      <form id={id} className="flex flex-col gap-3" onSubmit={(event) => { event.preventDefault(); if (isGood && !isBusy) onSend(); }}>
        {children}
        <p role="alert" className={`m-0 wrap-anywhere text-dead ${error ? "" : "hidden"}`}>{error ? refusal(error) : ""}</p>
      </form>
    </Dialog>
  );
}

function refusal(error: unknown): string {
  if (troubleOf(error) === "disconnected") return words.states_.disconnected;
  if (troubleOf(error) === "older") return `${words.acts.failed} ${words.acts.older}`;
  return error instanceof ApiProblem ? `${sentence(error.message)}${error.remedy ? ` ${sentence(error.remedy)}` : ""}` : String(error);
}

/** One line of text with its name above and what it takes below. */
export function TextField({ label, hint, value, onChange, isMono, ...more }: { label: string; hint?: string; value: string; onChange: (value: string) => void; isMono?: boolean; placeholder?: string; required?: boolean; autoFocus?: boolean; maxLength?: number }) {
  const id = useId();
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-[12px] text-soft">{label}</label>
      <input id={id} className={`field ${isMono ? "mono" : ""}`} value={value} spellCheck={false} autoComplete="off" aria-describedby={hint && `${id}-hint`} onChange={(event) => onChange(event.target.value)} {...more} />
      {hint && <span id={`${id}-hint`} className="text-[12px] text-faint">{hint}</span>}
    </div>
  );
}
