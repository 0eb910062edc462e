// Links to what a page names: the same look everywhere.
import { Link } from "@tanstack/react-router";
import { shortId, shortOwner } from "../format/names";

export function QueueLink({ queue }: { queue: string }) {
  return <Link to="/queues/$name" params={{ name: queue }} title={queue}>{queue}</Link>;
}

export function MessageLink({ id, full }: { id: string; full?: boolean }) {
  return <Link to="/messages/$id" params={{ id }} className="mono text-soft" title={id}>{full ? id : shortId(id)}</Link>;
}

export function WorkerName({ owner }: { owner: string | null | undefined }) {
  return owner ? <span className="mono text-soft" title={owner}>{shortOwner(owner)}</span> : <>—</>;
}
