// Live data for the pages: what comes by the stream goes into the same cache that requests fill.
import { useEffect, useSyncExternalStore } from "react";
import { queryClient } from "../api/query-client";
import { keys } from "../api/keys";
import type { LeasesSnapshot, OverviewSnapshot } from "../api/schema";
import { refreshed, seen } from "./clock";
import * as eventList from "./event-list";
import { withChanges } from "./lease-rows";
import type { LiveEvent, LiveState, SnapshotMessage } from "./messages";
import { staleAfter } from "./stale-keys";
import { Tabs } from "./tabs";

const FIRST_LOOK_MS = 2000;

let wasLive = false;
let state: LiveState = { status: "connecting", retryAt: null, interval: 1 };
const listeners = new Set<() => void>();

function setState(next: Partial<LiveState>): void {
  state = { ...state, ...next };
  for (const listener of listeners) listener();
}

export function useLive(): LiveState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}

export const isLive = () => state.status === "live";

function onSnapshot(message: SnapshotMessage): void {
  const { times } = message;
  seen(times.server_now);
  refreshed();
  if (Math.abs(times.next_snapshot_in - state.interval) > 0.25 && times.next_snapshot_in > state.interval) setState({ interval: times.next_snapshot_in });
  if (message.overview) queryClient.setQueryData(keys.overview, { ...message.overview, ...times });
  else queryClient.setQueryData<OverviewSnapshot>(keys.overview, (before) => before && { ...before, ...times });
  queryClient.setQueryData<LeasesSnapshot>(keys.soonLeases, (before) => withChanges(before, message.leases, times));
}

function onEvents(events: LiveEvent[]): void {
  eventList.add(events);
  staleAfter(events);
}

const tabs = new Tabs({
  status: (status, retryIn) => {
    const came = status === "live" && state.status !== "live";
    const isFirst = came && !wasLive;
    wasLive ||= came;
    setState({ status, retryAt: retryIn === null ? null : performance.now() + retryIn });
    // What was asked for while the stream was opened is a moment old: it is read anew, but not before the page is usable.
    if (came) setTimeout(() => void queryClient.invalidateQueries({ refetchType: "active" }), isFirst ? FIRST_LOOK_MS : 0);
  },
  events: onEvents,
  snapshot: onSnapshot,
  state: (overview, leases) => {
    if (overview) queryClient.setQueryData(keys.overview, overview);
    if (leases) queryClient.setQueryData(keys.soonLeases, leases);
  },
  known: () => ({ overview: queryClient.getQueryData(keys.overview), leases: queryClient.getQueryData(keys.soonLeases) }),
});

let isStarted = false;

export function startLive(): void {
  if (isStarted) return;
  isStarted = true;
  tabs.start();
}

export const retryLive = () => tabs.retry();

/** While this page is shown, completed messages are in the stream too. */
export function useCompletedEvents(wanted: boolean): void {
  useEffect(() => {
    if (!wanted) return;
    tabs.ask({ completed: true });
    return () => tabs.ask({ completed: false });
  }, [wanted]);
}

export function useEvents(): readonly LiveEvent[] {
  return useSyncExternalStore(eventList.subscribe, eventList.newest);
}
