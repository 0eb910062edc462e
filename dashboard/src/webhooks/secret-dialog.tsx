// A secret that was just made: shown once. It closes by its button alone, so that no stray click loses it.
import { CopyButton } from "../parts/copy";
import { Dialog } from "../parts/dialog";
import { words } from "../words";

const W = words.webhooks;

export function SecretDialog({ name, secret, onClose }: { name: string; secret: string; onClose: () => void }) {
  return (
    <Dialog title={W.secretTitle(name)} onClose={onClose} busy footer={<button type="button" className="button main" onClick={onClose}>{W.secretKept}</button>}>
      <div className="flex flex-col gap-3">
        <p className="m-0 text-soft">{W.secretBody}</p>
        <p className="mono m-0 rounded-md border border-line bg-ground px-3 py-2 wrap-anywhere text-ink select-all">{secret}</p>
        <span><CopyButton wide text={secret} label={W.copySecret} /></span>
      </div>
    </Dialog>
  );
}
