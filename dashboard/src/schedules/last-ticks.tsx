// The last ticks of a schedule, newest first, and what became of the message of each.
import { useQueries, useQuery } from "@tanstack/react-query";
import { messageStatus, ticksOf } from "../api/queries";
import type { EventEntry, ScheduleStatus } from "../api/schema";
import { shortId } from "../format/names";
import { Panel } from "../parts/page";
import { LoadingRows } from "../parts/states";
import { StateWord } from "../parts/state-word";
import { When } from "../parts/when";
import { useOpenMessage } from "../shell/side-panel";
import { words } from "../words";

const W = words.schedules;

export function LastTicks({ schedule }: { schedule: ScheduleStatus }) {
  const { data: ticks } = useQuery(ticksOf(schedule));
  const found = useQueries({ queries: (ticks ?? []).filter((one) => one.message_id).map((one) => messageStatus(one.message_id!)) });
  const states = new Map(found.flatMap(({ data }) => (data ? [[data.id, data.state] as const] : [])));
  const { open } = useOpenMessage();
  return (
    <Panel title={W.lastTicks}>
      {!ticks ? <LoadingRows rows={3} /> : ticks.length === 0 ? <p className="m-0 px-4 py-3 text-soft">{W.noTicks}</p> : (
        <ul className="m-0 list-none p-0">
          {ticks.map((one) => {
            const state = states.get(one.message_id ?? "");
            return (
              <li key={one.seq} className="grid grid-cols-[minmax(0,1fr)_minmax(0,1fr)_92px] items-center gap-3 border-b border-line-soft px-4 py-1.5 last:border-0">
                <span className="tabular-nums"><When at={dueAt(one)} /></span>
                {one.message_id ? (
                  <button type="button" className="text-left hover:underline" title={one.message_id} onClick={() => open(one.message_id!)}>{state ? <StateWord state={state} /> : <span className="text-faint">{words.unknown}</span>}</button>
                ) : <span className="text-soft">{one.data["paused"] ? words.states.paused : W.skipped}</span>}
                <span className="mono text-right text-soft">{one.message_id ? shortId(one.message_id) : ""}</span>
              </li>
            );
          })}
        </ul>
      )}
    </Panel>
  );
}

/** When it was due; it is sent a moment later, or much later after an outage. */
function dueAt(tick: EventEntry): number {
  const due = typeof tick.data["scheduled_for"] === "string" ? Date.parse(tick.data["scheduled_for"]) / 1000 : NaN;
  return Number.isFinite(due) ? due : tick.at;
}
