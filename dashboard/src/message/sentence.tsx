// What a message does, or how it ended, in one sentence.
import type { ReactNode } from "react";
import type { HeldLease } from "../api/schema";
import { duration, roughly, secondsLeft, wholeDuration } from "../format/duration";
import { moment } from "../format/moment";
import { lastReason } from "../format/reason";
import { sentence } from "../parts/states";
import { TickText } from "../parts/tick";
import { limitText } from "../queues/limit-text";
import { words } from "../words";
import type { ExactDetail } from "./detail";

const W = words.message;

export function MessageSentence({ exact, lease, deadline, most, now }: { exact: ExactDetail; lease: HeldLease | undefined; deadline: number | null; most: number | null; now: number }): ReactNode {
  const { detail } = exact;
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
      return <>{detail.paused ? `${W.pausedQueue(detail.queue)} ` : ""}{detail.waits_for_limit && detail.limit ? `${W.limitedQueue(detail.queue, limitText(detail.limit))} ` : ""}{W.waits(detail.sent_at === null ? words.unknown : roughly(now - detail.sent_at))}</>;
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
