// Parent and children: the message whose handler handed this one on, and those that its own handler handed on.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { children as childrenQuery } from "../api/queries";
import { shortId } from "../format/names";
import { count } from "../format/number";
import { MessageLink } from "../parts/links";
import { Panel } from "../parts/page";
import { StateWord } from "../parts/state-word";
import { words } from "../words";
import type { ExactDetail } from "./detail";

const W = words.message;
/** So many are shown at first. */
const SHOWN = 8;

export function Family({ exact: { detail } }: { exact: ExactDetail }) {
  const { data } = useQuery(childrenQuery(detail.id, detail.state === "leased"));
  const [showsAll, setShowsAll] = useState(false);
  const parent = detail.message?.parent_id ?? data?.parent_id;
  const found = data?.children ?? [];
  if (!parent && !found.length) return null;
  return (
    <Panel title={found.length ? W.family : W.parentTitle} aside={found.length > 1 ? `${count(found.length)}${data?.more ? "+" : ""} ${W.children}` : undefined}>
      {parent && <p className="m-0 flex items-center justify-between gap-3 border-b border-line-soft px-4 py-1.5 last:border-0"><span className="text-soft">{W.parent}</span><MessageLink id={parent} /></p>}
      {found.length > 0 && (
        <ul className="m-0 list-none p-0">
          {found.slice(0, showsAll ? undefined : SHOWN).map((one) => (
            <li key={one.id} className="border-b border-line-soft last:border-0">
              <Link to="/messages/$id" params={{ id: one.id }} className="flex items-center gap-2.5 px-4 py-1.5 text-ink no-underline hover:bg-hover" title={one.id}>
                <StateWord bare state={one.state} />
                <span className="min-w-0 flex-1 truncate">{one.task ?? words.messages.unreadable}{one.queue !== detail.queue && <span className="text-soft"> {one.queue}</span>}</span>
                <span className="mono text-soft">{shortId(one.id)}</span>
              </Link>
            </li>
          ))}
          {!showsAll && found.length > SHOWN && <li><button type="button" className="w-full px-4 py-1.5 text-left text-soft hover:bg-hover hover:text-ink" onClick={() => setShowsAll(true)}>{W.moreChildren(found.length - SHOWN)}</button></li>}
        </ul>
      )}
    </Panel>
  );
}
