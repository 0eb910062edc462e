// What the server says about itself in index.html, which comes before the login: where it is found.

export interface Config {
  /** The path before everything, such as `/tenure`; empty: none. */
  base: string;
}

const NONE: Config = { base: "" };

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
