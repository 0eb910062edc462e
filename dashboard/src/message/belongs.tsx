// What a message belongs to, as pairs of a word and a value.
import type { HeldLease } from "../api/schema";
import { duration } from "../format/duration";
import { bytes, count, share } from "../format/number";
import { QueueLink, WorkerName } from "../parts/links";
import { Fact, Facts, Panel } from "../parts/page";
import { Gauge } from "../parts/tick";
import { When } from "../parts/when";
import { words } from "../words";
import type { ExactDetail } from "./detail";

const W = words.message;

export function Belongs({ exact: { detail }, lease }: { exact: ExactDetail; lease: HeldLease | undefined }) {
  const message = detail.message;
  const owner = lease?.owner ?? detail.owner;
  const progress = detail.state === "leased" ? (detail.progress?.fraction ?? null) : null;
  return (
    <Panel title={W.belongs}>
      <Facts>
        <Fact name={W.queue}><QueueLink queue={detail.queue} /></Fact>
        {owner && <Fact name={W.worker}><WorkerName owner={owner} /></Fact>}
        {message?.client && <Fact name={W.client}>{message.client}</Fact>}
        {message?.correlation_id && <Fact name={W.correlation}><span className="mono" title={message.correlation_id}>{message.correlation_id}</span></Fact>}
        {message?.key && <Fact name={W.key}><span className="mono" title={message.key}>{message.key}</span></Fact>}
        {message?.unique && <Fact name={W.unique}><span className="mono" title={message.unique}>{message.unique}</span></Fact>}
        {message && <Fact name={W.priority}>{message.priority ?? 5}</Fact>}
        {!!message?.generation && <Fact name={W.generation}>{message.generation}</Fact>}
        <Fact name={W.sent}><When at={detail.sent_at} /></Fact>
        {detail.finished_at !== null && <Fact name={W.ended}><When at={detail.finished_at} /></Fact>}
        {message?.expires_at && <Fact name={W.expires}><When at={message.expires_at} /></Fact>}
        {detail.size !== null && <Fact name={W.size}>{bytes(detail.size)}</Fact>}
        {lease?.predicted_seconds && <Fact name={words.columns.took}>≈ {duration(lease.predicted_seconds)}</Fact>}
        {detail.counters && <Fact name={W.deliveries}>{count(detail.counters.deliveries)}</Fact>}
        {detail.counters && <Fact name={W.attempts}>{count(detail.counters.attempts)}</Fact>}
        {!!detail.counters?.crashes && <Fact name={W.crashes}>{count(detail.counters.crashes)}</Fact>}
        {!!detail.counters?.lost && <Fact name={W.lost}>{count(detail.counters.lost)}</Fact>}
        {detail.fence !== null && <Fact name={W.fence}>{detail.fence}</Fact>}
        {progress !== null && (
          <Fact name={W.progress}>
            <span className="inline-flex items-center gap-2.5"><Gauge thin part={progress} className="w-24" label={`${W.progress} ${share(progress)}`} /><span className="tabular-nums">{share(progress)}</span></span>
          </Fact>
        )}
      </Facts>
    </Panel>
  );
}
