// Answers that `public/start.js` asked for before this program was here. Each is taken once.

const early = (globalThis as { tenureEarly?: Record<string, Promise<Response | undefined>> }).tenureEarly ?? {};

/** Whether an answer for this path of the API is here or on its way. */
export const isEarly = (path: string) => path in early;

/** The answer; undefined: it was not asked for, or there was none. */
export async function takeEarly(path: string): Promise<Response | undefined> {
  const answer = early[path];
  delete early[path];
  return answer?.catch(() => undefined);
}
