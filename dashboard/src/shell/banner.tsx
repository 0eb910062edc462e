// The server or its store is away: said once above every page, which keeps its last figures.
import { wholeDuration } from "../format/duration";
import { retryLive, useLive } from "../live/live";
import { TickText } from "../parts/tick";
import { words } from "../words";

export function AwayBanner() {
  const { status, retryAt } = useLive();
  if (status !== "away") return null;
  const left = () => wholeDuration(Math.max(0, ((retryAt ?? performance.now()) - performance.now()) / 1000));
  return (
    <div role="alert" className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-soon-ground px-4 py-2 sm:px-6.5">
      <strong className="font-semibold text-soon-ink">{words.live.away}</strong>
      <TickText className="text-soft" of={() => words.live.awayMore(left())} />
      <button type="button" className="button ml-auto" onClick={retryLive}>{words.live.tryNow}</button>
    </div>
  );
}
