// What the stream of the server carries, and what tabs of one browser say to each other.
import type { HeldLease, LeasesSnapshot, OverviewSnapshot } from "../api/schema";

/** One event of the journal, as the stream has it. */
export interface LiveEvent {
  /** Its place in the journal; 0: about the stream itself (`gap`, `away`, `back`). */
  seq: number;
  type: string;
  /** Unix seconds. */
  at: number;
  payload: EventPayload;
}

export interface EventPayload {
  queue?: string;
  task?: string;
  message_id?: string;
  owner?: string;
  attempt?: number;
  seconds?: number;
  [name: string]: unknown;
}

/** What a tab wants of the stream. */
export interface Wants {
  /** Completed messages too, as the Events page asks. */
  completed: boolean;
}

export type Status = "connecting" | "live" | "away";

export interface LiveState {
  status: Status;
  /** When the next try is due, by this tab's `performance.now()`; null: none is planned. */
  retryAt: number | null;
  /** Seconds between two snapshots, as the broker's trait says. */
  interval: number;
}

export type TabMessage =
  | { kind: "hello"; wants: Wants }
  | { kind: "wants"; tab: string; wants: Wants | null }
  | { kind: "status"; status: Status; retryIn: number | null }
  | { kind: "events"; events: LiveEvent[] }
  | { kind: "snapshot"; message: SnapshotMessage }
  | { kind: "state"; overview?: OverviewSnapshot; leases?: LeasesSnapshot; place: number };

/** An event from the bytes of the stream; null: it cannot be read. */
export function readEvent(data: string, lastEventId: string): LiveEvent | null {
  try {
    const { type, timestamp, payload } = JSON.parse(data) as { type: string; timestamp: number; payload: EventPayload };
    const isOfStream = type === "gap" || type === "away" || type === "back";
    return { seq: isOfStream ? 0 : Number(lastEventId) || 0, type, at: timestamp / 1000, payload: payload ?? {} };
  } catch {
    return null;
  }
}

/** The payload of a message of kind `snapshot`. What is missing is as before, or was not asked for. */
export interface SnapshotMessage {
  times: SnapshotTimes;
  overview?: OverviewSnapshot;
  leases?: LeaseChanges;
}

export interface SnapshotTimes {
  server_now: number;
  made_at: number;
  next_snapshot_in: number;
  last_sweep_at: number | null;
  next_sweep_at: number | null;
}

/** How to make the rows of now from those of before. */
export interface LeaseChanges {
  /** Begin with no row: `changed` are all of them. */
  is_whole: boolean;
  changed: HeldLease[];
  removed: string[];
  is_cut: boolean;
}
