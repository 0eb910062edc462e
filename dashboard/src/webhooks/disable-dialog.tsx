// Disables an endpoint, with a reason that others will read.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { disableEndpoint } from "../acts/requests";
import { say } from "../parts/toast";
import { words } from "../words";
import { FormDialog, TextField } from "./form";

const W = words.webhooks;
/** The server takes so many signs. */
const LONGEST = 500;

export function DisableDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const disabling = useMutation({
    mutationFn: () => disableEndpoint(name, reason.trim()),
    onSuccess: ({ changed }) => {
      say(changed ? W.didDisable(name) : W.wasDisabled(name));
      onClose();
    },
  });
  return (
    <FormDialog id="disable" title={W.disableTitle(name)} button={W.disableButton} isBusy={disabling.isPending} error={disabling.error} onSend={() => disabling.mutate()} onClose={onClose}>
      <p className="m-0 text-soft">{W.disableBody}</p>
      <TextField label={W.reason} value={reason} onChange={setReason} placeholder={W.reasonExample} maxLength={LONGEST} autoFocus />
    </FormDialog>
  );
}
