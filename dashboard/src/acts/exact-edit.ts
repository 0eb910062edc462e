// The answer to an edit, with each difference as the text that it was written as: no number is rounded. Pure.
import { items, slices } from "../api/exact-json";
import type { EditResult } from "../api/schema";

export interface ExactChange {
  path: string;
  kind: "added" | "changed" | "removed";
  /** JSON. Null: there is none, or it is not shown. */
  before: string | null;
  after: string | null;
}

export interface ExactEdit {
  result: EditResult;
  changes: ExactChange[];
}

export function readEdit(text: string): ExactEdit {
  const result = JSON.parse(text) as EditResult;
  const written = items(slices(text)?.get("changes") ?? "[]") ?? [];
  const changes = result.changes.map(({ path, kind }, place): ExactChange => {
    const fields = slices(written[place] ?? "{}");
    const field = (name: string) => (result.redacted ? null : (fields?.get(name) ?? null));
    return { path, kind, before: kind === "added" ? null : field("before"), after: kind === "removed" ? null : field("after") };
  });
  return { result, changes };
}
