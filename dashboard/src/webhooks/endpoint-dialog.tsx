// Adds a webhook endpoint, or changes one: where it is, which endings it gets, who may name it.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { addEndpoint, changeEndpoint } from "../acts/requests";
import type { EndpointStatus, MessageState } from "../api/schema";
import { say } from "../parts/toast";
import { words } from "../words";
import { namesIn } from "./endpoint-state";
import { FormDialog, TextField } from "./form";
import { SecretDialog } from "./secret-dialog";

const W = words.webhooks;
const EVENTS: readonly MessageState[] = ["completed", "dead", "cancelled"];

/** Without an endpoint it adds one; `onAdded` has its name. */
export function EndpointDialog({ endpoint, onClose, onAdded }: { endpoint?: EndpointStatus; onClose: () => void; onAdded?: (name: string) => void }) {
  const [name, setName] = useState(endpoint?.name ?? "");
  const [url, setUrl] = useState(endpoint?.url ?? "");
  const [clients, setClients] = useState(endpoint?.clients.join(", ") ?? "");
  const [events, setEvents] = useState<readonly MessageState[]>(endpoint?.events ?? EVENTS);
  const [hosts, setHosts] = useState(endpoint?.hosts.join(", ") ?? "");
  const [secret, setSecret] = useState("");
  const [made, setMade] = useState<string | null>(null);
  const sending = useMutation({
    mutationFn: async () => {
      const given = { url: url.trim(), clients: namesIn(clients), events: [...events], hosts: namesIn(hosts) };
      if (!endpoint) return (await addEndpoint({ ...given, name: name.trim(), secret: secret.trim() || null })).secret;
      await changeEndpoint(endpoint.name, given);
      return null;
    },
    onSuccess: (shown) => {
      onAdded?.(name.trim());
      if (shown !== null) return setMade(shown);
      say(endpoint ? W.changed(endpoint.name) : W.addedWith(name.trim()));
      onClose();
    },
  });
  if (made !== null) return <SecretDialog name={name.trim()} secret={made} onClose={onClose} />;
  const toggle = (event: MessageState) => setEvents(EVENTS.filter((one) => (one === event) !== events.includes(one)));
  return (
    <FormDialog id="endpoint" title={endpoint ? W.changeTitle(endpoint.name) : W.addTitle} button={endpoint ? W.changeButton : W.addButton} isGood={!!name.trim() && !!url.trim() && events.length > 0} isBusy={sending.isPending} error={sending.error} onSend={() => sending.mutate()} onClose={onClose}>
      {!endpoint && <TextField label={W.name} hint={W.nameHint} value={name} onChange={setName} required autoFocus maxLength={100} placeholder={W.nameExample} />}
      <TextField label={W.urlField} value={url} onChange={setUrl} isMono required placeholder={W.urlExample} />
      <fieldset className="m-0 flex flex-wrap gap-x-5 gap-y-1 border-0 p-0">
        <legend className="mb-1 p-0 text-[12px] text-soft">{W.eventsField}</legend>
        {EVENTS.map((one) => (
          <label key={one} className="flex min-h-6 items-center gap-2"><input type="checkbox" checked={events.includes(one)} onChange={() => toggle(one)} />{W.ends[one]}</label>
        ))}
      </fieldset>
      <TextField label={W.clientsField} hint={W.clientsHint} value={clients} onChange={setClients} />
      <TextField label={W.hostsField} hint={W.hostsHint} value={hosts} onChange={setHosts} />
      {!endpoint && <TextField label={W.secretField} hint={W.secretHint} value={secret} onChange={setSecret} isMono />}
    </FormDialog>
  );
}
