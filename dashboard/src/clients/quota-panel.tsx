// The quota of a client: each part, how much of it is used, and who set it.
import type { ClientStatus } from "../api/schema";
import { bytes, count, share } from "../format/number";
import { Fact, Facts, Panel } from "../parts/page";
import { Gauge } from "../parts/tick";
import { When } from "../parts/when";
import { words } from "../words";
import { moodOf } from "./quota-text";

const W = words.clients;

export function QuotaPanel({ client: { quota } }: { client: ClientStatus }) {
  return (
    <Panel title={W.quotaPanel} aside={quota ? (quota.at === null ? W.byDefault : <>{W.setBy(quota.by)} <When at={quota.at} /></>) : undefined}>
      {!quota ? <p className="m-0 px-4 py-4 text-soft">{W.noQuotaMore}</p> : (
        <div className="grid xl:grid-cols-2">
          <Facts>
            <Fact name={W.waitingField}><Part most={quota.waiting} use={quota.waiting_use} /></Fact>
            <Fact name={W.runningField}><Part most={quota.running} use={quota.running_use} /></Fact>
          </Facts>
          <div className="border-line-soft max-xl:border-t xl:border-l">
            <Facts>
              <Fact name={W.rateField}>{quota.rate ?? <None />}</Fact>
              <Fact name={W.payloadField}>{quota.payload_bytes === null ? <None /> : <span title={count(quota.payload_bytes)}>{bytes(quota.payload_bytes)}</span>}</Fact>
            </Facts>
          </div>
        </div>
      )}
    </Panel>
  );
}

function Part({ most, use }: { most: number | null; use: number | null }) {
  if (most === null) return <None />;
  return <span className="flex items-center justify-end gap-2 tabular-nums">{use !== null && <><Gauge part={use} kind={moodOf(use)} className="w-24" label={W.used(share(use))} /><span className="text-soft">{share(use)}</span></>}<span className="min-w-14 text-right">{count(most)}</span></span>;
}

function None() {
  return <span className="text-faint">{W.noQuota}</span>;
}
