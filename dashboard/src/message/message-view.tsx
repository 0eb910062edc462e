// One message: what it is, its life, what it carries, and what can be done with it. A page, and a side panel.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { keys } from "../api/keys";
import { figures, message as messageQuery, tasks as tasksQuery } from "../api/queries";
import { queryClient } from "../api/query-client";
import type { HeldLease, LeasesSnapshot, MessageDetail } from "../api/schema";
import { wholeDuration } from "../format/duration";
import { count, share } from "../format/number";
import { shortOwner } from "../format/names";
import { CopyButton } from "../parts/copy";
import { Panel } from "../parts/page";
import { LoadingRows, TroubleState } from "../parts/states";
import { StateWord } from "../parts/state-word";
import { TickText, useNow } from "../parts/tick";
import { words } from "../words";
import { AgainstTask } from "./against-task";
import { Belongs } from "./belongs";
import { Contents, ReasonPanel } from "./contents";
import { readDetail, type ExactDetail } from "./detail";
import { Family } from "./family";
import { GroupPanel } from "./group-panel";
import { LifeScale } from "./life-scale";
import { LifeStep, LifeSteps } from "./life-steps";
import { MessageActs } from "./message-acts";
import { MessageSentence } from "./sentence";
import { StackPanel } from "./stack-panel";
import { timeline } from "./timeline";

const W = words.message;

/** `isPage`: its heading is that of a page, and says where it lies. */
export default function MessageView({ id, onTitle, isPage = false }: { id: string; onTitle?: (title: string) => void; isPage?: boolean }) {
  const { data, error, refetch, dataUpdatedAt } = useQuery(messageQuery(id));
  const exact = useMemo(() => (data === undefined ? null : readDetail(data)), [data]);
  if (!exact) {
    return (
      <div className="flex flex-col gap-4">
        <Heading id={id} isPage={isPage} />
        <Panel>{error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows />}</Panel>
      </div>
    );
  }
  onTitle?.(exact.detail.task ?? exact.detail.id);
  return <Shown exact={exact} readAt={dataUpdatedAt} isPage={isPage} />;
}

/** The lease of this message, from wherever it is known already. */
function knownLease(id: string): HeldLease | undefined {
  for (const key of [keys.soonLeases, keys.leases]) {
    const found = queryClient.getQueryData<LeasesSnapshot>(key)?.leases.find((one) => one.id === id);
    if (found) return found;
  }
  return undefined;
}

/** How often it may fail: as its sender said, else as its task says. Null: not known. */
function mostAttempts(detail: MessageDetail, tasks: readonly { queue: string; task: string; policy: { max_attempts: number } | null }[] | undefined): number | null {
  return detail.message?.overrides?.max_attempts ?? tasks?.find((one) => one.task === detail.task && one.queue === detail.queue)?.policy?.max_attempts ?? null;
}

function Heading({ id, name, isPage }: { id: string; name?: string; isPage: boolean }) {
  const Level = isPage ? "h1" : "h2";
  return (
    <Level tabIndex={isPage ? -1 : undefined} className="m-0 flex min-h-8 min-w-0 flex-wrap items-center gap-x-2 text-[17px] leading-6 outline-none">
      <span className="wrap-anywhere">
        {isPage && <><Link to="/messages" className="font-normal text-soft no-underline hover:underline">{words.nav.messages}</Link><span className="font-normal text-faint"> / </span></>}
        {name}
      </span>
      <span className="flex min-w-0 items-center"><span className="mono truncate font-normal text-soft">{id}</span><CopyButton text={id} label={W.copyId} /></span>
    </Level>
  );
}

function Shown({ exact, readAt, isPage }: { exact: ExactDetail; readAt: number; isPage: boolean }) {
  const { detail } = exact;
  const now = useNow(detail.state === "leased" ? 1 : 15);
  const lease = detail.state === "leased" ? knownLease(detail.id) : undefined;
  const age = (Date.now() - readAt) / 1000;
  const deadline = lease?.deadline ?? (detail.deadline_in === null ? null : now - age + detail.deadline_in);
  const isOverdue = detail.state === "leased" && deadline !== null && deadline <= now;
  const tasks = useQuery({ ...tasksQuery, enabled: detail.state === "leased" });
  const most = mostAttempts(detail, tasks.data?.tasks);
  return (
    <div className="flex flex-col gap-4">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Heading id={detail.id} name={detail.task ?? words.messages.unreadable} isPage={isPage} />
        <StateWord state={isOverdue ? "overdue" : detail.state} />
        <p className="order-2 m-0 basis-full text-[15px]"><MessageSentence exact={exact} lease={lease} deadline={deadline} most={most} now={now} /></p>
        <div className="order-3 flex basis-full flex-wrap gap-1.5 empty:hidden @4xl:order-1 @4xl:ml-auto @4xl:basis-auto"><MessageActs exact={exact} /></div>
      </header>
      {/* Where there is room for one column, its parts come in the order in which they are asked for. */}
      <div className="flex flex-col gap-4 @4xl:grid @4xl:grid-cols-[minmax(0,1fr)_300px]">
        <div className={COLUMN}>
          <div className="order-1 min-w-0 empty:hidden">{detail.reason && (detail.state === "dead" || detail.reason.traceback) && <ReasonPanel exact={exact} />}</div>
          <div className="order-2 min-w-0"><Life detail={detail} lease={lease} deadline={isOverdue ? deadline : null} now={now} /></div>
          <div className="order-4 flex min-w-0 flex-col gap-4"><Contents exact={exact} /></div>
        </div>
        <div className={COLUMN}>
          <div className="order-1 min-w-0 empty:hidden">{detail.state === "leased" && <StackPanel id={detail.id} />}</div>
          <div className="order-3 min-w-0 empty:hidden"><AgainstTask detail={detail} lease={lease} /></div>
          <div className="order-3 min-w-0 empty:hidden"><GroupPanel exact={exact} /></div>
          <div className="order-3 min-w-0 empty:hidden"><Family exact={exact} /></div>
          <div className="order-5 min-w-0"><Belongs exact={exact} lease={lease} /></div>
        </div>
      </div>
    </div>
  );
}

const COLUMN = "contents min-w-0 @4xl:flex @4xl:flex-col @4xl:gap-4";

/** `deadline`: when its lease ended, of one that is overdue. */
function Life({ detail, lease, deadline, now }: { detail: MessageDetail; lease: HeldLease | undefined; deadline: number | null; now: number }) {
  const byTask = useQuery({ ...figures({ seconds: 3600, queue: detail.queue, task: detail.task ?? "" }), enabled: detail.task !== null });
  const life = timeline(detail, lease, now);
  return (
    <Panel title={W.life} aside={W.lifeMore}>
      {life && <LifeScale life={life} p99={byTask.data?.total.duration?.p99 ?? null} />}
      <LifeSteps steps={detail.life}>
        {detail.state === "leased" && (
          <>
            {lease?.leased_at && <LifeStep at={lease.leased_at} dot="bg-leased-fill" name={W.steps["leased"]!} beside={`${W.fence} ${lease.fence}`}>{W.by(shortOwner(lease.owner))}, {W.attemptShort(lease.attempt)}</LifeStep>}
            {detail.progress && <LifeStep at={lease?.last_beat_at ?? now} dot="bg-ready" name={W.progress} beside={lease ? W.beats(count(lease.beats)) : ""}>{progressText(detail.progress)}</LifeStep>}
            {deadline !== null && <LifeStep at={deadline} dot="bg-dead-fill" name={W.steps["overdue"]!}><TickText of={(moment) => overdueText(moment, lease)} /></LifeStep>}
          </>
        )}
      </LifeSteps>
    </Panel>
  );
}

/** Since when nobody beat, and when the sweep takes it. */
function overdueText(now: number, lease: HeldLease | undefined): string {
  const next = queryClient.getQueryData<LeasesSnapshot>(keys.soonLeases)?.next_sweep_at ?? null;
  const beat = lease?.last_beat_at ?? lease?.leased_at ?? null;
  const parts = [beat === null ? "" : W.noBeat(wholeDuration(Math.max(0, now - beat))), next === null ? "" : next > now ? W.sweepIn(`${Math.ceil(next - now)} s`) : W.sweepNow];
  return parts.filter(Boolean).join("; ");
}

export function progressText(progress: { fraction: number | null; note: string }): string {
  return [progress.fraction === null ? "" : share(progress.fraction), progress.note && `“${progress.note}”`].filter(Boolean).join(" · ");
}
