// What every page is made of: a title, a sentence, panels.
import { useEffect, type ReactNode } from "react";
import { words } from "../words";

/** `heading` null: what it holds brings its own. */
export function Page({ title, children, actions, aside, heading }: { title: string; children: ReactNode; actions?: ReactNode; aside?: ReactNode; heading?: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · ${words.product}`;
  }, [title]);
  return (
    <div className="mx-auto flex w-full max-w-[1720px] flex-col gap-4 px-4 pt-4 pb-16 sm:px-6.5">
      {heading !== null && (
        <div className="flex min-h-8 flex-wrap items-center justify-between gap-x-3.5 gap-y-2">
          <div className="flex min-w-0 flex-wrap items-center gap-x-3.5 gap-y-1">
            <h1 tabIndex={-1} className="m-0 min-w-0 text-[17px] leading-6 outline-none">{heading ?? title}</h1>
            {aside}
          </div>
          {actions && <div className="flex max-w-full flex-wrap items-center gap-1.5">{actions}</div>}
        </div>
      )}
      {children}
    </div>
  );
}

export function Panel({ title, aside, actions, children, className = "", label, id }: { title?: ReactNode; aside?: ReactNode; actions?: ReactNode; children: ReactNode; className?: string; label?: string; id?: string }) {
  return (
    <section className={`panel min-w-0 overflow-clip ${className}`} aria-label={label} id={id}>
      {title !== undefined && (
        <header>
          <span className="flex min-w-0 flex-wrap items-baseline gap-x-2.5">
            <h2>{title}</h2>
            {aside && <span className="aside">{aside}</span>}
          </span>
          {actions && <span className="flex min-w-0 flex-wrap items-center gap-1.5 self-center">{actions}</span>}
        </header>
      )}
      {children}
    </section>
  );
}

/** A number that a page answers with, its word above and what explains it beside. */
export function Figure({ label, value, beside, bad, children, title }: { label: string; value: ReactNode; beside?: ReactNode; bad?: boolean; children?: ReactNode; title?: string }) {
  return (
    <div className="flex min-w-0 flex-col px-3.5 pt-3 pb-2.5 max-sm:last:odd:col-span-2" title={title}>
      <div className="text-[12px] text-soft">{label}</div>
      <div className="flex items-baseline gap-x-1.5 overflow-hidden whitespace-nowrap max-sm:flex-wrap">
        <strong className={`text-[24px] leading-8 font-semibold tracking-[-0.02em] tabular-nums ${bad ? "text-dead" : value === words.unknown ? "text-faint font-normal!" : ""}`}>{value}</strong>
        {beside && <small className="truncate text-[12px] text-soft">{beside}</small>}
      </div>
      {/* Courses stand in one line, whatever the words above them need. */}
      <div className="mt-auto">{children}</div>
    </div>
  );
}

export function Figures({ children, label }: { children: ReactNode; label: string }) {
  return (
    <section aria-label={label} className="panel grid grid-cols-2 divide-line-soft overflow-clip sm:grid-cols-3 xl:grid-flow-col xl:auto-cols-fr xl:grid-cols-none xl:divide-x">
      {children}
    </section>
  );
}

/** Pairs of a word and a value. */
export function Facts({ children }: { children: ReactNode }) {
  return <dl className="m-0 grid grid-cols-[max-content_minmax(0,1fr)] text-[13px]">{children}</dl>;
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="border-b border-line-soft py-1.5 pr-4 pl-4 text-soft last-of-type:border-0">{name}</dt>
      <dd className="m-0 min-w-0 truncate border-b border-line-soft py-1.5 pr-4 text-right last-of-type:border-0">{children}</dd>
    </>
  );
}
