// One message: what it is, its life, what it carries, and what can be done with it. A page, and a side panel.
import { useQuery } from "@tanstack/react-query";
import { useMemo, type ReactNode } from "react";
import { figures, message as messageQuery } from "../api/queries";
import { keys } from "../api/keys";
import { queryClient } from "../api/query-client";
import type { HeldLease, LeasesSnapshot } from "../api/schema";
import { duration, roughly, secondsLeft, wholeDuration } from "../format/duration";
import { bytes, count, share } from "../format/number";
import { moment } from "../format/moment";
import { lastReason } from "../format/reason";
import { CopyButton } from "../parts/copy";
import { CopyJson, JsonView, sizeOfText } from "../parts/json-view";
import { MessageLink, QueueLink, WorkerName } from "../parts/links";
import { Fact, Facts, Panel } from "../parts/page";
import { LoadingRows, Redacted, sentence, TroubleState } from "../parts/states";
import { StateWord } from "../parts/state-word";
import { Gauge, TickText, useNow } from "../parts/tick";
import { When } from "../parts/when";
import { words } from "../words";
import { readDetail, type ExactDetail } from "./detail";
import { LifeScale } from "./life-scale";
import { LifeStep, LifeSteps } from "./life-steps";
import { MessageActs } from "./message-acts";
import { StackPanel } from "./stack-panel";
import { timeline } from "./timeline";
import { Traceback } from "./traceback";

const W = words.message;

export default function MessageView({ id, onTitle }: { id: string; onTitle?: (title: string) => void }) {
  const { data, error, refetch, dataUpdatedAt } = useQuery(messageQuery(id));
  const exact = useMemo(() => (data === undefined ? null : readDetail(data)), [data]);
  if (!exact) {
    return error ? <Panel><TroubleState error={error} retry={() => void refetch()} /></Panel> : <Panel><LoadingRows /></Panel>;
  }
  onTitle?.(exact.detail.task ?? exact.detail.id);
  return <Shown exact={exact} readAt={dataUpdatedAt} />;
}

/** The lease of this message, from wherever it is known already. */
function knownLease(id: string): HeldLease | undefined {
  for (const key of [keys.soonLeases, keys.leases]) {
    const found = queryClient.getQueryData<LeasesSnapshot>(key)?.leases.find((one) => one.id === id);
    if (found) return found;
  }
  return undefined;
}

function Shown({ exact, readAt }: { exact: ExactDetail; readAt: number }) {
  const { detail, body, result, headers } = exact;
  const now = useNow(detail.state === "leased" ? 1 : 15);
  const lease = detail.state === "leased" ? knownLease(detail.id) : undefined;
  const age = (Date.now() - readAt) / 1000;
  const deadline = lease?.deadline ?? (detail.deadline_in === null ? null : now - age + detail.deadline_in);
  const life = timeline(detail, lease, now);
  const byTask = useQuery({ ...figures({ seconds: 3600, queue: detail.queue, task: detail.task ?? "" }), enabled: detail.task !== null });
  const p99 = byTask.data?.total.duration?.p99 ?? null;
  const isOverdue = detail.state === "leased" && deadline !== null && deadline <= now;
  return (
    <div className="flex flex-col gap-4">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h2 className="m-0 flex min-w-0 flex-wrap items-center gap-x-2 text-[17px] leading-6">
          <span className="wrap-anywhere">{detail.task ?? words.messages.unreadable}</span>
          <span className="flex min-w-0 items-center"><span className="mono truncate font-normal text-soft">{detail.id}</span><CopyButton text={detail.id} label={W.copyId} /></span>
        </h2>
        <StateWord state={isOverdue ? "overdue" : detail.state} />
        <div className="ml-auto flex flex-wrap gap-1.5"><MessageActs exact={exact} /></div>
      </header>
      <p className="m-0 -mt-2 text-[15px]"><Sentence exact={exact} lease={lease} deadline={deadline} now={now} /></p>
      <div className="grid gap-4 @4xl:grid-cols-[minmax(0,1fr)_300px]">
        <div className="flex min-w-0 flex-col gap-4">
          {detail.reason && (detail.state === "dead" || detail.reason.traceback) && <ReasonPanel exact={exact} />}
          <Panel title={W.life} aside={W.lifeMore}>
            {life && <LifeScale life={life} p99={p99} />}
            <LifeSteps steps={detail.life}>
              {detail.state === "leased" && (
                <>
                  {lease?.leased_at && <LifeStep at={lease.leased_at} dot="bg-leased-fill" name={W.steps["leased"]!} beside={`${W.fence} ${lease.fence}`}>{W.by(lease.owner)}, {W.attemptShort(lease.attempt)}</LifeStep>}
                  {detail.progress && <LifeStep at={lease?.last_beat_at ?? now} dot="bg-ready" name={W.progress} beside={lease ? `${count(lease.beats)} beats` : ""}>{progressText(detail.progress)}</LifeStep>}
                  {isOverdue && <LifeStep at={deadline!} dot="bg-dead-fill" name={W.steps["overdue"]!} />}
                </>
              )}
            </LifeSteps>
          </Panel>
          <Payload exact={exact} body={body} />
          {(result !== null || detail.state === "completed") && (
            <Panel title={W.result} aside={result === null ? undefined : sizeOfText(result)} actions={result !== null && <CopyJson text={result} />}>
              {result !== null ? <JsonView text={result} /> : <p className="m-0 px-4 py-3 text-soft">{detail.redacted ? <Redacted /> : W.noResult}</p>}
            </Panel>
          )}
          {headers && <Panel title={W.headers} actions={<CopyJson text={headers} />}><JsonView text={headers} /></Panel>}
          {detail.raw && (
            <details className="panel overflow-hidden">
              <summary className="px-4 py-2.5 text-soft">{W.showRaw} · {sizeOfText(detail.raw)}</summary>
              <JsonView text={detail.raw} />
            </details>
          )}
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          {detail.state === "leased" && <StackPanel id={detail.id} />}
          <Belongs exact={exact} lease={lease} p99={p99} />
        </div>
      </div>
    </div>
  );
}

export function progressText(progress: { fraction: number | null; note: string }): string {
  return [progress.fraction === null ? "" : share(progress.fraction), progress.note && `“${progress.note}”`].filter(Boolean).join(" · ");
}

function Sentence({ exact, lease, deadline, now }: { exact: ExactDetail; lease: HeldLease | undefined; deadline: number | null; now: number }): ReactNode {
  const { detail } = exact;
  const most = detail.message?.overrides?.max_attempts ?? null;
  const soft = (text: string) => <span className="text-soft">{text}</span>;
  switch (detail.state) {
    case "leased": {
      const left = deadline === null ? null : deadline - now;
      return (
        <>
          {lease?.leased_at && <TickText of={(moment) => W.runningSince(wholeDuration(moment - lease.leased_at!), W.attempt(lease.attempt, most))} />}{" "}
          {detail.usual_seconds !== null && soft(`${W.usually(duration(detail.usual_seconds))} `)}
          {left !== null && (left > 0 ? <TickText className="text-soft" of={(moment) => W.leaseLeft(`${Math.max(0, secondsLeft(deadline!, moment))} s`)} /> : <span className="text-dead">{W.overdueSince(wholeDuration(-left))}</span>)}
        </>
      );
    }
    case "ready":
      return <>{detail.paused ? `${W.pausedQueue(detail.queue)} ` : ""}{W.waits(detail.sent_at === null ? words.unknown : roughly(now - detail.sent_at))}</>;
    case "delayed":
      return W.dueIn(duration(detail.due_in));
    case "completed": {
      const run = detail.life.findLast((step) => step.what === "completed")?.seconds;
      return <>{run === undefined || run === null ? W.completedAt(moment(detail.finished_at, now)) : W.completedIn(duration(run))} {run !== undefined && detail.finished_at !== null && soft(W.completedAt(moment(detail.finished_at, now)))}</>;
    }
    case "dead":
      return <>{W.died(moment(detail.finished_at, now))} {detail.reason && soft(sentence(lastReason(detail.reason.text) || detail.reason.code))}</>;
    case "cancelled":
      return W.cancelledAt(moment(detail.finished_at, now));
  }
}

function ReasonPanel({ exact }: { exact: ExactDetail }) {
  const { reason, redacted } = exact.detail;
  if (!reason) return null;
  return (
    <Panel title={reason.error || W.reason} aside={<span className="mono">{reason.code}</span>}>
      {redacted ? <p className="m-0 px-4 py-3"><Redacted /></p> : <p className="m-0 px-4 pt-3 wrap-anywhere whitespace-pre-wrap">{sentence(reason.text)}</p>}
      {reason.traceback ? <Traceback text={reason.traceback} /> : <div className="pb-3" />}
    </Panel>
  );
}

function Payload({ exact, body }: { exact: ExactDetail; body: string | null }) {
  const { detail } = exact;
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

function Belongs({ exact, lease, p99 }: { exact: ExactDetail; lease: HeldLease | undefined; p99: number | null }) {
  const { detail } = exact;
  const message = detail.message;
  const owner = lease?.owner ?? detail.owner;
  return (
    <Panel title={W.belongs}>
      <Facts>
        <Fact name={W.queue}><QueueLink queue={detail.queue} /></Fact>
        {owner && <Fact name={W.worker}><WorkerName owner={owner} /></Fact>}
        {message?.client && <Fact name={W.client}>{message.client}</Fact>}
        {message?.correlation_id && <Fact name={W.correlation}><span className="mono">{message.correlation_id}</span></Fact>}
        {message?.parent_id && <Fact name={W.parent}><MessageLink id={message.parent_id} /></Fact>}
        {message?.key && <Fact name={W.key}><span className="mono">{message.key}</span></Fact>}
        {message?.unique && <Fact name={W.unique}><span className="mono">{message.unique}</span></Fact>}
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
        {p99 !== null && <Fact name="p99">{duration(p99)}</Fact>}
      </Facts>
      {detail.progress?.fraction !== null && detail.progress !== null && detail.state === "leased" && (
        <div className="px-4 pt-1 pb-3"><Gauge part={detail.progress.fraction} className="w-full" label={`${W.progress} ${share(detail.progress.fraction)}`} /></div>
      )}
    </Panel>
  );
}
