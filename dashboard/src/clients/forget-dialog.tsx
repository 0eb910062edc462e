// Forgets a client: says first how much there is and what stays; then goes on until nothing is left, and can be stopped.
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { forgetClient } from "../acts/requests";
import { count } from "../format/number";
import { Dialog } from "../parts/dialog";
import { TroubleState } from "../parts/states";
import { say, sayFailed } from "../parts/toast";
import { words } from "../words";

const W = words.clients;

export function ForgetDialog({ client, onClose, onForgotten }: { client: string; onClose: () => void; onForgotten: () => void }) {
  const looked = useQuery({ queryKey: ["forget-look", client], queryFn: () => forgetClient(client, { dry_run: true }), gcTime: 0, staleTime: Infinity, retry: false });
  const [typed, setTyped] = useState("");
  const [removed, setRemoved] = useState<number | null>(null);
  const stopped = useRef(false);
  const found = Object.values(looked.data?.found ?? {});
  const sum = found.every((one) => one !== null) ? found.reduce<number>((all, one) => all + (one ?? 0), 0) : null;

  const run = async () => {
    stopped.current = false;
    let all = 0;
    let after = "";
    setRemoved(0);
    try {
      for (;;) {
        const part = await forgetClient(client, { after });
        all += Object.values(part.removed).reduce<number>((one, more) => one + more, 0);
        setRemoved(all);
        if (part.after === null) {
          say(W.forgotten(client, count(all)));
          onForgotten();
          return;
        }
        if (stopped.current) break;
        after = part.after;
      }
      say(W.forgetStopped(client));
    } catch (error) {
      sayFailed(error);
    }
    onClose();
  };
  return (
    <Dialog
      title={W.forgetTitle(client)}
      onClose={onClose}
      busy={removed !== null}
      footer={
        removed !== null ? <button type="button" className="button" onClick={() => (stopped.current = true)}>{words.bulk.stop}</button> : (
          <>
            <button type="button" className="button" onClick={onClose} autoFocus>{words.words.back}</button>
            <button type="button" className="button danger" disabled={!looked.data || typed !== client} onClick={() => void run()}>{W.forgetButton}</button>
          </>
        )
      }
    >
      {looked.error ? <TroubleState error={looked.error} retry={() => void looked.refetch()} /> : (
        <div className="flex flex-col gap-3">
          <p className="m-0">{looked.data ? W.forgetFound(sum === null ? words.unknown : words.words.messages(sum)) : words.loading}</p>
          <p className="m-0 text-soft">{W.forgetBody}</p>
          <details className="text-soft"><summary className="cursor-pointer">{W.outOfReach}</summary><ul className="m-0 mt-1 pl-4">{looked.data?.out_of_reach.map((one) => <li key={one}>{one}</li>)}</ul></details>
          {removed === null
            ? <label className="flex flex-col gap-1 text-[12px] text-soft">{W.typeName(client)}<input className="field mono" value={typed} spellCheck={false} autoComplete="off" onChange={(event) => setTyped(event.target.value)} /></label>
            : <p className="m-0 tabular-nums" role="status">{W.forgetSoFar(count(removed))}</p>}
        </div>
      )}
    </Dialog>
  );
}
