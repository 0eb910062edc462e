// JSON as it was written: numbers are never read as floating point, so 12345678901234567890 stays what it is.
//
// `slices` finds the raw text of an object's fields, `indented` lays it out, `marked` cuts it into parts for colours.

/** The raw text of each field of a JSON object; null where the text is none. */
export function slices(text: string): Map<string, string> | null {
  let at = skipSpace(text, 0);
  if (text[at] !== "{") return null;
  const found = new Map<string, string>();
  at = skipSpace(text, at + 1);
  while (at < text.length && text[at] !== "}") {
    const nameEnd = skipValue(text, at);
    const name = JSON.parse(text.slice(at, nameEnd)) as string;
    at = skipSpace(text, nameEnd);
    if (text[at] !== ":") return null;
    at = skipSpace(text, at + 1);
    const end = skipValue(text, at);
    found.set(name, text.slice(at, end));
    at = skipSpace(text, end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return found;
}

/** The raw text of each item of a JSON array; null where the text is none. */
export function items(text: string): string[] | null {
  let at = skipSpace(text, 0);
  if (text[at] !== "[") return null;
  const found: string[] = [];
  at = skipSpace(text, at + 1);
  while (at < text.length && text[at] !== "]") {
    const end = skipValue(text, at);
    found.push(text.slice(at, end));
    at = skipSpace(text, end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return found;
}

function skipSpace(text: string, at: number): number {
  while (at < text.length && /\s/.test(text[at]!)) at += 1;
  return at;
}

/** Where the value that begins here ends. */
function skipValue(text: string, start: number): number {
  let at = start;
  const first = text[at];
  if (first === '"') return stringEnd(text, at);
  if (first !== "{" && first !== "[") {
    while (at < text.length && !/[\s,\]}:]/.test(text[at]!)) at += 1;
    return at;
  }
  let depth = 0;
  for (; at < text.length; at += 1) {
    const one = text[at];
    if (one === '"') at = stringEnd(text, at) - 1;
    else if (one === "{" || one === "[") depth += 1;
    else if ((one === "}" || one === "]") && --depth === 0) return at + 1;
  }
  return at;
}

function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

export type Mark = "key" | "text" | "value" | "plain";
export interface Part {
  mark: Mark;
  text: string;
}

/** JSON cut into tokens; what is no JSON is one plain part. */
export function tokens(text: string): Part[] {
  const parts: Part[] = [];
  const token = /("(?:\\.|[^"\\])*")|(-?\d[\d.eE+-]*|true|false|null)|([{}[\],:])|(\s+)|([^\s])/g;
  for (const match of text.matchAll(token)) {
    const [, string, value, sign, , other] = match;
    if (string !== undefined) parts.push({ mark: "text", text: string });
    else if (value !== undefined) parts.push({ mark: "value", text: value });
    else if (sign !== undefined) {
      if (sign === ":" && parts.length && parts[parts.length - 1]!.mark === "text") parts[parts.length - 1]!.mark = "key";
      parts.push({ mark: "plain", text: sign });
    } else if (other !== undefined) parts.push({ mark: "plain", text: other });
  }
  return parts;
}

/** The same JSON with one field a line, cut into parts for colours. Short lists stay on one line. */
export function laidOut(text: string): Part[] {
  const parts = tokens(text);
  const out: Part[] = [];
  let depth = 0;
  const line = () => out.push({ mark: "plain", text: `\n${"  ".repeat(depth)}` });
  const inline: boolean[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at]!;
    const next = parts[at + 1];
    if (part.mark !== "plain") {
      out.push(part);
      continue;
    }
    if (part.text === "{" || part.text === "[") {
      out.push(part);
      if (next && (next.text === "}" || next.text === "]") && next.mark === "plain") {
        out.push(next);
        at += 1;
        continue;
      }
      inline.push(part.text === "[" && isShortList(parts, at));
      if (!inline[inline.length - 1]) {
        depth += 1;
        line();
      }
    } else if (part.text === "}" || part.text === "]") {
      if (!inline.pop()) {
        depth = Math.max(0, depth - 1);
        line();
      }
      out.push(part);
    } else if (part.text === ",") {
      out.push(part);
      if (inline[inline.length - 1]) out.push({ mark: "plain", text: " " });
      else line();
    } else if (part.text === ":") out.push({ mark: "plain", text: ": " });
    else out.push(part);
  }
  return out;
}

const SHORT = 64;

function isShortList(parts: Part[], start: number): boolean {
  let length = 0;
  for (let at = start + 1; at < parts.length; at += 1) {
    const { mark, text } = parts[at]!;
    if (mark === "plain" && (text === "{" || text === "[")) return false;
    if (mark === "plain" && text === "]") return true;
    length += text.length + 1;
    if (length > SHORT) return false;
  }
  return false;
}

export function laidOutText(text: string): string {
  return laidOut(text).map((one) => one.text).join("");
}
