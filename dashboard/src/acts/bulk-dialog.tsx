// An act on many messages: counts first, says what they are, goes at a rate, shows how far it is, can be stopped.
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { count, plural } from "../format/number";
import { Dialog } from "../parts/dialog";
import { TroubleState } from "../parts/states";
import { Gauge } from "../parts/tick";
import { say, sayFailed } from "../parts/toast";
import { words } from "../words";
import { bulk, type Choice, type Verb } from "./requests";

const TITLES: Record<Verb, string> = { redrive: words.bulk.redriveTitle, delete: words.bulk.deleteTitle, cancel: words.bulk.cancelTitle, replay: words.webhooks.replayTitle };
const BODIES: Record<Verb, string> = { redrive: words.bulk.redriveBody, delete: words.bulk.deleteBody, cancel: words.bulk.cancelBody, replay: words.webhooks.replayBody };
const BUTTONS: Record<Verb, (number: string) => string> = { redrive: words.bulk.doRedrive, delete: words.bulk.doDelete, cancel: words.bulk.doCancel, replay: words.webhooks.doReplay };
const DONE: Record<Verb, string> = { redrive: words.bulk.redriven, delete: words.bulk.deleted, cancel: words.bulk.cancelled, replay: words.webhooks.replayed };
/** What they are called, one and many. */
const NOUNS: Partial<Record<Verb, readonly [string, string]>> = { replay: words.webhooks.delivery };

export function BulkDialog({ verb, choice, onClose, what }: { verb: Verb; choice: Choice; onClose: (changed: boolean) => void; what?: string }) {
  const counted = useQuery({ queryKey: ["bulk-count", verb, choice], queryFn: () => bulk(verb, choice, { dryRun: true }), gcTime: 0, staleTime: Infinity, retry: false });
  const [rate, setRate] = useState("");
  const [progress, setProgress] = useState<{ done: number; skipped: number } | null>(null);
  const stopped = useRef(false);
  const found = counted.data?.found ?? 0;
  const isMore = Boolean(counted.data?.more || (counted.data?.left ?? 0) > 0);
  const noun = NOUNS[verb] ?? words.bulk.noun;
  const number = `${isMore ? words.bulk.atLeast : ""}${count(found)}`;

  const run = async () => {
    stopped.current = false;
    let done = 0;
    let skipped = 0;
    setProgress({ done, skipped });
    try {
      for (;;) {
        const part = await bulk(verb, choice, { dryRun: false, perSecond: Number(rate) || null });
        done += part.done;
        skipped += part.skipped;
        setProgress({ done, skipped });
        const goesOn = "query" in choice && (part.more || (part.left ?? 0) > 0) && part.done > 0;
        if (!goesOn || stopped.current) break;
      }
      say(`${words.bulk.done(DONE[verb], plural(done, ...noun), skipped)}${stopped.current ? `. ${words.bulk.stopped}` : ""}`);
    } catch (error) {
      sayFailed(error);
    }
    onClose(true);
  };
  return (
    <Dialog
      title={TITLES[verb]}
      onClose={() => onClose(false)}
      busy={progress !== null}
      footer={
        progress ? (
          <button type="button" className="button" onClick={() => (stopped.current = true)}>{words.bulk.stop}</button>
        ) : (
          <>
            <button type="button" className="button" onClick={() => onClose(false)}>{words.words.back}</button>
            <button type="button" className={`button ${verb === "redrive" || verb === "replay" ? "main" : "danger"}`} disabled={!found} onClick={() => void run()}>{BUTTONS[verb](number)}</button>
          </>
        )
      }
    >
      {counted.isPending && <p role="status" className="m-0 text-soft">{words.bulk.counting}</p>}
      {counted.error && <TroubleState error={counted.error} retry={() => void counted.refetch()} />}
      {counted.data && !progress && (
        <div className="flex flex-col gap-3">
          <p className="m-0 text-[15px]" role="status">{found ? words.bulk.found(`${isMore ? words.bulk.atLeast : ""}${plural(found, ...noun)}`) : words.bulk.nothing}</p>
          {what && <p className="mono m-0 wrap-anywhere text-soft">{what}</p>}
          <p className="m-0 text-soft">{BODIES[verb]}</p>
          {Object.keys(counted.data.kinds ?? {}).length > 0 && (
            <table className="grid-table panel" aria-label={words.bulk.kinds}>
              <tbody>
                {Object.entries(counted.data.kinds!).sort((one, other) => other[1] - one[1]).slice(0, 8).map(([kind, of]) => (
                  <tr key={kind}><td>{kind}</td><td className="number" style={{ width: 96 }}>{count(of)}</td></tr>
                ))}
              </tbody>
            </table>
          )}
          {"query" in choice && found > 1 && (
            <label className="flex flex-wrap items-center gap-2 text-soft">
              {words.bulk.rate}
              <input className="field w-24 text-right" inputMode="numeric" pattern="[0-9]*" value={rate} placeholder="∞" onChange={(event) => setRate(event.target.value.replace(/\D/g, ""))} />
              {rate ? words.bulk.rateUnit(noun[1]) : `${words.bulk.rateUnit(noun[1])} (${words.bulk.rateAny})`}
            </label>
          )}
        </div>
      )}
      {progress && (
        <div role="status" className="flex flex-col gap-2">
          <p className="m-0">{words.bulk.working(count(progress.done + progress.skipped), number)}</p>
          <Gauge part={found ? (progress.done + progress.skipped) / found : 0} className="w-full" label={words.bulk.working(count(progress.done), number)} />
        </div>
      )}
    </Dialog>
  );
}
