// One group: how far it is, what follows it, and which of its members failed.
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { Confirm } from "../acts/confirm";
import { cancelGroup } from "../acts/requests";
import { group as groupQuery } from "../api/queries";
import type { GroupDetail } from "../api/schema";
import { roughly } from "../format/duration";
import { shortId } from "../format/names";
import { count } from "../format/number";
import { lastReason } from "../format/reason";
import { GroupWord, MemberBar } from "../groups/member-bar";
import { CopyButton } from "../parts/copy";
import { MessageLink, QueueLink } from "../parts/links";
import { Fact, Facts, Page, Panel } from "../parts/page";
import { LoadingRows, Redacted, TroubleState } from "../parts/states";
import { StateWord, type StateName } from "../parts/state-word";
import { useNow } from "../parts/tick";
import { When } from "../parts/when";
import { useActs } from "../shell/session";
import { words } from "../words";

const W = words.group;

export default function GroupPage() {
  const { id } = useParams({ from: "/groups/$id" });
  const { data, error, refetch } = useQuery(groupQuery(id));
  return (
    <Page
      title={`${W.title} ${shortId(id)}`}
      heading={<span className="flex min-w-0 flex-wrap items-center gap-x-2"><span>{W.title}</span><span className="flex min-w-0 items-center"><span className="mono min-w-0 font-normal wrap-anywhere text-soft">{id}</span><CopyButton text={id} label={words.message.copyId} /></span></span>}
      aside={data && <GroupWord state={data.state} />}
      actions={data && goesOn(data) && <CancelAct group={data} />}
    >
      {data ? <Shown group={data} /> : <Panel>{error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows />}</Panel>}
    </Page>
  );
}

const goesOn = (group: GroupDetail) => group.state === "running" || group.state === "submitting";
const endedOf = (group: GroupDetail) => group.completed + group.dead + group.cancelled;

function CancelAct({ group }: { group: GroupDetail }) {
  const [asks, setAsks] = useState(false);
  const { may, why } = useActs();
  const left = group.total - endedOf(group);
  return (
    <>
      <button type="button" className="button" disabled={!may} title={why} onClick={() => setAsks(true)}>{W.cancel}</button>
      {asks && <Confirm danger title={W.cancelTitle} button={W.cancelButton} act={() => cancelGroup(group.id)} done={(result) => (result.cancelled ? W.cancelDone : W.cancelLate)} onClose={() => setAsks(false)}>{W.cancelBody(count(left))}</Confirm>}
    </>
  );
}

function Shown({ group }: { group: GroupDetail }) {
  return (
    <div className="@container">
      <div className="flex flex-col gap-4 @4xl:grid @4xl:grid-cols-[minmax(0,1fr)_320px] @4xl:items-start">
        <div className="flex min-w-0 flex-col gap-4">
          <Progress group={group} />
          <Failed group={group} />
        </div>
        <Panel title={W.facts}>
          <Facts>
            <Fact name={W.then}>{group.then_id ? <Then group={group} /> : <span className="text-soft">{W.nothing}</span>}</Fact>
            {group.queues.map((queue, place) => <Fact key={queue} name={place ? "" : W.queues(group.queues.length)}><QueueLink queue={queue} /></Fact>)}
            {group.client && <Fact name={words.message.client}>{group.client}</Fact>}
            <Fact name={words.message.sent}><When at={group.created_at} /></Fact>
            {group.ended_at !== null && <Fact name={words.message.ended}><When at={group.ended_at} /></Fact>}
            {group.ended_at === null && <Fact name={words.message.expires}><When at={group.expires_at} /></Fact>}
          </Facts>
        </Panel>
      </div>
    </div>
  );
}

function Then({ group }: { group: GroupDetail }) {
  if (!group.then_id) return null;
  if (group.then_sent_at === null) return <>{group.then_task}</>;
  return <Link to="/messages/$id" params={{ id: group.then_id }} title={group.then_id}>{group.then_task}</Link>;
}

function Progress({ group }: { group: GroupDetail }) {
  const now = useNow(15);
  const ended = endedOf(group);
  const counts: [StateName, string, number][] = [["completed", W.completed, group.completed], ["dead", W.dead, group.dead], ["cancelled", W.cancelled, group.cancelled]];
  return (
    <Panel title={W.progress} aside={W.ended(count(ended), group.total)}>
      <div className="flex flex-col gap-3 px-4 pt-3 pb-3.5">
        <p className="m-0 text-[15px]">{sentenceOf(group, ended, now)}</p>
        <MemberBar className="h-2.5!" total={group.total} completed={group.completed} dead={group.dead} cancelled={group.cancelled} />
        <ul className="m-0 flex list-none flex-wrap gap-x-5 gap-y-1 p-0 text-soft">
          {counts.filter(([state, , members]) => state === "completed" || members > 0).map(([state, word, members]) => (
            <li key={state}><StateWord bare calm state={state} /> <span className="text-ink tabular-nums">{count(members)}</span> {word}</li>
          ))}
          {ended < group.total && <li><span className="text-ink tabular-nums">{count(group.total - ended)}</span> {goesOn(group) ? W.open : W.unfinished}</li>}
        </ul>
      </div>
    </Panel>
  );
}

function sentenceOf(group: GroupDetail, ended: number, now: number): string {
  switch (group.state) {
    case "submitting":
      return W.isSubmitting;
    case "running":
      return ended ? W.isRunning(roughly(now - group.created_at), group.then_task) : W.isNew(group.then_task);
    case "complete":
      return W.isComplete(roughly((group.ended_at ?? now) - group.created_at), group.then_task);
    case "expired":
      return W.isExpired(group.then_task);
    case "cancelled":
      return W.isCancelled;
    case "abandoned":
      return W.isAbandoned;
  }
}

function Failed({ group }: { group: GroupDetail }) {
  const all = group.dead + group.cancelled;
  if (!all) return null;
  return (
    <Panel title={W.failed} aside={group.failed.length < all ? W.first(group.failed.length, count(all)) : count(all)}>
      <ul className="m-0 list-none p-0">
        {group.failed.map((one) => (
          <li key={one.id} className="flex items-center gap-2.5 border-b border-line-soft px-4 py-1.5 last:border-0 hover:bg-hover">
            <StateWord bare state={one.state as StateName} />
            <span className="min-w-0 flex-1 truncate" title={one.reason?.text}>
              {one.reason && <span className="mono text-soft">{one.reason.error || one.reason.code} </span>}
              {one.reason && (group.redacted ? <Redacted /> : lastReason(one.reason.text, one.reason.error))}
              {!one.reason && <span className="text-soft">{W.cancelled}</span>}
            </span>
            <MessageLink id={one.id} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
