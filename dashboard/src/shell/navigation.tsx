// The left rail: pages with their counts, and below how fresh everything is.
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import { findings, overview } from "../api/queries";
import { shortCount } from "../format/number";
import { words } from "../words";
import { Brand } from "./brand";
import { Freshness } from "./freshness";

export const PAGES = [
  { to: "/", name: "overview", key: "o" },
  { to: "/queues", name: "queues", key: "q" },
  { to: "/clients", name: "clients", key: "n" },
  { to: "/leases", name: "leases", key: "l" },
  { to: "/messages", name: "messages", key: "m" },
  { to: "/dead", name: "dead", key: "d" },
  { to: "/workers", name: "workers", key: "w" },
  { to: "/schedules", name: "schedules", key: "c" },
  { to: "/webhooks", name: "webhooks", key: "h" },
  { to: "/findings", name: "findings", key: "f" },
  { to: "/events", name: "events", key: "e" },
  { to: "/system", name: "system", key: "s" },
] as const;

/** Counts of what is wrong: shown from one on, and coloured. */
const LOUD: Partial<Record<(typeof PAGES)[number]["name"], string>> = { dead: "text-dead", findings: "text-soon-ink" };

let areSeveral = false;

/** Whether there were several clients among the queues of the overview since the page was opened. */
function haveSeenClients(queues: readonly { queue: string }[] | undefined): boolean {
  areSeveral ||= (queues ?? []).filter((one) => one.queue.endsWith("-tasks")).length > 1;
  return areSeveral;
}

export function Navigation({ onGo }: { onGo?: () => void }) {
  const { data } = useQuery(overview);
  const open = useQuery(findings).data?.open;
  const isAtClients = useLocation({ select: ({ pathname }) => pathname.startsWith("/clients") });
  const counts: Partial<Record<(typeof PAGES)[number]["name"], number | null>> = data
    ? { findings: open, queues: data.queue_count, leases: data.lease_count ?? data.total.running, dead: data.total.dead, workers: data.total.workers }
    : {};
  return (
    <nav aria-label={words.nav.main} className="flex h-full flex-col gap-px overflow-y-auto px-2.5 pt-3.5 text-[13px]">
      <Link to="/" className="mb-2.5 px-2.5 py-1 text-ink no-underline" onClick={onGo}><Brand /></Link>
      {PAGES.map(({ to, name }) => {
        const number = counts[name];
        // Of one client there is nothing to compare; its queue says all.
        if (name === "clients" && !isAtClients && !haveSeenClients(data?.queues)) return null;
        return (
          <Link
            key={name}
            to={to}
            onClick={onGo}
            activeOptions={{ exact: to === "/", includeSearch: false }}
            className="flex min-h-[30px] items-center justify-between rounded-md px-2.5 text-soft no-underline hover:bg-hover hover:text-ink max-sm:min-h-10"
            activeProps={{ className: "bg-hover font-[550] text-ink!", "aria-current": "page" }}
          >
            {words.nav[name]}
            {number !== undefined && number !== null && (!LOUD[name] || number > 0) && (
              <span className={`tabular-nums ${LOUD[name] ? `font-[550] ${LOUD[name]}` : "text-faint"}`}>{shortCount(number)}</span>
            )}
          </Link>
        );
      })}
      <Freshness />
    </nav>
  );
}
