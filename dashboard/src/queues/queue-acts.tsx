// What can be done with a queue.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Confirm, useDoing } from "../acts/confirm";
import { deleteQueue, pauseQueue, resumeQueue } from "../acts/requests";
import type { QueueOverview } from "../api/schema";
import { count } from "../format/number";
import { useActs } from "../shell/session";
import { words } from "../words";
import { PurgeDialog } from "./purge-dialog";

const W = words.queues;

export function QueueActs({ queue }: { queue: QueueOverview }) {
  const [asks, setAsks] = useState<"pause" | "purge" | null>(null);
  const { may, why } = useActs();
  const doing = useDoing();
  const navigate = useNavigate();
  const name = queue.queue;
  const isEmpty = !queue.waiting && !queue.delayed && !queue.running && !queue.dead && !queue.estimated && !queue.paused;
  return (
    <>
      {queue.paused ? (
        <button type="button" className="button" disabled={!may || doing.isPending} title={why} onClick={() => doing.mutate({ act: () => resumeQueue(name), done: () => W.resumed(name) })}>{W.resume}</button>
      ) : (
        <button type="button" className="button" disabled={!may} title={why} onClick={() => setAsks("pause")}>{W.pause}</button>
      )}
      <button type="button" className="button" disabled={!may} title={why} onClick={() => setAsks("purge")}>{W.purge}</button>
      {isEmpty && (
        <button type="button" className="button" disabled={!may || doing.isPending} title={why} onClick={() => doing.mutate({ act: () => deleteQueue(name), done: () => { void navigate({ to: "/queues" }); return W.removed(name); } })}>{W.remove}</button>
      )}
      {asks === "pause" && <Confirm title={W.pauseTitle(name)} button={W.pause} act={() => pauseQueue(name)} done={() => W.paused(name)} onClose={() => setAsks(null)}>{W.pauseBody(count(queue.waiting), count(queue.running))}</Confirm>}
      {asks === "purge" && <PurgeDialog queue={name} onClose={() => setAsks(null)} />}
    </>
  );
}
