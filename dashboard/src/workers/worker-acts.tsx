// Drain or stop one worker; both ask first, and say what becomes of what it runs.
import { useState } from "react";
import { Confirm } from "../acts/confirm";
import { drainWorker, stopWorker } from "../acts/requests";
import { useHas } from "../api/optional";
import type { WorkerChange, WorkerStatus } from "../api/schema";
import { count } from "../format/number";
import { useActs } from "../shell/session";
import { words } from "../words";

const W = words.workers;

export function WorkerActs({ worker }: { worker: WorkerStatus }) {
  const [asks, setAsks] = useState<"drain" | "stop" | null>(null);
  const { may, why } = useActs();
  if (!useHas("drain") || worker.draining === undefined) return null;
  const close = () => setAsks(null);
  const runs = count(worker.holds.length);
  const done = (text: (name: string) => string) => (change: WorkerChange) => (change.changed ? text(worker.name) : W.askedBefore(worker.name));
  const isStopping = worker.leaving.startsWith("stopped");
  return (
    <>
      {!worker.draining && <button type="button" className="button" disabled={!may} title={why} onClick={() => setAsks("drain")}>{W.drain}</button>}
      {!isStopping && <button type="button" className="button" disabled={!may} title={why} onClick={() => setAsks("stop")}>{W.stop}</button>}
      {asks === "drain" && <Confirm title={W.drainTitle(worker.name)} button={W.drainButton} act={() => drainWorker(worker.id)} done={done(W.drained)} onClose={close}>{W.drainBody(runs)}</Confirm>}
      {asks === "stop" && <Confirm danger title={W.stopTitle(worker.name)} button={W.stopButton} act={() => stopWorker(worker.id)} done={done(W.stopped)} onClose={close}>{W.stopBody(runs)}</Confirm>}
    </>
  );
}
