// One schedule: when it is due, how its last tick ended, and what can be done with it.
import type { ReactNode } from "react";
import type { ScheduleStatus } from "../api/schema";
import { shortId } from "../format/names";
import { scheduleInWords } from "../format/schedule";
import { QueueLink } from "../parts/links";
import { Fact, Facts, Panel } from "../parts/page";
import { StateWord } from "../parts/state-word";
import { Until, When } from "../parts/when";
import { useOpenMessage } from "../shell/side-panel";
import { words } from "../words";

const W = words.schedules;
const C = words.columns;

export function OneSchedule({ schedule, actions }: { schedule: ScheduleStatus; actions: ReactNode }) {
  return (
    <Panel title={schedule.name} aside={scheduleInWords(schedule.spec)} actions={actions}>
      <Facts>
        <Fact name={W.spec}><span className="mono">{schedule.spec}</span></Fact>
        <Fact name={C.task}>{schedule.task}</Fact>
        <Fact name={C.queue}><QueueLink queue={schedule.queue} /></Fact>
        <Fact name={W.lastTick}>{schedule.last_at === null ? W.never : <When at={schedule.last_at} />}</Fact>
        <Fact name={W.outcome}><Outcome schedule={schedule} /></Fact>
        <Fact name={W.nextTick}>{schedule.paused || schedule.next_at === null ? words.unknown : <><When at={schedule.next_at} />, <Until at={schedule.next_at} /></>}</Fact>
        {schedule.paused && <Fact name={W.pausedSince}><When at={schedule.paused.at} /> {words.message.by(schedule.paused.by)}</Fact>}
        {schedule.in_app === false && <Fact name={W.code}>{W.notInApp}</Fact>}
      </Facts>
    </Panel>
  );
}

/** The message of its last tick; it opens beside the list. */
export function Outcome({ schedule }: { schedule: ScheduleStatus }) {
  const { open } = useOpenMessage();
  const id = schedule.message_id;
  if (!id) return <span className="text-faint" title={schedule.last_at === null ? undefined : W.lastNone}>{words.unknown}</span>;
  return <button type="button" className="hover:underline" title={id} onClick={() => open(id)}>{schedule.message_state ? <StateWord state={schedule.message_state} /> : <span className="mono text-soft">{shortId(id)}</span>}</button>;
}
