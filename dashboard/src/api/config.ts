// What the server says about itself in index.html: where it is found, its version, its store.

export interface Config {
  /** The path before everything, such as `/tenure`; empty: none. */
  base: string;
  /** Of the server; empty: not said. */
  version: string;
  /** The store's URL, without secrets; empty: not said. */
  store: string;
  namespace: string | null;
}

const NONE: Config = { base: "", version: "", store: "", namespace: null };

export function parseConfig(text: string | null | undefined): Config {
  try {
    const found: unknown = JSON.parse(text || "{}");
    return { ...NONE, ...(found as Partial<Config>) };
  } catch {
    return NONE;
  }
}

export const config: Config =
  typeof document === "undefined"
    ? NONE
    : parseConfig(document.querySelector('meta[name="tenure-config"]')?.getAttribute("content"));

export const apiRoot = `${config.base}/api/v1`;
