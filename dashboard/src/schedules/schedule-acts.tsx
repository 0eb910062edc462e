// Run a schedule now, pause it, let it go on.
import { useState } from "react";
import { Confirm, useDoing } from "../acts/confirm";
import { pauseSchedule, resumeSchedule, runSchedule } from "../acts/requests";
import type { ScheduleStatus } from "../api/schema";
import { shortId } from "../format/names";
import { useActs } from "../shell/session";
import { words } from "../words";

const W = words.schedules;

export function ScheduleActs({ schedule: { name, in_app, paused }, isSmall }: { schedule: ScheduleStatus; isSmall?: boolean }) {
  const [asks, setAsks] = useState<"run" | "pause" | null>(null);
  const { may, why } = useActs();
  const doing = useDoing();
  const close = () => setAsks(null);
  const button = (label: string, act: () => void, width = "") => <button type="button" className={`button ${isSmall ? `min-h-6! px-2! py-0! ${width}` : ""}`} disabled={!may || doing.isPending} title={why} onClick={act}>{label}</button>;
  return (
    <span className="inline-flex gap-1.5">
      {in_app && button(W.runNow, () => setAsks("run"))}
      {paused ? button(W.resume, () => doing.mutate({ act: () => resumeSchedule(name), done: () => W.resumed(name) }), "w-19") : button(W.pause, () => setAsks("pause"), "w-19")}
      {asks === "run" && <Confirm title={W.runTitle(name)} button={W.runNow} act={() => runSchedule(name)} done={(run) => (run.duplicate ? W.ranDuplicate : W.ran(shortId(run.message_id)))} onClose={close}>{W.runBody}</Confirm>}
      {asks === "pause" && <Confirm title={W.pauseTitle(name)} button={W.pause} act={() => pauseSchedule(name)} done={() => W.paused(name)} onClose={close}>{W.pauseBody}</Confirm>}
    </span>
  );
}
