// Purge: says how many of which state first; they are chosen one by one.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { purgeQueue } from "../acts/requests";
import { count } from "../format/number";
import { Dialog } from "../parts/dialog";
import { TroubleState } from "../parts/states";
import { StateWord } from "../parts/state-word";
import { say, sayFailed } from "../parts/toast";
import { words } from "../words";

const W = words.queues;
const STATES = ["ready", "delayed", "dead"] as const;
type State = (typeof STATES)[number];

export function PurgeDialog({ queue, onClose }: { queue: string; onClose: () => void }) {
  const counted = useQuery({ queryKey: ["purge-count", queue], queryFn: () => purgeQueue(queue, STATES, true), gcTime: 0, staleTime: Infinity });
  const [chosen, setChosen] = useState<ReadonlySet<State>>(new Set(["ready", "delayed"]));
  const would = counted.data?.would ?? {};
  const numbers = [...chosen].map((one) => would[one] ?? null);
  const isKnown = numbers.every((one) => one !== null);
  const sum = numbers.reduce<number>((all, one) => all + (one ?? 0), 0);
  const purging = useMutation({
    mutationFn: async () => {
      let purged = 0;
      for (;;) {
        const part = await purgeQueue(queue, [...chosen], false);
        purged += part.purged;
        if (!part.more || !part.purged) return purged;
      }
    },
    onSuccess: (purged) => say(W.purged(purged, queue)),
    onError: sayFailed,
    onSettled: onClose,
  });
  const toggle = (state: State) => {
    const next = new Set(chosen);
    if (!next.delete(state)) next.add(state);
    setChosen(next);
  };
  return (
    <Dialog
      title={W.purgeTitle(queue)}
      onClose={onClose}
      busy={purging.isPending}
      footer={
        <>
          <button type="button" className="button" onClick={onClose} disabled={purging.isPending}>{words.words.back}</button>
          <button type="button" className="button danger" disabled={!chosen.size || (isKnown && !sum) || purging.isPending || !counted.data} onClick={() => purging.mutate()}>{W.purgeButton(isKnown ? words.words.messages(sum) : "")}</button>
        </>
      }
    >
      {counted.error ? <TroubleState error={counted.error} retry={() => void counted.refetch()} /> : (
        <div className="flex flex-col gap-3">
          <p className="m-0 text-soft">{W.purgeBody}</p>
          <fieldset className="m-0 flex flex-col gap-1 border-0 p-0">
            <legend className="sr-only">{W.purgeStates}</legend>
            {STATES.map((state) => (
              <label key={state} className="flex h-8 items-center gap-3">
                <input type="checkbox" checked={chosen.has(state)} onChange={() => toggle(state)} />
                <StateWord state={state} />
                <span className="number ml-auto">{counted.data ? count(would[state]) : words.loading}</span>
              </label>
            ))}
          </fieldset>
        </div>
      )}
    </Dialog>
  );
}
