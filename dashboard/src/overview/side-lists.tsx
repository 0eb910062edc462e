// Beside the overview: what runs for longest, and what died last.
import { Link } from "@tanstack/react-router";
import type { DeadGroups, HeldLease } from "../api/schema";
import { wholeDuration } from "../format/duration";
import { shortId } from "../format/names";
import { plural } from "../format/number";
import { Panel } from "../parts/page";
import { LoadingRows } from "../parts/states";
import { TickText } from "../parts/tick";
import { Ago } from "../parts/when";
import { useOpenMessage } from "../shell/side-panel";
import { words } from "../words";

const W = words.overview;

export function LongestRuns({ leases }: { leases: readonly HeldLease[] }) {
  const { open, openId } = useOpenMessage();
  return (
    <Panel title={W.longest}>
      {leases.length === 0 ? <p className="m-0 px-4 py-3 text-soft">{W.longestNone}</p> : (
        <ul className="m-0 list-none p-0">
          {leases.slice(0, 5).map((lease) => (
            <li key={lease.id} className="border-b border-line-soft last:border-0">
              <button type="button" onClick={() => open(lease.id)} className={`flex h-[46px] w-full items-center justify-between gap-3 px-4 text-left hover:bg-hover ${openId === lease.id ? "bg-chosen" : ""}`}>
                <span className="min-w-0"><span className="block truncate">{lease.task ?? words.unknown}</span><span className="mono block truncate text-soft">{shortId(lease.id)}</span></span>
                <TickText className="number whitespace-nowrap" of={(now) => (lease.leased_at === null ? words.unknown : wholeDuration(now - lease.leased_at))} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

export function NewestDead({ groups }: { groups: DeadGroups | undefined }) {
  const newest = groups?.groups.toSorted((one, other) => (other.last_at ?? 0) - (one.last_at ?? 0)).slice(0, 5);
  return (
    <Panel title={W.newestDead}>
      {!newest ? <LoadingRows rows={3} /> : newest.length === 0 ? <p className="m-0 px-4 py-3 text-soft">{W.newestDeadNone}</p> : (
        <ul className="m-0 list-none p-0">
          {newest.map((group) => (
            <li key={group.fingerprint} className="border-b border-line-soft last:border-0">
              <Link to="/dead" search={{ group: group.fingerprint }} className="flex h-[46px] items-center justify-between gap-3 px-4 text-ink no-underline hover:bg-hover">
                <span className="min-w-0"><span className="block truncate" title={group.text ?? undefined}>{group.error || group.text || group.code}</span><span className="mono block truncate text-soft">{group.task ?? words.unknown} · {plural(group.count, "message")}</span></span>
                <span className="number whitespace-nowrap"><Ago at={group.last_at} /></span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
