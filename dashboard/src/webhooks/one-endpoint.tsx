// One webhook endpoint: where it is, who may name it, its secret, how it answers, and what can be done with it.
import type { EndpointStatus } from "../api/schema";
import { count } from "../format/number";
import { CopyButton } from "../parts/copy";
import { Fact, Facts, Panel } from "../parts/page";
import { When } from "../parts/when";
import { words } from "../words";
import { EndpointActs } from "./endpoint-acts";
import { EndpointState } from "./endpoint-columns";
import { eventsText } from "./endpoint-state";

const W = words.webhooks;

export function OneEndpoint({ endpoint, waiting }: { endpoint: EndpointStatus; waiting: number | undefined }) {
  const { health, disabled } = endpoint;
  const isStored = endpoint.secret === "stored";
  return (
    <Panel title={endpoint.name} actions={<EndpointActs endpoint={endpoint} waiting={waiting} />}>
      <div className="grid xl:grid-cols-2">
        <Facts>
          <Fact name={W.url}><span className="-my-1.5 flex items-center justify-end gap-1"><span className="mono truncate" title={endpoint.url}>{endpoint.url}</span><CopyButton text={endpoint.url} /></span></Fact>
          <Fact name={W.state}><EndpointState isWhole endpoint={endpoint} /></Fact>
          {disabled && <Fact name={words.columns.since}><When at={disabled.at} /></Fact>}
          {health.error && <Fact name={W.newestFailure}><span className="whitespace-normal wrap-anywhere">{health.error}</span></Fact>}
          <Fact name={W.waits}>{waiting === undefined ? words.loading : count(waiting)}</Fact>
          <Fact name={W.added}><When at={endpoint.created_at} /> {W.byWhom(endpoint.created_by)}</Fact>
        </Facts>
        <div className="border-line-soft max-xl:border-t xl:border-l">
          <Facts>
            <Fact name={W.events}>{eventsText(endpoint.events)}</Fact>
            <Fact name={W.clients}><span className="whitespace-normal">{endpoint.clients.join(", ") || W.allClients}</span></Fact>
            {endpoint.hosts.length > 0 && <Fact name={W.hosts}><span className="whitespace-normal">{endpoint.hosts.join(", ")}</span></Fact>}
            <Fact name={W.secret}><span className={`whitespace-normal ${isStored ? "" : "mono"}`} title={isStored ? W.storedTitle : W.reference}>{isStored ? W.stored : endpoint.secret}</span></Fact>
            {endpoint.rotating_until !== null && <Fact name={W.oldSecret}><span className="whitespace-normal">{W.both} <When at={endpoint.rotating_until} /></span></Fact>}
          </Facts>
        </div>
      </div>
    </Panel>
  );
}
