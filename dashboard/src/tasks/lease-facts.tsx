// The lease of a task and the rest of its policy, as pairs of a word and a value.
import type { TaskPolicy, TaskTiming } from "../api/schema";
import { duration } from "../format/duration";
import { Fact, Facts, Panel } from "../parts/page";
import { words } from "../words";

const W = words.task;

export function LeaseFacts({ policy, timing }: { policy: TaskPolicy | null; timing: TaskTiming | null | undefined }) {
  const lease = timing?.lease_seconds ?? policy?.lease_seconds ?? null;
  const hold = timing?.max_hold_seconds ?? policy?.max_hold_seconds ?? null;
  return (
    <Panel title={W.policy}>
      {!policy && <p className="m-0 border-b border-line-soft px-4 py-3 text-soft last:border-0">{W.noCode}</p>}
      <Facts>
        {policy && <Fact name={W.lease}>{timing?.by_size ? W.bySize : duration(lease)}{timing?.learned ? `, ${W.learned}` : ""}</Fact>}
        {policy && <Fact name={W.heartbeat}>{policy.heartbeat ? W.on : W.off}</Fact>}
        {timing && timing.first_beat_seconds !== null && <Fact name={W.firstBeat}>{duration(timing.first_beat_seconds)}</Fact>}
        {timing && <Fact name={W.ifFixed}><span title={timing.forecast.why}>{duration(timing.forecast.lease_seconds)}</span></Fact>}
        {policy && <Fact name={W.hold}>{hold === null ? W.notSet : duration(hold)}</Fact>}
        {timing && timing.advised_hold_seconds !== null && <Fact name={W.holdAdvised}><span title={timing.forecast.hold_why ?? undefined}>{duration(timing.advised_hold_seconds)}</span></Fact>}
        {policy && <Fact name={W.attempts}>{policy.max_attempts}</Fact>}
        {policy && <Fact name={W.concurrency}>{policy.concurrency ?? W.notSet}</Fact>}
        {policy && <Fact name={W.runsIn}>{policy.runs_in}</Fact>}
        {timing?.profile && <Fact name={W.profile}>{timing.profile}</Fact>}
        {timing?.forecast.hardware && <Fact name={W.hardware}><span title={timing.forecast.hardware}>{timing.forecast.hardware}</span></Fact>}
        {policy && <Fact name={W.parameters}><span className="mono" title={policy.parameters.join(", ")}>{policy.parameters.join(", ") || words.words.none}</span></Fact>}
      </Facts>
    </Panel>
  );
}
