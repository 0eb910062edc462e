// What can be said about a finding: that somebody has seen it, and that nobody is told of it for a while.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useDoing } from "../acts/confirm";
import { ackFinding, silenceFinding } from "../acts/requests";
import type { FindingStatus } from "../api/schema";
import { say } from "../parts/toast";
import { useActs } from "../shell/session";
import { FormDialog } from "../webhooks/form";
import { words } from "../words";

const W = words.findings;

export function FindingActs({ finding: { id, firing, acked_by, silenced_until } }: { finding: FindingStatus }) {
  const [isAsking, setAsking] = useState(false);
  const { may, why } = useActs();
  const doing = useDoing();
  return (
    <>
      {firing && acked_by === null && <button type="button" className="button" disabled={!may || doing.isPending} title={why} onClick={() => doing.mutate({ act: () => ackFinding(id), done: () => W.acked(id) })}>{W.ack}</button>}
      {silenced_until === null
        ? <button type="button" className="button" disabled={!may} title={why} onClick={() => setAsking(true)}>{W.silence}</button>
        : <button type="button" className="button" disabled={!may || doing.isPending} title={why} onClick={() => doing.mutate({ act: () => silenceFinding(id, 0), done: () => W.unsilenced(id) })}>{W.unsilence}</button>}
      {isAsking && <SilenceDialog id={id} onClose={() => setAsking(false)} />}
    </>
  );
}

function SilenceDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const [span, setSpan] = useState("3600");
  const silencing = useMutation({
    mutationFn: () => silenceFinding(id, Number(span)),
    onSuccess: () => {
      say(W.silenced(id));
      onClose();
    },
  });
  return (
    <FormDialog id="silence" title={W.silenceTitle(id)} button={W.silenceButton} isBusy={silencing.isPending} error={silencing.error} onSend={() => silencing.mutate()} onClose={onClose}>
      <p className="m-0 text-soft">{W.silenceBody}</p>
      <label className="flex flex-col gap-1 text-[12px] text-soft">{W.silenceFor}
        <select className="field" value={span} onChange={(event) => setSpan(event.target.value)} autoFocus>
          {Object.entries(W.spans).map(([seconds, name]) => <option key={seconds} value={seconds}>{name}</option>)}
        </select>
      </label>
    </FormDialog>
  );
}
