// Deliveries page by page, and how many endings wait to become some.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { get } from "../api/client";
import { keys } from "../api/keys";
import type { Delivery, DeliveryPage } from "../api/schema";
import { serverNow } from "../live/clock";

export type Show = "waiting" | "failed" | "done";
/** With the moment of the next attempt, so that it counts down between two looks. */
export type TimedDelivery = Delivery & { next_at: number | null };

const PAGE = 100;
/** What arrived is filtered as it is read: empty pages are read on by themselves, so often. */
const LOOKS_ON = 5;

export function useDeliveries(show: Show, endpoint: string | undefined) {
  const found = useInfiniteQuery({
    queryKey: [...keys.webhooks, "deliveries", show, endpoint ?? ""],
    queryFn: async ({ pageParam, signal }) => timed(await get<DeliveryPage>("/webhooks/deliveries", { show, endpoint, limit: PAGE, after: pageParam }, signal)),
    initialPageParam: "",
    getNextPageParam: (page) => page.after ?? undefined,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) <= 1 ? 10_000 : false),
    maxPages: 100,
  });
  const pages = found.data?.pages;
  // What moves between pages may be seen twice.
  const rows = useMemo(() => [...new Map(pages?.flatMap((page) => page.deliveries).map((one) => [one.id, one])).values()], [pages]);
  useEffect(() => {
    if (found.hasNextPage && !found.isFetching && rows.length === 0 && (pages?.length ?? 0) < LOOKS_ON) void found.fetchNextPage();
  }, [found, rows.length, pages?.length]);
  return { found, rows, waiting: pages?.[0]?.waiting };
}

function timed(page: DeliveryPage): Omit<DeliveryPage, "deliveries"> & { deliveries: TimedDelivery[] } {
  const now = serverNow();
  return { ...page, deliveries: page.deliveries.map((one) => ({ ...one, next_at: one.next_in === null ? null : now + one.next_in })) };
}
