// The left rail: pages with their counts, and below how fresh everything is.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { overview } from "../api/queries";
import { shortCount } from "../format/number";
import { words } from "../words";
import { Brand } from "./brand";
import { Freshness } from "./freshness";

export const PAGES = [
  { to: "/", name: "overview", key: "o" },
  { to: "/queues", name: "queues", key: "q" },
  { to: "/leases", name: "leases", key: "l" },
  { to: "/messages", name: "messages", key: "m" },
  { to: "/dead", name: "dead", key: "d" },
  { to: "/workers", name: "workers", key: "w" },
  { to: "/schedules", name: "schedules", key: "c" },
  { to: "/events", name: "events", key: "e" },
  { to: "/system", name: "system", key: "s" },
] as const;

export function Navigation({ onGo }: { onGo?: () => void }) {
  const { data } = useQuery(overview);
  const counts: Partial<Record<(typeof PAGES)[number]["name"], number | null>> = data
    ? { queues: data.queue_count, leases: data.lease_count ?? data.total.running, dead: data.total.dead, workers: data.total.workers }
    : {};
  return (
    <nav aria-label={words.nav.main} className="flex h-full flex-col gap-px overflow-y-auto px-2.5 pt-3.5 text-[13px]">
      <Link to="/" className="mb-2.5 px-2.5 py-1 text-ink no-underline" onClick={onGo}><Brand /></Link>
      {PAGES.map(({ to, name }) => {
        const number = counts[name];
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
            {number !== undefined && number !== null && (name !== "dead" || number > 0) && (
              <span className={`tabular-nums ${name === "dead" ? "font-[550] text-dead" : "text-faint"}`}>{shortCount(number)}</span>
            )}
          </Link>
        );
      })}
      <Freshness />
    </nav>
  );
}
