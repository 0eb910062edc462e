// Rows in the order of one column, as chosen by its head and kept in the address: `waiting` is largest first, `-waiting`
// smallest first. Pure.

export interface Sort {
  key: string;
  isUp: boolean;
}

export function readSort(text: string | undefined): Sort | null {
  if (!text) return null;
  return text.startsWith("-") ? { key: text.slice(1), isUp: true } : { key: text, isUp: false };
}

/** After a click on a head: largest first, then smallest first, then as it was. */
export function nextSort(now: Sort | null, key: string): string | undefined {
  if (now?.key !== key) return key;
  return now.isUp ? undefined : `-${key}`;
}

type Sortable<Row> = { key: string; sortBy?: (row: Row) => number | string | null | undefined };

/** What cannot be known comes last, in both directions; equals stay in their order. */
export function sorted<Row>(rows: readonly Row[], columns: readonly Sortable<Row>[], sort: Sort | null): readonly Row[] {
  const by = sort && columns.find((column) => column.key === sort.key)?.sortBy;
  if (!by) return rows;
  const way = sort.isUp ? 1 : -1;
  return rows.toSorted((one, other) => {
    const [first, second] = [by(one) ?? null, by(other) ?? null];
    if (first === null || second === null) return first === second ? 0 : first === null ? 1 : -1;
    if (typeof first === "string" || typeof second === "string") return -way * String(first).localeCompare(String(second));
    return way * (first - second);
  });
}
