// Requests to the server of this page, and to nothing else.
import { seen } from "../live/clock";
import { apiRoot } from "./config";
import { takeEarly } from "./early";
import { ApiProblem, Disconnected } from "./problem";

export type Params = Record<string, string | number | boolean | readonly string[] | null | undefined>;

const TIMEOUT_MS = 30_000;

export function pathOf(parts: TemplateStringsArray, ...values: string[]): string {
  return parts.reduce((all, part, place) => all + encodeURIComponent(values[place - 1] ?? "") + part);
}

export function queryText(params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === undefined || value === "" || value === false) continue;
    if (typeof value === "object") for (const one of value) query.append(name, one);
    else query.set(name, String(value));
  }
  const text = query.toString();
  return text && `?${text}`;
}

async function send(method: string, path: string, body: string | undefined, signal?: AbortSignal): Promise<Response> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const headers: Record<string, string> = { Accept: "application/json" };
  if (method !== "GET") {
    headers["Content-Type"] = "application/json";
    headers["X-Tenure-Request"] = "dashboard";
  }
  let response: Response;
  try {
    response = (method === "GET" && (await takeEarly(path))) || (await fetch(`${apiRoot}${path}`, {
      method,
      headers,
      body,
      credentials: "same-origin",
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    }));
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Disconnected("the server does not answer");
  }
  if (response.ok) return response;
  throw await problemOf(response);
}

async function problemOf(response: Response): Promise<Error> {
  const retryAfter = Number(response.headers.get("Retry-After")) || null;
  // A proxy that has lost its server answers with a page of its own.
  if (!response.headers.get("Content-Type")?.includes("json")) {
    return response.status >= 502 && response.status <= 504
      ? new Disconnected(`the proxy answers ${response.status}`)
      : new ApiProblem(response.status, { detail: response.statusText || `HTTP ${response.status}` }, retryAfter);
  }
  return new ApiProblem(response.status, await response.json(), retryAfter);
}

/** The text of an answer, for what must stay as it was written. */
export async function getText(path: string, params?: Params, signal?: AbortSignal): Promise<string> {
  return (await send("GET", path + queryText(params), undefined, signal)).text();
}

export async function get<T>(path: string, params?: Params, signal?: AbortSignal): Promise<T> {
  const value = (await (await send("GET", path + queryText(params), undefined, signal)).json()) as T;
  const now = (value as { now?: unknown; server_now?: unknown }).server_now ?? (value as { now?: unknown }).now;
  if (typeof now === "number") seen(now);
  return value;
}

/** As `act`, with the text of the answer, for what must stay as it was written. */
export async function actText(method: "POST" | "DELETE", path: string, body?: unknown): Promise<string> {
  return (await send(method, path, bodyText(method, body))).text();
}

const bodyText = (method: string, body: unknown) => (body === undefined ? (method === "POST" ? "{}" : undefined) : typeof body === "string" ? body : JSON.stringify(body));

/** `body` may be a text that is JSON already: then it is sent as it is. */
export async function act<T>(method: "POST" | "PUT" | "DELETE", path: string, body?: unknown, params?: Params): Promise<T> {
  const response = await send(method, path + queryText(params), bodyText(method, body));
  return (response.status === 204 ? undefined : await response.json()) as T;
}
