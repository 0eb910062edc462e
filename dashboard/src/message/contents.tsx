// What a message carries: why it failed, its payload, its result, its headers, its envelope. JSON as it was written.
import { bytes } from "../format/number";
import { CopyJson, JsonView, sizeOfText } from "../parts/json-view";
import { Panel } from "../parts/page";
import { Redacted, sentence } from "../parts/states";
import { words } from "../words";
import type { ExactDetail } from "./detail";
import { Traceback } from "./traceback";

const W = words.message;

export function ReasonPanel({ exact }: { exact: ExactDetail }) {
  const { reason, redacted } = exact.detail;
  if (!reason) return null;
  return (
    <Panel title={reason.error || W.reason} aside={<span className="mono">{reason.code}</span>}>
      {redacted ? <p className="m-0 px-4 py-3"><Redacted /></p> : <p className="m-0 px-4 pt-3 wrap-anywhere whitespace-pre-wrap">{sentence(reason.text)}</p>}
      {reason.traceback ? <Traceback text={reason.traceback} /> : <div className="pb-3" />}
    </Panel>
  );
}

export function Contents({ exact }: { exact: ExactDetail }) {
  const { detail, result, headers } = exact;
  return (
    <>
      <Payload exact={exact} />
      {(result !== null || detail.state === "completed") && (
        <Panel title={W.result} aside={result === null ? undefined : sizeOfText(result)} actions={result !== null && <CopyJson text={result} />}>
          {result !== null ? <JsonView text={result} /> : <p className="m-0 px-4 py-3 text-soft">{detail.redacted ? <Redacted /> : W.noResult}</p>}
        </Panel>
      )}
      {headers && <Panel title={W.headers} actions={<CopyJson text={headers} />}><JsonView text={headers} /></Panel>}
      {detail.raw && (
        <details className="panel overflow-clip">
          <summary className="px-4 py-2.5 text-soft">{W.showRaw} · {sizeOfText(detail.raw)}</summary>
          <JsonView text={detail.raw} />
        </details>
      )}
    </>
  );
}

function Payload({ exact: { detail, body } }: { exact: ExactDetail }) {
  const kept = detail.kept_payload;
  const text = body ?? kept?.text ?? null;
  const ticket = detail.message?.ticket;
  return (
    <Panel title={W.payload} aside={text !== null && !ticket ? sizeOfText(text) : undefined} actions={text !== null && !ticket && <CopyJson text={text} />}>
      {detail.redacted ? <p className="m-0 px-4 py-3"><Redacted /></p>
        : detail.unreadable ? <p className="m-0 px-4 py-3 text-soft">{W.unreadable} {detail.unreadable}</p>
        : ticket ? <p className="m-0 px-4 py-3 text-soft">{W.claimCheck(bytes(ticket.size), ticket.place)}</p>
        : text === null ? <p className="m-0 px-4 py-3 text-soft">{W.noPayload}</p>
        : <><JsonView text={text} />{kept && body === null && <p className="m-0 px-4 pb-3 text-soft">{W.cutPayload(bytes(kept.size))}</p>}</>}
    </Panel>
  );
}
