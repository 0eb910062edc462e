// Every look at the server, as options for `useQuery`.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { isLive } from "../live/live";
import { refreshed } from "../live/clock";
import { get, getText, pathOf, type Params } from "./client";
import { keys } from "./keys";
import type * as api from "./schema";

/** While the stream is away, snapshots are asked for at the interval that the server says. */
const afterSnapshot = (data: { next_snapshot_in: number } | undefined) => (isLive() ? false : Math.max(1, data?.next_snapshot_in ?? 2) * 1000);

export const session = queryOptions({
  queryKey: keys.session,
  queryFn: ({ signal }) => get<api.SessionInfo>("/session", {}, signal),
  staleTime: 60_000,
});

export const overview = queryOptions({
  queryKey: keys.overview,
  queryFn: async ({ signal }) => {
    const found = await get<api.OverviewSnapshot>("/snapshots/overview", {}, signal);
    refreshed();
    return found;
  },
  refetchInterval: (query) => afterSnapshot(query.state.data),
  staleTime: 5_000,
});

export const soonLeases = queryOptions({
  queryKey: keys.soonLeases,
  queryFn: ({ signal }) => get<api.LeasesSnapshot>("/snapshots/leases", {}, signal),
  refetchInterval: (query) => afterSnapshot(query.state.data),
  staleTime: 5_000,
});

/** All leases, where there are more than the stream follows. */
export const allLeases = queryOptions({
  queryKey: keys.leases,
  queryFn: ({ signal }) => get<api.LeasesSnapshot>("/snapshots/leases", {}, signal),
  refetchInterval: 5_000,
});

export const queues = queryOptions({
  queryKey: keys.queues,
  queryFn: ({ signal }) => get<api.QueuesSnapshot>("/snapshots/queues", {}, signal),
  refetchInterval: (query) => (query.state.data && query.state.data.queues.length > 200 ? 15_000 : 5_000),
});

export const tasks = queryOptions({
  queryKey: keys.tasks,
  queryFn: ({ signal }) => get<api.TaskPage>("/tasks", { limit: 1000 }, signal),
  refetchInterval: 15_000,
});

export interface FiguresAsk extends Params {
  seconds: number;
  step?: number;
  queue?: string;
  task?: string;
}

export const figures = (ask: FiguresAsk) =>
  queryOptions({
    queryKey: [...keys.figures, ask],
    queryFn: ({ signal }) => get<api.FiguresReport>("/figures", ask, signal),
    refetchInterval: ask.seconds <= 3600 ? 10_000 : 60_000,
    placeholderData: keepPreviousData,
    staleTime: 9_000,
  });

export const message = (id: string) =>
  queryOptions({
    queryKey: keys.message(id),
    // As a text: payload and result must stay as they were written.
    queryFn: ({ signal }) => getText(pathOf`/messages/${id}`, {}, signal),
    refetchInterval: (query) => (query.state.data?.includes('"state":"leased"') ? 3_000 : 15_000),
  });

export const deadGroups = (ask: Params = {}) =>
  queryOptions({
    queryKey: [...keys.dead, "groups", ask],
    queryFn: ({ signal }) => get<api.DeadGroups>("/dead/groups", ask, signal),
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  });

export const workers = queryOptions({
  queryKey: keys.workers,
  queryFn: ({ signal }) => get<api.WorkerPage>("/workers", { limit: 1000 }, signal),
  refetchInterval: 5_000,
});

export const schedules = queryOptions({
  queryKey: keys.schedules,
  queryFn: ({ signal }) => get<api.SchedulePage>("/schedules", { limit: 1000 }, signal),
  refetchInterval: 10_000,
});

export const settings = queryOptions({
  queryKey: keys.settings,
  queryFn: ({ signal }) => get<api.SettingList>("/settings", {}, signal),
  staleTime: 60_000,
});
