// How fresh everything is: live with its age, or stale, or away; the store; the time; the theme.
import { useState, useSyncExternalStore } from "react";
import { duration, wholeDuration } from "../format/duration";
import { clockTime, utc } from "../format/moment";
import { dataAge } from "../live/clock";
import { useLive } from "../live/live";
import { Icon } from "../parts/icon";
import { TickText, useNow } from "../parts/tick";
import { words } from "../words";
import { currentDensity, onDensityChange, toggleDensity } from "./density";
import { useSession } from "./session";
import { applyTheme, currentTheme, type Theme } from "./theme";

export function isStale(age: number | null, interval: number): boolean {
  return age !== null && age > 3 * interval + 2;
}

export function Freshness() {
  const { status, interval } = useLive();
  const now = useNow();
  const session = useSession();
  const age = dataAge();
  const stale = status === "away" || isStale(age, interval);
  const word = status === "away" ? words.live.stale : age === null ? words.live.connecting : stale ? words.live.stale : words.live.live;
  return (
    <div className="mt-auto flex flex-col gap-0.5 px-2.5 pt-6 pb-3.5 text-[12px] leading-[1.6] text-faint">
      <div className={`flex items-center gap-1.5 ${stale ? "text-soon-ink" : ""}`} title={stale ? words.live.staleTitle : undefined}>
        <span className={`inline-block size-[7px] rounded-full ${stale ? "bg-soon" : age === null ? "bg-faint" : "bg-done"}`} />
        {word}
        {age !== null && <span className="tabular-nums">· {stale ? wholeDuration(age) : duration(Math.max(0.1, age))}</span>}
      </div>
      {interval > 5 && <div>{words.live.cloud(duration(interval))}</div>}
      {session.store && <div className="truncate" title={session.store}>{shortStore(session.store)}</div>}
      {session.namespace && <div className="truncate">{session.namespace}/</div>}
      <div className="flex items-center justify-between">
        <TickText of={(moment) => clockTime(moment)} title={`${words.live.clockTitle} ${utc(now)}`} className="tabular-nums" />
        <span className="flex items-center gap-0.5"><DensityChoice /><ThemeChoice /></span>
      </div>
    </div>
  );
}

/** A file's path is cut from the left: its name says most. */
function shortStore(store: string): string {
  return store.startsWith("sqlite:") ? `sqlite · ${store.slice(store.lastIndexOf("/") + 1)}` : store.replace(/\?.*$/, "");
}

function DensityChoice() {
  const density = useSyncExternalStore(onDensityChange, currentDensity);
  const isHigh = density === "comfortable";
  const label = `${words.theme.density}: ${isHigh ? words.theme.comfortable : words.theme.compact}`;
  return (
    <button type="button" className="button quiet size-6! min-h-6! p-0! text-faint!" aria-label={label} title={label} onClick={toggleDensity}>
      <Icon name={isHigh ? "rows" : "lines"} />
    </button>
  );
}

function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>(currentTheme);
  return (
    <select
      className="cursor-pointer rounded border-0 bg-transparent py-0.5 text-[12px] text-faint hover:text-ink"
      aria-label={words.theme.label}
      value={theme}
      onChange={(event) => {
        const next = event.target.value as Theme;
        applyTheme(next);
        setTheme(next);
      }}
    >
      <option value="system">{words.theme.system}</option>
      <option value="light">{words.theme.light}</option>
      <option value="dark">{words.theme.dark}</option>
    </select>
  );
}
