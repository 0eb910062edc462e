// The connection: one EventSource, opened again where it was when it breaks.
import { apiRoot } from "../api/config";

import { backoffMs } from "./backoff";
import { readEvent, type LiveEvent, type SnapshotMessage, type Status, type Wants } from "./messages";

/** Leases that the stream follows, those that end soonest: all that are overdue or late, and what a page shows first. */
const FOLLOWED_LEASES = 200;
/** A stream sends a heartbeat every 15 s: one that is silent for longer is dead, whatever the browser believes. */
const SILENCE_MS = 40_000;
/** Events are handed on together, so that a burst renders a page once. */
const GATHER_MS = 100;

export interface StreamEvents {
  status: (status: Status, retryInMs: number | null) => void;
  events: (events: LiveEvent[]) => void;
  snapshot: (message: SnapshotMessage) => void;
}

export class Stream {
  /** The place in the journal up to which everything was seen; null: begin with what comes now. */
  place: number | null = null;
  private source: EventSource | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private watchdog: ReturnType<typeof setTimeout> | null = null;
  private gathered: LiveEvent[] = [];
  private gathering: ReturnType<typeof setTimeout> | null = null;
  private tries = 0;
  private wants: Wants = { completed: false };

  constructor(private readonly on: StreamEvents) {}

  /** Open it, or open it anew where something else is wanted. */
  open(wants: Wants): void {
    if (this.source && this.wants.completed === wants.completed) return;
    this.wants = wants;
    this.connect();
  }

  close(): void {
    this.drop();
    this.tries = 0;
  }

  /** Try now, not later. */
  retry(): void {
    if (!this.source || this.source.readyState === EventSource.CLOSED) this.connect();
  }

  private connect(): void {
    this.drop();
    this.on.status("connecting", null);
    const query = new URLSearchParams([["snapshot", "overview"], ["snapshot", "leases"], ["leases", String(FOLLOWED_LEASES)]]);
    if (this.wants.completed) query.set("completed", "true");
    if (this.place !== null) query.set("after", String(this.place));
    const source = new EventSource(`${apiRoot}/events/stream?${query}`);
    this.source = source;
    source.onopen = () => {
      this.tries = 0;
      this.heard();
      this.on.status("live", null);
    };
    source.onerror = () => this.failed();
    source.onmessage = (message) => {
      this.heard();
      const event = readEvent(message.data as string, message.lastEventId);
      if (!event) return;
      if (event.seq) this.place = event.seq;
      this.gather(event);
    };
    source.addEventListener("snapshot", (message) => {
      this.heard();
      if (message.lastEventId) this.place = Math.max(this.place ?? 0, Number(message.lastEventId) || 0);
      const read = JSON.parse((message as MessageEvent<string>).data) as { payload: SnapshotMessage };
      this.on.snapshot(read.payload);
    });
    this.heard();
  }

  private gather(event: LiveEvent): void {
    this.gathered.push(event);
    this.gathering ??= setTimeout(() => {
      this.gathering = null;
      const events = this.gathered;
      this.gathered = [];
      this.on.events(events);
    }, GATHER_MS);
  }

  private heard(): void {
    if (this.watchdog !== null) clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => this.failed(), SILENCE_MS);
  }

  private failed(): void {
    this.drop();
    const wait = backoffMs(this.tries);
    this.tries += 1;
    this.on.status(this.tries > 1 ? "away" : "connecting", wait);
    this.timer = setTimeout(() => this.connect(), wait);
  }

  private drop(): void {
    this.source?.close();
    this.source = null;
    for (const one of [this.watchdog, this.timer]) if (one !== null) clearTimeout(one);
    this.watchdog = this.timer = null;
  }
}
