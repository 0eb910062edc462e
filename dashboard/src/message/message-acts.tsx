// What can be done with one message, by its state.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Confirm } from "../acts/confirm";
import { EditDialog } from "../acts/edit-dialog";
import { cancelMessage, deleteMessage, redriveMessage } from "../acts/requests";
import { useActs } from "../shell/session";
import { words } from "../words";
import type { ExactDetail } from "./detail";

export function MessageActs({ exact }: { exact: ExactDetail }) {
  const { detail, body } = exact;
  const [asks, setAsks] = useState<"cancel" | "delete" | "redrive" | "edit" | null>(null);
  const { may, why } = useActs();
  const navigate = useNavigate();
  const close = () => setAsks(null);
  const button = (what: typeof asks, label: string, main = false) => (
    <button type="button" className={`button ${main && may ? "main" : ""}`} disabled={!may} title={why} onClick={() => setAsks(what)}>{label}</button>
  );
  const isOpen = detail.state === "ready" || detail.state === "delayed" || detail.state === "leased";
  return (
    <>
      {detail.state === "dead" && button("redrive", words.message.redrive, true)}
      {detail.state === "dead" && !detail.redacted && detail.message && button("edit", words.message.edit)}
      {detail.state === "dead" && button("delete", words.message.remove)}
      {isOpen && button("cancel", words.message.cancel)}
      {asks === "cancel" && <Confirm danger title={words.cancelOne.title} button={words.cancelOne.button} act={() => cancelMessage(detail.id)} done={() => words.cancelOne.done} onClose={close}>{words.cancelOne.body(detail.task ?? detail.id)}</Confirm>}
      {asks === "delete" && <Confirm danger title={words.removeOne.title} button={words.removeOne.button} act={() => deleteMessage(detail.id)} done={() => words.removeOne.done} onClose={close}>{words.removeOne.body}</Confirm>}
      {asks === "redrive" && <Confirm title={words.redriveOne.title} button={words.redriveOne.button} act={() => redriveMessage(detail.id)} done={() => words.redriveOne.done} onClose={close}>{words.redriveOne.body}</Confirm>}
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
