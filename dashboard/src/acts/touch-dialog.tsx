// Touch: the lease of a running message is made to end no sooner than so long from now.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { duration, parseDuration } from "../format/duration";
import { Choice } from "../parts/choice";
import { Dialog } from "../parts/dialog";
import { say, sayFailed } from "../parts/toast";
import { words } from "../words";
import { touchLease } from "./requests";

const W = words.touch;
const OFFERED = ["30", "120", "600", "3600"] as const;

export function TouchDialog({ id, task, onClose }: { id: string; task: string; onClose: () => void }) {
  const [text, setText] = useState<string>(OFFERED[1]);
  const seconds = parseDuration(text);
  const isGood = seconds !== null && seconds > 0;
  const touching = useMutation({
    mutationFn: () => touchLease(id, seconds ?? 0),
    onSuccess: (touched) => say(W.done(task, duration(touched.deadline_in))),
    onError: sayFailed,
    onSettled: onClose,
  });
  return (
    <Dialog
      title={W.title}
      onClose={onClose}
      busy={touching.isPending}
      footer={
        <>
          <button type="button" className="button" onClick={onClose} disabled={touching.isPending}>{words.words.back}</button>
          <button type="submit" form="touch" className="button main" disabled={!isGood || touching.isPending}>{W.button}</button>
        </>
      }
    >
      <form id="touch" className="flex flex-col gap-3" onSubmit={(event) => { event.preventDefault(); if (isGood) touching.mutate(); }}>
        <p className="m-0 text-soft">{W.body(task)}</p>
        <div className="flex flex-wrap items-center gap-3">
          <Choice label={W.seconds} value={OFFERED.find((one) => one === text) ?? ""} options={OFFERED.map((one) => [one, duration(Number(one)).replace(/ 00 [sm]$/, "")] as const)} onChange={setText} />
          <label className="flex items-center gap-2 text-soft">
            {W.other}
            <input className="field w-28 text-right" value={OFFERED.some((one) => one === text) ? "" : text} placeholder="5m" aria-invalid={!isGood || undefined} onChange={(event) => setText(event.target.value || OFFERED[1])} />
          </label>
        </div>
        {isGood && <p className="m-0" role="status">{W.until(duration(seconds))}</p>}
      </form>
    </Dialog>
  );
}
