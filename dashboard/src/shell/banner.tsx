// The server or its store is away: said once above every page, which keeps its last figures.
import { useQuery } from "@tanstack/react-query";
import { troubleOf } from "../api/problem";
import { overview } from "../api/queries";
import { wholeDuration } from "../format/duration";
import { retryLive, useLive } from "../live/live";
import { TickText } from "../parts/tick";
import { words } from "../words";

export function AwayBanner() {
  const { status, retryAt } = useLive();
  const { error } = useQuery({ ...overview, enabled: false });
  if (status !== "away") return null;
  // A server that answers, but not with data: the page says why.
  const isStore = !!error && troubleOf(error) === "store";
  if (error && !isStore && troubleOf(error) !== "disconnected") return null;
  const left = () => wholeDuration(Math.max(0, ((retryAt ?? performance.now()) - performance.now()) / 1000));
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-soon-ground px-4 py-2 sm:px-6.5">
      <strong role="alert" className="font-semibold text-soon-ink">{isStore ? words.states_.store : words.live.away}</strong>
      <TickText className="text-soft" of={() => words.live.awayMore(left())} />
      <button type="button" className="button ml-auto" onClick={retryLive}>{words.live.tryNow}</button>
    </div>
  );
}
