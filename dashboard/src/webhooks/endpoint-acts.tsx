// What can be done with a webhook endpoint: test, disable and enable by operators; change, rotate and remove by admins.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Confirm, useDoing } from "../acts/confirm";
import { enableEndpoint, removeEndpoint, testEndpoint } from "../acts/requests";
import type { EndpointChange, EndpointStatus } from "../api/schema";
import { duration } from "../format/duration";
import { count } from "../format/number";
import { say, sayFailed } from "../parts/toast";
import { useActs } from "../shell/session";
import { words } from "../words";
import { DisableDialog } from "./disable-dialog";
import { EndpointDialog } from "./endpoint-dialog";
import { RotateDialog } from "./rotate-dialog";

const W = words.webhooks;

export function EndpointActs({ endpoint, waiting }: { endpoint: EndpointStatus; waiting: number | undefined }) {
  const [asks, setAsks] = useState<"change" | "rotate" | "disable" | "remove" | null>(null);
  const operate = useActs();
  const admin = useActs("admin");
  const doing = useDoing();
  const { name } = endpoint;
  const close = () => setAsks(null);
  const testing = useMutation({
    mutationFn: () => testEndpoint(name),
    onSuccess: ({ ok, status, seconds, text }) => (ok && status !== null ? say(W.tested(name, status, duration(seconds))) : say(W.testFailed(name, status, duration(seconds), text), true)),
    onError: sayFailed,
  });
  const button = (label: string, { may, why }: typeof operate, act: () => void, isBusy = false) => <button type="button" className="button" disabled={!may || isBusy} title={why} onClick={act}>{label}</button>;
  return (
    <>
      {button(testing.isPending ? W.testing : W.test, operate, () => testing.mutate(), testing.isPending)}
      {endpoint.disabled
        ? button(W.enable, operate, () => doing.mutate({ act: () => enableEndpoint(name), done: (done: EndpointChange) => (done.changed ? W.enabled(name) : W.wasEnabled(name)) }), doing.isPending)
        : button(W.disable, operate, () => setAsks("disable"))}
      {button(W.change, admin, () => setAsks("change"))}
      {button(W.rotate, admin, () => setAsks("rotate"))}
      {button(W.remove, admin, () => setAsks("remove"))}
      {asks === "disable" && <DisableDialog name={name} onClose={close} />}
      {asks === "change" && <EndpointDialog endpoint={endpoint} onClose={close} />}
      {asks === "rotate" && <RotateDialog name={name} onClose={close} />}
      {asks === "remove" && <Confirm danger title={W.removeTitle(name)} button={W.removeButton} act={() => removeEndpoint(name)} done={() => W.removed(name)} onClose={close}>{W.removeBody}{waiting ? ` ${W.removeWaiting(count(waiting))}` : ""}</Confirm>}
    </>
  );
}
