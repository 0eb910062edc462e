// What can be done with one message, by its state. An act that the server is too old for is not offered.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Confirm, useDoing } from "../acts/confirm";
import { EditDialog } from "../acts/edit-dialog";
import { cancelMessage, deleteMessage, redriveMessage, runMessageNow } from "../acts/requests";
import { TouchDialog } from "../acts/touch-dialog";
import type { RunNowResult } from "../api/schema";
import { useHas } from "../api/optional";
import { useActs } from "../shell/session";
import { words } from "../words";
import type { ExactDetail } from "./detail";

const W = words.message;

export function MessageActs({ exact }: { exact: ExactDetail }) {
  const { detail, body } = exact;
  const [asks, setAsks] = useState<"cancel" | "delete" | "redrive" | "edit" | "touch" | null>(null);
  const { may, why } = useActs();
  const doing = useDoing();
  const navigate = useNavigate();
  const hasTouch = useHas("touch");
  const hasRunNow = useHas("run-now");
  const task = detail.task ?? detail.id;
  const close = () => setAsks(null);
  const button = (what: typeof asks, label: string, main = false) => (
    <button type="button" className={`button ${main && may ? "main" : ""}`} disabled={!may} title={why} onClick={() => setAsks(what)}>{label}</button>
  );
  const isOpen = detail.state === "ready" || detail.state === "delayed" || detail.state === "leased";
  return (
    <>
      {detail.state === "dead" && button("redrive", W.redrive, true)}
      {detail.state === "dead" && !detail.redacted && detail.message && button("edit", W.edit)}
      {detail.state === "dead" && button("delete", W.remove)}
      {detail.state === "leased" && hasTouch && button("touch", W.touch)}
      {detail.state === "delayed" && hasRunNow && (
        <button type="button" className="button" disabled={!may || doing.isPending} title={why} onClick={() => doing.mutate({ act: () => runMessageNow(detail.id), done: (result: RunNowResult) => (result.paused ? W.pausedQueue(result.queue) : W.ranNow(task)) })}>{W.runNow}</button>
      )}
      {isOpen && button("cancel", W.cancel)}
      {asks === "cancel" && <Confirm danger title={words.cancelOne.title} button={words.cancelOne.button} act={() => cancelMessage(detail.id)} done={() => words.cancelOne.done} onClose={close}>{words.cancelOne.body(task)}</Confirm>}
      {asks === "delete" && <Confirm danger title={words.removeOne.title} button={words.removeOne.button} act={() => deleteMessage(detail.id)} done={() => words.removeOne.done} onClose={close}>{words.removeOne.body}</Confirm>}
      {asks === "redrive" && <Confirm title={words.redriveOne.title} button={words.redriveOne.button} act={() => redriveMessage(detail.id)} done={() => words.redriveOne.done} onClose={close}>{words.redriveOne.body}</Confirm>}
      {asks === "touch" && <TouchDialog id={detail.id} task={task} onClose={close} />}
      {asks === "edit" && (
        <EditDialog
          detail={detail}
          body={body}
          onClose={(newId) => {
            close();
            if (newId) void navigate({ to: "/messages/$id", params: { id: newId } });
          }}
        />
      )}
    </>
  );
}
