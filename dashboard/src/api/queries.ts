// Every look at the server, as options for `useQuery`.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { isLive } from "../live/live";
import { refreshed } from "../live/clock";
import { get, getText, pathOf, type Params } from "./client";
import { keys } from "./keys";
import { orNothing } from "./optional";
import { troubleOf } from "./problem";
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

/** Messages that the handler of this one sent. Null: the server is too old to say. */
export const children = (id: string, isRunning: boolean) =>
  queryOptions({
    queryKey: [...keys.message(id), "children"],
    queryFn: ({ signal }) => orNothing("children", get<api.ChildList>(pathOf`/messages/${id}/children`, {}, signal)),
    refetchInterval: (query) => (query.state.data === null ? false : isRunning ? 10_000 : 60_000),
  });

export const group = (id: string) =>
  queryOptions({
    queryKey: keys.group(id),
    queryFn: ({ signal }) => get<api.GroupDetail>(pathOf`/groups/${id}`, {}, signal),
    refetchInterval: (query) => (query.state.data && query.state.data.ended_at !== null ? 60_000 : 3_000),
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

/** Who uses this installation, and how much. */
export const clients = queryOptions({
  queryKey: [...keys.clients, "all"],
  queryFn: ({ signal }) => get<api.ClientPage>("/clients", { limit: 1000 }, signal),
  refetchInterval: (query) => (query.state.data && query.state.data.clients.length > 200 ? 15_000 : 5_000),
});

export const client = (name: string) =>
  queryOptions({
    queryKey: [...keys.clients, "one", name],
    queryFn: ({ signal }) => get<api.ClientDetail>(pathOf`/clients/${name}`, {}, signal),
    refetchInterval: 5_000,
  });

/** Webhook endpoints, and how they answer. */
export const webhookEndpoints = queryOptions({
  queryKey: [...keys.webhooks, "endpoints"],
  queryFn: ({ signal }) => get<api.EndpointPage>("/webhooks/endpoints", { limit: 1000 }, signal),
  refetchInterval: 10_000,
});

/** What is wrong, the worst first. Null: the server is too old to say. */
export const findings = queryOptions({
  queryKey: keys.findings,
  queryFn: ({ signal }) => orNothing("findings", get<api.FindingPage>("/findings", { limit: 1000 }, signal)),
  refetchInterval: (query) => (query.state.data === null ? false : 15_000),
});

/** How many workers each queue needs. Null: the server is too old to say. */
export const scaling = queryOptions({
  queryKey: keys.scaling,
  queryFn: ({ signal }) => orNothing("scaling", get<api.ScalingReport>("/scaling", { limit: 1000 }, signal)),
  refetchInterval: (query) => (query.state.data === null ? false : 30_000),
});

/** What the figures of a task say about its lease. Null: the server is too old to say. */
export const timing = (queue: string, task: string) =>
  queryOptions({
    queryKey: [...keys.timing, queue, task],
    queryFn: ({ signal }) => orNothing("timing", get<api.TimingReport>("/timing", { queue, task }, signal)),
    refetchInterval: (query) => (query.state.data === null ? false : 60_000),
  });

/** Who did what of late, for the marks in a plot. */
export const recentActs = queryOptions({
  queryKey: [...keys.acts, "recent"],
  queryFn: ({ signal }) => get<api.ActList>("/acts", { limit: 100 }, signal),
  refetchInterval: 30_000,
});

/** The newest event of leases that were returned; what comes after it is in the stream. Null: there was none. */
export const lastReturn = queryOptions({
  queryKey: ["events", "last-return"],
  queryFn: async ({ signal }) => {
    const { events } = await get<api.EventPage>("/events", { limit: 1, kind: ["requeue", "move_to_dlq"] }, signal);
    return events.findLast((one) => one.kind === "requeue" || one.kind === "move_to_dlq") ?? null;
  },
  staleTime: Infinity,
});

const TICKS = 6;

/** The last ticks of a schedule, newest first. */
export const ticksOf = ({ name, queue, task }: api.ScheduleStatus) =>
  queryOptions({
    queryKey: [...keys.schedules, "ticks", name, queue, task],
    queryFn: async ({ signal }) => {
      const { events } = await get<api.EventPage>("/events", { limit: 100, kind: ["ticked"], queue: [queue], task }, signal);
      return events.filter((one) => one.data["schedule"] === name).slice(-TICKS).reverse();
    },
    refetchInterval: 30_000,
  });

/** Where a message is. Null: its record has expired. */
export const messageStatus = (id: string) =>
  queryOptions({
    queryKey: [...keys.message(id), "status"],
    queryFn: async ({ signal }) => {
      try {
        return await get<api.MessageStatus>(pathOf`/messages/${id}/status`, {}, signal);
      } catch (error) {
        if (troubleOf(error) === "missing") return null;
        throw error;
      }
    },
    refetchInterval: (query) => (query.state.data?.finished_at ? false : 15_000),
  });

export const settings = queryOptions({
  queryKey: keys.settings,
  queryFn: ({ signal }) => get<api.SettingList>("/settings", {}, signal),
  staleTime: 60_000,
});
