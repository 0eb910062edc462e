// What the first page shows, in the cache before it is drawn: it is drawn once, and not as a frame that fills.
import { isEarly } from "./early";
import { deadGroups, figures, overview, queues, session, soonLeases, workers } from "./queries";
import { queryClient } from "./query-client";

/** Until all that `public/start.js` asked for is here. Each keeps its own failure for whoever shows it. */
export async function firstData(): Promise<void> {
  const isOverview = isEarly("/dead/groups");
  const hour = figures({ seconds: 3600, step: 60 });
  await Promise.all([
    queryClient.prefetchQuery(session),
    isEarly("/snapshots/overview") && queryClient.prefetchQuery(overview),
    isEarly("/snapshots/leases") && queryClient.prefetchQuery(soonLeases),
    isEarly("/snapshots/queues") && queryClient.prefetchQuery(queues),
    isOverview && queryClient.prefetchQuery(hour),
    isOverview && queryClient.prefetchQuery(deadGroups()),
    isOverview && queryClient.prefetchQuery(workers),
  ]);
}
