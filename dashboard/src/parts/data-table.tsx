// A table: rows of one height, only those in view are in the page, order changes only with its data.
//
// Rows are links to a side panel or a page: Enter and click open one, the arrow keys move between them.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { words } from "../words";
import { Icon } from "./icon";
import { nextSort, type Sort } from "./sorting";

export interface Column<Row> {
  key: string;
  title: ReactNode;
  /** As in CSS; without one it shares what is left. */
  width?: string;
  isNumber?: boolean;
  /** Where there is little room it is left out: `sm` from 520 px of the table on, `2xl` from 1240 px on. */
  from?: "sm" | "md" | "lg" | "xl" | "2xl";
  /** Only where there is less room than this. */
  until?: "sm";
  cell: (row: Row) => ReactNode;
  /** With it, a click on its head sorts by it, where the table can be sorted. */
  sortBy?: (row: Row) => number | string | null | undefined;
  hint?: string;
}

export interface Section<Row> {
  key: string;
  title?: ReactNode;
  kind?: "bad" | "soon" | "";
  rows: readonly Row[];
}

const FROM = { sm: "@max-[520px]:hidden", md: "@max-[680px]:hidden", lg: "@max-[860px]:hidden", xl: "@max-[1020px]:hidden", "2xl": "@max-[1240px]:hidden" } as const;

function shownFrom({ from, until }: { from?: keyof typeof FROM; until?: "sm" }): string {
  return from ? FROM[from] : until ? "@min-[521px]:hidden" : "";
}

/** Fewer rows are simply there: they can be found by the browser, and printed. */
const VIRTUAL_FROM = 120;

type Line<Row> = { section: Section<Row>; row?: undefined } | { section: Section<Row>; row: Row };

/** The virtualizer measures every line anew where this is another function. */
const placeAsKey = (place: number) => place;

const lineCount = <Row,>(section: Section<Row>) => section.rows.length + (section.title === undefined ? 0 : 1);

/** What stands at a place; no list of all lines is made, for there may be 100,000. */
function lineAt<Row>(sections: readonly Section<Row>[], place: number): Line<Row> | undefined {
  for (const section of sections) {
    const count = lineCount(section);
    if (place < count) {
      const at = place - (count - section.rows.length);
      return at < 0 ? { section } : { section, row: section.rows[at]! };
    }
    place -= count;
  }
  return undefined;
}

export function DataTable<Row>({ columns, sections, rowKey, onOpen, openKey, label, chosen, onChoose, foot, sort = null, onSort }: {
  columns: readonly Column<Row>[];
  sections: readonly Section<Row>[];
  rowKey: (row: Row) => string;
  onOpen?: (row: Row) => void;
  openKey?: string | null;
  label: string;
  chosen?: ReadonlySet<string>;
  onChoose?: (keys: ReadonlySet<string>) => void;
  foot?: ReactNode;
  sort?: Sort | null;
  onSort?: (sort: string | undefined) => void;
}) {
  const total = sections.reduce((sum, section) => sum + lineCount(section), 0);
  const isVirtual = total > VIRTUAL_FROM;
  const shape = isVirtual ? sections.map(lineCount).join() : "";
  const body = useRef<HTMLTableSectionElement>(null);
  const rowHeight = useRowHeight();
  const [margin, setMargin] = useState(0);
  const scroller = () => document.getElementById("content");
  useLayoutEffect(() => {
    const content = scroller();
    // Measuring makes the browser lay out the page at once: only where the place counts.
    if (!isVirtual || !content || !body.current) return;
    const next = body.current.getBoundingClientRect().top - content.getBoundingClientRect().top + content.scrollTop;
    if (Math.abs(next - margin) > 1) setMargin(next);
  });
  const virtual = useVirtualizer({
    count: isVirtual ? total : 0,
    getScrollElement: scroller,
    estimateSize: (place) => (lineAt(sections, place)?.row === undefined ? 31 : rowHeight + 1),
    getItemKey: placeAsKey,
    overscan: 12,
    scrollMargin: margin,
  });
  useEffect(() => virtual.measure(), [rowHeight, shape, virtual]);
  const items = isVirtual ? virtual.getVirtualItems() : null;
  const before = items?.length ? items[0]!.start - margin : 0;
  const after = items?.length ? virtual.getTotalSize() - (items[items.length - 1]!.end - margin) : 0;
  const places = items ? items.map((item) => item.index) : Array.from({ length: total }, (_, place) => place);
  const isAllChosen = !!chosen && chosen.size > 0 && sections.every((section) => section.rows.every((row) => chosen.has(rowKey(row))));
  const chooseAll = () => onChoose?.(isAllChosen ? new Set() : new Set(sections.flatMap((section) => section.rows.map(rowKey))));

  const choose = (key: string) => {
    const next = new Set(chosen);
    if (!next.delete(key)) next.add(key);
    onChoose?.(next);
  };
  // A cell that spanned hidden columns would make room for them: it spans those that are always there.
  const width = columns.filter((column) => !column.from && !column.until).length + (onChoose ? 1 : 0);
  const rest = columns.filter((column) => column.from ?? column.until);
  return (
    <div className="@container">
      <table className="grid-table sticky-head" aria-label={label} aria-rowcount={total + 1} onKeyDown={moveByArrows}>
        <colgroup>
          {onChoose && <col style={{ width: "40px" }} />}
          {columns.map((column) => (
            <col key={column.key} className={shownFrom(column)} style={{ width: column.width }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {onChoose && (
              <th scope="col"><input type="checkbox" className="block" checked={isAllChosen} aria-label={words.words.selectAll} onChange={chooseAll} /></th>
            )}
            {columns.map((column) => (
              <th key={column.key} scope="col" className={`${column.isNumber ? "number" : ""} ${shownFrom(column)}`} title={column.hint} aria-sort={ariaSort(column, sort, sections[0]?.rows[0])}>
                {onSort && column.sortBy ? <SortHead column={column} sort={sort} onSort={onSort} /> : column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {before > 0 && <tr aria-hidden="true"><td colSpan={width} style={{ height: before, padding: 0, border: 0 }} /></tr>}
          {places.map((place) => {
            const line = lineAt(sections, place);
            if (line === undefined) return null;
            if (line.row === undefined) {
              return (
                <tr key={`:${line.section.key}`} className={`section ${line.section.kind ?? ""}`}>
                  <td colSpan={width} className="relative z-1 overflow-visible!"><span className="inline-block max-w-[calc(100cqw-28px)] truncate align-middle">{line.section.title}</span></td>
                  {rest.map((column) => <td key={column.key} className={shownFrom(column)} />)}
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
                  <td key={column.key} className={`${column.isNumber ? "number" : ""} ${shownFrom(column)}`}>{column.cell(row)}</td>
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

/** Names begin with the first letter, numbers with the largest. */
function ariaSort<Row>(column: Column<Row>, sort: Sort | null, row: Row | undefined): "ascending" | "descending" | undefined {
  if (sort?.key !== column.key) return undefined;
  const isText = row !== undefined && typeof column.sortBy?.(row) === "string";
  return sort.isUp === isText ? "descending" : "ascending";
}

function SortHead<Row>({ column, sort, onSort }: { column: Column<Row>; sort: Sort | null; onSort: (sort: string | undefined) => void }) {
  const isOn = sort?.key === column.key;
  return (
    <button type="button" className={`group relative rounded hover:text-ink ${isOn ? "text-ink" : ""}`} onClick={() => onSort(nextSort(sort, column.key))}>
      {column.title}
      {/* Beside the word, so that no head needs more room than its word. */}
      <span className={`absolute top-1/2 -translate-y-1/2 ${column.isNumber ? "right-full" : "left-full"} ${isOn ? (sort.isUp ? "rotate-180" : "") : "opacity-0 group-hover:opacity-60 group-focus-visible:opacity-60"}`}><Icon name="down" size={10} /></span>
    </button>
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
