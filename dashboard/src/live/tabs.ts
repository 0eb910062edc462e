// One stream a browser: the tab that leads has it and shares what comes; tabs that nobody looks at have none.
//
// A browser allows six connections to a host: six tabs with a stream each would hang the seventh. The leader holds a
// lock that the browser frees when the tab is closed, hidden or killed; then the next visible tab leads. Browsers give
// no locks to pages on plain HTTP from another machine: there each visible tab has its own stream.
import { config } from "../api/config";
import type { LeasesSnapshot, OverviewSnapshot } from "../api/schema";
import type { LiveEvent, SnapshotMessage, Status, TabMessage, Wants } from "./messages";
import { Stream } from "./stream";

export interface TabEvents {
  status: (status: Status, retryInMs: number | null) => void;
  events: (events: LiveEvent[]) => void;
  snapshot: (message: SnapshotMessage) => void;
  /** What a leader knows already, for a tab that joins. */
  state: (overview: OverviewSnapshot | undefined, leases: LeasesSnapshot | undefined) => void;
  known: () => { overview?: OverviewSnapshot; leases?: LeasesSnapshot };
}

const NAME = `tenure-live${config.base}`;

export class Tabs {
  private readonly id = crypto.getRandomValues(new Uint32Array(2)).join("-");
  private readonly channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel(NAME);
  private readonly stream: Stream;
  private readonly others = new Map<string, Wants>();
  private wants: Wants = { completed: false };
  private isLeading = false;
  private isRunning = false;
  private stopLeading: (() => void) | null = null;
  private waiting: AbortController | null = null;
  private lastStatus: Status = "connecting";

  constructor(private readonly on: TabEvents) {
    this.stream = new Stream({
      status: (status, retryIn) => {
        this.lastStatus = status;
        this.share({ kind: "status", status, retryIn });
        on.status(status, retryIn);
      },
      events: (events) => {
        this.share({ kind: "events", events });
        on.events(events);
      },
      snapshot: (message) => {
        this.share({ kind: "snapshot", message });
        on.snapshot(message);
      },
    });
    if (this.channel) this.channel.onmessage = (message) => this.heard(message.data as TabMessage);
  }

  start(): void {
    document.addEventListener("visibilitychange", () => (document.hidden ? this.leave() : this.join()));
    window.addEventListener("pagehide", () => this.leave());
    window.addEventListener("pageshow", () => !document.hidden && this.join());
    if (!document.hidden) this.join();
  }

  ask(wants: Wants): void {
    this.wants = wants;
    if (this.isLeading) this.stream.open(this.allWants());
    else this.share({ kind: "wants", tab: this.id, wants });
  }

  retry(): void {
    this.stream.retry();
  }

  private join(): void {
    if (this.isRunning) return;
    this.isRunning = true;
    if (!navigator.locks || !this.channel) {
      this.lead();
      return;
    }
    this.share({ kind: "hello", wants: this.wants });
    this.share({ kind: "wants", tab: this.id, wants: this.wants });
    this.waiting = new AbortController();
    const ended = new Promise<void>((resolve) => (this.stopLeading = resolve));
    navigator.locks
      .request(NAME, { signal: this.waiting.signal }, () => {
        this.lead();
        return ended;
      })
      .catch(() => undefined);
  }

  private leave(): void {
    if (!this.isRunning) return;
    this.isRunning = false;
    this.share({ kind: "wants", tab: this.id, wants: null });
    this.waiting?.abort();
    this.isLeading = false;
    this.stream.close();
    this.stopLeading?.();
    this.stopLeading = null;
  }

  private lead(): void {
    if (!this.isRunning) return;
    this.isLeading = true;
    this.stream.open(this.allWants());
  }

  private allWants(): Wants {
    return { completed: this.wants.completed || [...this.others.values()].some((one) => one.completed) };
  }

  private share(message: TabMessage): void {
    if (this.channel && (this.isLeading || message.kind === "wants" || message.kind === "hello")) this.channel.postMessage(message);
  }

  private heard(message: TabMessage): void {
    if (message.kind === "wants") {
      if (message.wants) this.others.set(message.tab, message.wants);
      else this.others.delete(message.tab);
      if (this.isLeading) this.stream.open(this.allWants());
      return;
    }
    if (message.kind === "hello") {
      if (!this.isLeading) return;
      this.share({ kind: "state", ...this.on.known(), place: this.stream.place ?? 0 });
      this.share({ kind: "status", status: this.lastStatus, retryIn: null });
      return;
    }
    if (this.isLeading || !this.isRunning) return;
    switch (message.kind) {
      case "status":
        this.on.status(message.status, message.retryIn);
        break;
      case "events":
        this.stream.place = message.events.reduce((place, one) => Math.max(place, one.seq), this.stream.place ?? 0);
        this.on.events(message.events);
        break;
      case "snapshot":
        this.on.snapshot(message.message);
        break;
      case "state":
        this.stream.place = message.place || this.stream.place;
        this.on.state(message.overview, message.leases);
        break;
    }
  }
}
