// One message as the server tells it, with payload and result as the text that they were written as.
import { slices } from "../api/exact-json";
import type { MessageDetail } from "../api/schema";

export interface ExactDetail {
  detail: MessageDetail;
  /** JSON as it was written; null: there is none. */
  body: string | null;
  result: string | null;
  headers: string | null;
}

const orNull = (text: string | undefined) => (text === undefined || text === "null" ? null : text);

export function readDetail(text: string): ExactDetail {
  const detail = JSON.parse(text) as MessageDetail;
  const fields = slices(text);
  const message = fields?.get("message");
  const headers = message && message !== "null" ? slices(message)?.get("headers") : undefined;
  return { detail, body: orNull(fields?.get("body")), result: orNull(fields?.get("result")), headers: headers && headers !== "{}" ? headers : null };
}
