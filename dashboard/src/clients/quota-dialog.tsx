// Sets the quota of a client, or removes what was set.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { clearQuota, setQuota } from "../acts/requests";
import type { ClientStatus } from "../api/schema";
import { say } from "../parts/toast";
import { FormDialog, TextField } from "../webhooks/form";
import { words } from "../words";

const W = words.clients;
const shown = (value: number | string | null | undefined) => (value === null || value === undefined ? "" : String(value));
const whole = (text: string) => (text.trim() ? Number(text.replaceAll(",", "")) : null);

export function QuotaDialog({ client, onClose }: { client: ClientStatus; onClose: () => void }) {
  const quota = client.quota;
  const [waiting, setWaiting] = useState(shown(quota?.waiting));
  const [running, setRunning] = useState(shown(quota?.running));
  const [rate, setRate] = useState(shown(quota?.rate));
  const [payload, setPayload] = useState(shown(quota?.payload_bytes));
  const isEmpty = ![waiting, running, rate, payload].some((one) => one.trim());
  const numbers = [whole(waiting), whole(running)];
  const isGood = numbers.every((one) => one === null || Number.isInteger(one)) && (!isEmpty || quota?.at != null);
  const isTakenAway = ([[quota?.waiting, waiting], [quota?.running, running], [quota?.rate, rate], [quota?.payload_bytes, payload]] as const).some(([before, now]) => before != null && !now.trim());
  const sending = useMutation({
    mutationFn: async () => {
      // A part alone cannot be taken away: then all of it is, and what is left is set again.
      if (quota?.at != null && isTakenAway) await clearQuota(client.client);
      if (!isEmpty) await setQuota(client.client, { waiting: numbers[0] ?? null, running: numbers[1] ?? null, rate: rate.trim() || null, payload: payload.trim() || null });
    },
    onSuccess: () => {
      say(isEmpty ? W.quotaCleared(client.client) : W.quotaSet(client.client));
      onClose();
    },
  });
  return (
    <FormDialog id="quota" title={W.quotaTitle(client.client)} button={isEmpty ? W.quotaClear : W.quotaSave} isGood={isGood} isBusy={sending.isPending} error={sending.error} onSend={() => sending.mutate()} onClose={onClose}>
      <p className="m-0 text-soft">{W.quotaBody}</p>
      <TextField label={W.waitingField} hint={W.waitingHint} value={waiting} onChange={setWaiting} placeholder={W.noQuota} autoFocus />
      <TextField label={W.runningField} hint={W.runningHint} value={running} onChange={setRunning} placeholder={W.noQuota} />
      <TextField label={W.rateField} hint={W.rateHint} value={rate} onChange={setRate} placeholder={W.noQuota} />
      <TextField label={W.payloadField} hint={W.payloadHint} value={payload} onChange={setPayload} placeholder={W.noQuota} />
    </FormDialog>
  );
}
