// A table: rows of one height, only those in view are in the page, order changes only with its data.
//
// Rows are links to a side panel or a page: Enter and click open one, the arrow keys move between them.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { words } from "../words";

export interface Column<Row> {
  key: string;
  title: ReactNode;
  /** As in CSS; without one it shares what is left. */
  width?: string;
  isNumber?: boolean;
  /** Where there is little room it is left out: `sm` from 520 px of the table on, `2xl` from 1240 px on. */
  from?: "sm" | "md" | "lg" | "xl" | "2xl";
  cell: (row: Row) => ReactNode;
  hint?: string;
}

export interface Section<Row> {
  key: string;
  title?: ReactNode;
  kind?: "bad" | "soon" | "";
  rows: readonly Row[];
}

const FROM = { sm: "@max-[520px]:hidden", md: "@max-[680px]:hidden", lg: "@max-[860px]:hidden", xl: "@max-[1020px]:hidden", "2xl": "@max-[1240px]:hidden" } as const;
/** Fewer rows are simply there: they can be found by the browser, and printed. */
const VIRTUAL_FROM = 120;

type Line<Row> = { section: Section<Row>; row?: undefined } | { section: Section<Row>; row: Row };

export function DataTable<Row>({ columns, sections, rowKey, onOpen, openKey, label, chosen, onChoose, foot }: {
  columns: readonly Column<Row>[];
  sections: readonly Section<Row>[];
  rowKey: (row: Row) => string;
  onOpen?: (row: Row) => void;
  openKey?: string | null;
  label: string;
  chosen?: ReadonlySet<string>;
  onChoose?: (keys: ReadonlySet<string>) => void;
  foot?: ReactNode;
}) {
  const lines: Line<Row>[] = sections.flatMap((section) => [
    ...(section.title === undefined ? [] : [{ section }]),
    ...section.rows.map((row) => ({ section, row })),
  ]);
  const isVirtual = lines.length > VIRTUAL_FROM;
  const body = useRef<HTMLTableSectionElement>(null);
  const rowHeight = useRowHeight();
  const [margin, setMargin] = useState(0);
  const scroller = () => document.getElementById("content");
  useLayoutEffect(() => {
    const content = scroller();
    if (!content || !body.current) return;
    const next = body.current.getBoundingClientRect().top - content.getBoundingClientRect().top + content.scrollTop;
    if (Math.abs(next - margin) > 1) setMargin(next);
  });
  const virtual = useVirtualizer({
    count: isVirtual ? lines.length : 0,
    getScrollElement: scroller,
    estimateSize: (place) => (lines[place]?.row === undefined ? 31 : rowHeight + 1),
    getItemKey: (place) => {
      const line = lines[place];
      return line?.row === undefined ? `:${line?.section.key}` : rowKey(line.row);
    },
    overscan: 12,
    scrollMargin: margin,
  });
  useEffect(() => virtual.measure(), [rowHeight, virtual]);
  const items = isVirtual ? virtual.getVirtualItems() : null;
  const before = items?.length ? items[0]!.start - margin : 0;
  const after = items?.length ? virtual.getTotalSize() - (items[items.length - 1]!.end - margin) : 0;
  const shown = items ? items.map((item) => ({ line: lines[item.index]!, place: item.index })) : lines.map((line, place) => ({ line, place }));
  const all = sections.flatMap((section) => section.rows.map(rowKey));
  const isAllChosen = !!chosen && all.length > 0 && all.every((key) => chosen.has(key));

  const choose = (key: string) => {
    const next = new Set(chosen);
    if (!next.delete(key)) next.add(key);
    onChoose?.(next);
  };
  // A cell that spanned hidden columns would make room for them: it spans those that are always there.
  const width = columns.filter((column) => !column.from).length + (onChoose ? 1 : 0);
  const rest = columns.filter((column) => column.from);
  return (
    <div className="@container overflow-x-auto">
      <table className="grid-table" aria-label={label} aria-rowcount={lines.length + 1} onKeyDown={moveByArrows}>
        <colgroup>
          {onChoose && <col style={{ width: "40px" }} />}
          {columns.map((column) => (
            <col key={column.key} className={column.from && FROM[column.from]} style={{ width: column.width }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {onChoose && (
              <th scope="col"><input type="checkbox" className="block" checked={isAllChosen} aria-label={words.words.selectAll} onChange={() => onChoose(isAllChosen ? new Set() : new Set(all))} /></th>
            )}
            {columns.map((column) => (
              <th key={column.key} scope="col" className={`${column.isNumber ? "number" : ""} ${column.from ? FROM[column.from] : ""}`} title={column.hint}>{column.title}</th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {before > 0 && <tr aria-hidden="true"><td colSpan={width} style={{ height: before, padding: 0, border: 0 }} /></tr>}
          {shown.map(({ line, place }) => {
            if (line.row === undefined) {
              return (
                <tr key={`:${line.section.key}`} className={`section ${line.section.kind ?? ""}`}>
                  <td colSpan={width} className="relative z-1 overflow-visible!"><span className="inline-block max-w-[calc(100cqw-28px)] truncate align-middle">{line.section.title}</span></td>
                  {rest.map((column) => <td key={column.key} className={FROM[column.from!]} />)}
                </tr>
              );
            }
            const row = line.row;
            const key = rowKey(row);
            const open = onOpen && (() => onOpen(row));
            return (
              <tr
                key={key}
                aria-rowindex={place + 2}
                className={`${open ? "opens" : ""} ${openKey === key ? "is-open" : ""} ${chosen?.has(key) ? "is-chosen" : ""}`}
                tabIndex={open ? 0 : undefined}
                data-row={open ? "" : undefined}
                aria-current={openKey === key || undefined}
                onClick={open && ((event) => {
                  if (!(event.target as HTMLElement).closest("a, button, input") && !window.getSelection()?.toString()) open();
                })}
                onKeyDown={open && ((event) => {
                  if (event.key === "Enter" && event.target === event.currentTarget) open();
                  if (event.key === " " && event.target === event.currentTarget && onChoose) {
                    event.preventDefault();
                    choose(key);
                  }
                })}
              >
                {onChoose && (
                  <td className="text-clip!"><input type="checkbox" className="block" checked={chosen?.has(key) ?? false} aria-label={words.words.select(key)} onChange={() => choose(key)} /></td>
                )}
                {columns.map((column) => (
                  <td key={column.key} className={`${column.isNumber ? "number" : ""} ${column.from ? FROM[column.from] : ""}`}>{column.cell(row)}</td>
                ))}
              </tr>
            );
          })}
          {after > 0 && <tr aria-hidden="true"><td colSpan={width} style={{ height: after, padding: 0, border: 0 }} /></tr>}
        </tbody>
      </table>
      {foot}
    </div>
  );
}

function moveByArrows(event: KeyboardEvent<HTMLTableElement>): void {
  const target = event.target as HTMLElement;
  if (!target.hasAttribute("data-row") || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
  let next = event.key === "ArrowDown" ? target.nextElementSibling : target.previousElementSibling;
  while (next && !next.hasAttribute("data-row")) next = event.key === "ArrowDown" ? next.nextElementSibling : next.previousElementSibling;
  if (!next) return;
  event.preventDefault();
  (next as HTMLElement).focus();
  next.scrollIntoView({ block: "nearest" });
}

function useRowHeight(): number {
  const [height, setHeight] = useState(32);
  useLayoutEffect(() => {
    const read = () => setHeight(parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 32);
    read();
    const observer = new MutationObserver(read);
    observer.observe(document.documentElement, { attributeFilter: ["data-density"] });
    return () => observer.disconnect();
  }, []);
  return height;
}
