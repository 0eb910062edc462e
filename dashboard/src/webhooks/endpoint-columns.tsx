// The columns of a webhook endpoint in a list.
import type { EndpointStatus } from "../api/schema";
import { count } from "../format/number";
import type { Column } from "../parts/data-table";
import { StateWord } from "../parts/state-word";
import { TickText } from "../parts/tick";
import { words } from "../words";
import { eventsText, moodOf, stateText } from "./endpoint-state";

const W = words.webhooks;

/** `waiting`: endings that wait for each. Undefined: not known yet. */
export const endpointColumns = (waiting: Record<string, number> | undefined): readonly Column<EndpointStatus>[] => [
  { key: "name", title: W.endpoint, width: "132px", cell: (row) => <b className="font-[550]" title={row.name}>{row.name}</b> },
  { key: "url", title: W.url, width: "22%", from: "md", cell: (row) => <span className="mono text-soft" title={row.url}>{row.url}</span> },
  { key: "clients", title: W.clients, width: "10%", from: "xl", cell: (row) => <span className={row.clients.length ? "" : "text-soft"} title={row.clients.join(", ")}>{row.clients.join(", ") || W.allClients}</span> },
  { key: "events", title: W.events, width: "12%", from: "xl", cell: (row) => <span className={row.events.length < 3 ? "" : "text-soft"}>{eventsText(row.events)}</span> },
  { key: "secret", title: W.secret, width: "11%", from: "xl", cell: (row) => <Secret endpoint={row} /> },
  { key: "state", title: W.state, cell: (row) => <EndpointState endpoint={row} /> },
  { key: "waits", title: W.waits, width: "80px", isNumber: true, hint: W.waitsHint, cell: (row) => (waiting ? <span className={waiting[row.name] ? "" : "text-faint"}>{count(waiting[row.name] ?? 0)}</span> : words.loading) },
];

/** A rest counts down. `isWhole`: in as many lines as it takes. */
export function EndpointState({ endpoint, isWhole }: { endpoint: EndpointStatus; isWhole?: boolean }) {
  const title = endpoint.disabled ? endpoint.disabled.reason : endpoint.health.error || undefined;
  return <span title={title} className={isWhole ? "whitespace-normal" : "block [&>span]:max-w-full [&>span>span]:truncate"}><StateWord calm={moodOf(endpoint) === "alive"} state={moodOf(endpoint)} label={<TickText of={(now) => stateText(endpoint, now)} />} /></span>;
}

function Secret({ endpoint: { secret, rotating_until } }: { endpoint: EndpointStatus }) {
  const isStored = secret === "stored";
  return <span className={isStored ? "text-soft" : "mono text-soft"} title={isStored ? W.storedTitle : `${secret}: ${W.reference}`}>{isStored ? W.stored : secret}{rotating_until !== null && <span className="font-sans text-soon-ink"> · {W.rotating}</span>}</span>;
}
