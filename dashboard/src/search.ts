// URL = state. Filters stand in the query string as people would write them: ?queue=mail&state=dead&state=ready

export type RawSearch = Record<string, string | string[]>;

export function parseSearch(text: string): RawSearch {
  const found: RawSearch = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const before = found[name];
    found[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  return found;
}

export function stringifySearch(search: Record<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "" && one !== false) query.append(name, String(one));
    }
  }
  const text = query.toString();
  return text && `?${text}`;
}

export const text = (value: unknown): string | undefined => {
  const one = Array.isArray(value) ? value[0] : value;
  return one === undefined || one === null || one === "" ? undefined : String(one);
};

export const list = (value: unknown): string[] | undefined => {
  const all = (Array.isArray(value) ? value : [value]).map(text).filter((one) => one !== undefined);
  return all.length ? all : undefined;
};

export const number = (value: unknown): number | undefined => {
  const one = text(value);
  return one !== undefined && Number.isFinite(Number(one)) ? Number(one) : undefined;
};

export const flag = (value: unknown): true | undefined => (text(value) === "true" ? true : undefined);

/** One of these words, else nothing. */
export const oneOf = <Word extends string>(value: unknown, allowed: readonly Word[]): Word | undefined => allowed.find((one) => one === text(value));

/** On every page: the message that the side panel shows. */
export interface Shared {
  open?: string;
}

export const shared = (search: RawSearch): Shared => ({ open: text(search["open"]) });
