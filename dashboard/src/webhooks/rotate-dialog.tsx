// A new secret for an endpoint; for a while both sign.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { rotateEndpoint } from "../acts/requests";
import { Select } from "../parts/select";
import { say } from "../parts/toast";
import { words } from "../words";
import { FormDialog, TextField } from "./form";
import { SecretDialog } from "./secret-dialog";

const W = words.webhooks;

export function RotateDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const [overlap, setOverlap] = useState("86400");
  const [secret, setSecret] = useState("");
  const [made, setMade] = useState<string | null>(null);
  const rotating = useMutation({
    mutationFn: () => rotateEndpoint(name, { secret: secret.trim() || null, overlap_seconds: Number(overlap) }),
    onSuccess: (done) => {
      if (done.secret !== null) return setMade(done.secret);
      say(W.rotated(name));
      onClose();
    },
  });
  if (made !== null) return <SecretDialog name={name} secret={made} onClose={onClose} />;
  return (
    <FormDialog id="rotate" title={W.rotateTitle(name)} button={W.rotateButton} isBusy={rotating.isPending} error={rotating.error} onSend={() => rotating.mutate()} onClose={onClose}>
      <p className="m-0 text-soft">{W.rotateBody}</p>
      <label className="flex flex-wrap items-center gap-2 text-soft">
        {W.overlap}
        <Select value={overlap} onChange={(event) => setOverlap(event.target.value)}>{OVERLAPS.map((one) => <option key={one} value={one}>{W.overlaps[one]}</option>)}</Select>
      </label>
      <TextField label={W.secretField} hint={W.secretHint} value={secret} onChange={setSecret} isMono />
    </FormDialog>
  );
}

const OVERLAPS = ["86400", "604800", "3600", "0"] as const;
