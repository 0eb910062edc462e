// What went wrong with a request, as the pages tell them apart.
import type { Problem } from "./schema";

export class ApiProblem extends Error {
  override name = "ApiProblem";
  readonly status: number;
  readonly code: string;
  readonly remedy: string;
  readonly field: string | null;
  readonly requestId: string | null;
  readonly retryAfter: number | null;

  constructor(status: number, problem: Partial<Problem>, retryAfter: number | null = null) {
    super(problem.detail || problem.title || `HTTP ${status}`);
    this.status = status;
    this.code = problem.code ?? "";
    this.remedy = problem.remedy ?? "";
    this.field = problem.field ?? null;
    this.requestId = problem.request_id ?? null;
    this.retryAfter = retryAfter;
  }
}

/** No answer at all: the server is away, or the network. */
export class Disconnected extends Error {
  override name = "Disconnected";
}

export type Trouble = "login" | "forbidden" | "missing" | "older" | "disconnected" | "store" | "refused" | "broken";

export function troubleOf(error: unknown): Trouble {
  if (error instanceof Disconnected) return "disconnected";
  if (!(error instanceof ApiProblem)) return "broken";
  if (error.status === 401) return "login";
  if (error.status === 403) return "forbidden";
  if (error.code === "route_not_found" || error.status === 405) return "older";
  if (error.status === 404) return "missing";
  if (error.status === 503) return "store";
  return error.status < 500 ? "refused" : "broken";
}
