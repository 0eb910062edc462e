// Asks before an act that cannot be taken back, and does it.
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Dialog } from "../parts/dialog";
import { say, sayFailed } from "../parts/toast";
import { words } from "../words";

export function Confirm<T>({ title, children, button, danger, act, done, onClose }: {
  title: string;
  children: ReactNode;
  button: string;
  danger?: boolean;
  act: () => Promise<T>;
  done: (result: T) => string;
  onClose: () => void;
}) {
  const doing = useMutation({
    mutationFn: act,
    onSuccess: (result) => {
      say(done(result));
      onClose();
    },
    onError: (error) => {
      sayFailed(error);
      onClose();
    },
  });
  return (
    <Dialog
      title={title}
      onClose={onClose}
      busy={doing.isPending}
      footer={
        <>
          <button type="button" className="button" onClick={onClose} disabled={doing.isPending} autoFocus={danger}>{words.words.back}</button>
          <button type="button" className={`button ${danger ? "danger" : "main"}`} onClick={() => doing.mutate()} disabled={doing.isPending} autoFocus={!danger}>{button}</button>
        </>
      }
    >
      <div className="m-0 text-soft">{children}</div>
    </Dialog>
  );
}

/** An act that can be taken back: done at once, and said. */
export function useDoing() {
  return useMutation({
    mutationFn: async ({ act, done }: { act: () => Promise<unknown>; done: (result: never) => string }) => {
      const result = await act();
      say(done(result as never));
    },
    onError: sayFailed,
  });
}
