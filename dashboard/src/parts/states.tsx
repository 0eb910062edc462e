// The states in which a page shows no data: empty, loading, and everything that can be wrong.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ApiProblem, troubleOf } from "../api/problem";
import { words } from "../words";
import { CopyButton } from "./copy";
import { Icon } from "./icon";

export function Empty({ title, children, command }: { title: string; children?: ReactNode; command?: string }) {
  return (
    <div className="flex flex-col items-center gap-1.5 px-6 py-12 text-center">
      <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true" className="mb-2 text-faint">
        <circle cx="16" cy="16" r="12" fill="none" stroke="currentColor" strokeWidth="2" strokeDasharray="3 5" strokeLinecap="round" />
      </svg>
      <p className="m-0 font-semibold">{title}</p>
      {children && <p className="m-0 max-w-120 text-soft">{children}</p>}
      {command && (
        <p className="mono m-0 mt-2 flex max-w-full items-center gap-2 rounded-md border border-line bg-ground px-3 py-1.5 text-ink">
          <span className="overflow-x-auto whitespace-pre">{command}</span>
          <CopyButton text={command} />
        </p>
      )}
    </div>
  );
}

/** Grey lines where rows will be: nothing moves when they come. */
export function LoadingRows({ rows = 8 }: { rows?: number }) {
  return (
    <div role="status" aria-label={words.loadingLabel} className="px-4 py-1.5">
      {Array.from({ length: rows }, (_, place) => (
        <div key={place} className="flex h-(--row) items-center gap-6 border-b border-line-soft last:border-0">
          <span className="skeleton breathing" style={{ width: `${18 + ((place * 37) % 14)}%` }} />
          <span className="skeleton breathing ml-auto" style={{ width: "8%" }} />
          <span className="skeleton breathing" style={{ width: "8%" }} />
          <span className="skeleton breathing hidden sm:inline-block" style={{ width: "12%" }} />
        </div>
      ))}
    </div>
  );
}

/** Where a plot will be: nothing moves when it comes. */
export function LoadingPlot() {
  return (
    <div role="status" aria-label={words.loadingLabel} className="flex h-full items-end gap-2 px-4 pb-8">
      {Array.from({ length: 24 }, (_, place) => <span key={place} className="skeleton breathing min-w-0 flex-1" style={{ height: `${22 + ((place * 37) % 29)}%` }} />)}
    </div>
  );
}

/** What went wrong, and what can be done. */
export function TroubleState({ error, retry }: { error: unknown; retry?: () => void }) {
  const trouble = troubleOf(error);
  const problem = error instanceof ApiProblem ? error : null;
  const text = TEXTS[trouble] ?? TEXTS.broken!;
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-12 text-center" role="alert">
      <span className="mb-1 text-soon-ink"><Icon name="warning" size={22} /></span>
      <p className="m-0 text-[15px] font-semibold">{text[0]}</p>
      {problem?.message && <p className="m-0 max-w-140 wrap-anywhere">{sentence(problem.message)}</p>}
      <p className="m-0 max-w-140 text-soft">{problem?.remedy || text[1]}</p>
      {trouble === "broken" && <p className="mono m-0 max-w-full wrap-anywhere text-soft">{problem?.requestId ? words.states_.request(problem.requestId) : String((error as Error)?.message ?? error)}</p>}
      <p className="m-0 mt-2 flex gap-2">
        {retry && <button type="button" className="button" onClick={retry}>{words.states_.retry}</button>}
        {trouble === "missing" && <Link to="/" className="button">{words.states_.toOverview}</Link>}
      </p>
    </div>
  );
}

const TEXTS: Record<string, readonly [string, string]> = {
  login: [words.login.title, ""],
  forbidden: [words.states_.forbidden, ""],
  older: [words.states_.older, words.states_.olderMore],
  missing: [words.states_.missing, words.states_.missingMore],
  disconnected: [words.states_.disconnected, words.states_.disconnectedMore],
  store: [words.states_.store, words.states_.storeMore],
  refused: [words.states_.refused, ""],
  broken: [words.states_.broken, words.states_.brokenMore],
};

export function sentence(text: string): string {
  return text ? text[0]!.toUpperCase() + text.slice(1) + (/[.!?…]$/.test(text) ? "" : ".") : text;
}

/** What a person may not see. */
export function Redacted() {
  return <span className="text-faint italic" title={words.words.hiddenTitle}>{words.words.hidden}</span>;
}
