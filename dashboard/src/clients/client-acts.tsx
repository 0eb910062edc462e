// What can be done with all that a client has: pause and purge by operators; its quota, and forgetting it, by admins.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Confirm, useDoing } from "../acts/confirm";
import { pauseClient, resumeClient } from "../acts/requests";
import type { ClientStatus } from "../api/schema";
import { count } from "../format/number";
import { PurgeDialog } from "../queues/purge-dialog";
import { useActs } from "../shell/session";
import { words } from "../words";
import { waitingOf } from "./client-columns";
import { ForgetDialog } from "./forget-dialog";
import { QuotaDialog } from "./quota-dialog";

const W = words.clients;

export function ClientActs({ client }: { client: ClientStatus }) {
  const [asks, setAsks] = useState<"pause" | "purge" | "quota" | "forget" | null>(null);
  const operate = useActs();
  const admin = useActs("admin");
  const doing = useDoing();
  const navigate = useNavigate();
  const name = client.client;
  const close = () => setAsks(null);
  const button = (label: string, { may, why }: typeof operate, act: () => void, isBusy = false) => <button type="button" className="button" disabled={!may || isBusy} title={why} onClick={act}>{label}</button>;
  return (
    <>
      {client.paused
        ? button(words.queues.resume, operate, () => doing.mutate({ act: () => resumeClient(name), done: () => W.resumed(name) }), doing.isPending)
        : button(words.queues.pause, operate, () => setAsks("pause"))}
      {button(words.queues.purge, operate, () => setAsks("purge"))}
      {button(W.quotaAct, admin, () => setAsks("quota"))}
      {button(W.forget, admin, () => setAsks("forget"))}
      {asks === "pause" && <Confirm title={words.queues.pauseTitle(name)} button={words.queues.pause} act={() => pauseClient(name)} done={() => W.paused(name)} onClose={close}>{W.pauseBody(count(waitingOf(client)), count(client.running))}</Confirm>}
      {asks === "purge" && <PurgeDialog queue={client.queue} onClose={close} />}
      {asks === "quota" && <QuotaDialog client={client} onClose={close} />}
      {asks === "forget" && <ForgetDialog client={name} onClose={close} onForgotten={() => void navigate({ to: "/clients" })} />}
    </>
  );
}
