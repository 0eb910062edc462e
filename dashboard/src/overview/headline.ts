// The server's sentence in the parts that are shown apart: what is the case, the rest, how many other things are wrong. Pure.

export interface HeadlineParts {
  /** Up to the first comma or colon. */
  first: string;
  rest: string;
  /** The server writes them as (+2). */
  others: number;
}

export function headlineParts(text: string): HeadlineParts {
  const more = / \(\+(\d+)\)$/.exec(text);
  const whole = more ? text.slice(0, more.index) : text;
  const place = whole.search(/[:,]/);
  const cut = place < 0 ? whole.length : place + 1;
  return { first: whole.slice(0, cut), rest: whole.slice(cut) + (more ? "." : ""), others: more ? Number(more[1]) : 0 };
}
