// The reason of an end, without what stands beside it already. Pure.

/** One line; of "gave up after 3 of 3 attempts; the last one: E: text" what the last one said. */
export function lastReason(text: string | null | undefined, error = ""): string {
  const line = (text ?? "").split("\n", 1)[0]!.replace(/^gave up after \d+ of \d+ attempts?; the last one: /, "");
  return error && line.startsWith(`${error}: `) ? line.slice(error.length + 2) : line;
}
