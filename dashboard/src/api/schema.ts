// Generated from docs/reference/openapi.json by scripts/api-types.mjs: `make dashboard` writes it.

/** What a principal may do. None of them includes another one. */
export type AccessScope = "admin" | "consume" | "operate" | "payload" | "read" | "send";

/** What is known of a token, without its secret. */
export interface AccessToken {
  id: string;
  /** Whose it is; the audit log names it. */
  name: string;
  scopes: AccessScope[];
  /** Names and patterns of queues. */
  queues: string[];
  /** Wall times by the store's clock. */
  created_at: number;
  created_by: string;
  /** Null: it does not expire. */
  expires_at: number | null;
  /** When it was last used, to the minute. Null: never. */
  used_at: number | null;
}

/** One act, with its place in the log. */
export interface ActEntry {
  /** Its place in the log; grows. */
  seq: number;
  /** The kind of its event, such as `cancelled` or `paused`. */
  kind: string;
  at: number;
  /** Who; empty: unknown. */
  by: string;
  /** Through which door: `cli`, `api`, `http`, `dashboard`. */
  triggered_by: string;
  /** The address of an HTTP client; empty: this machine. */
  source: string;
  queue: string | null;
  /** Messages that it changed. */
  count: number;
  /** The first 100 of them. */
  ids: string[];
  /** What else there is to say. */
  data: Record<string, unknown>;
}

/** Acts, newest first. */
export interface ActList {
  acts: ActEntry[];
  /** Older ones: ask again with this as `before`. Null: there are none. */
  before: number | null;
}

/** What an act on many messages came to. */
export interface BulkResult {
  /** Messages that were meant. */
  found: number;
  /** Messages that were changed; of a dry run none. */
  done: number;
  /** They had moved on when it came to them, and were left alone. */
  skipped: number;
  dry_run: boolean;
  /** There are more than one call deals with; the same call goes on. */
  more: boolean;
  /** Those that were changed; of a dry run those that were found. */
  ids: string[];
  /** How many were found of each task and reason, such as "resize (max_attempts)", or of each state. */
  kinds: Record<string, number>;
}

/** Which messages to cancel: those of `ids`, or all that match every filter. */
export interface CancelRequest {
  /** Only these; no filter goes with them. */
  ids?: string[];
  /** Names, or patterns such as `acme-*`. */
  queues?: string[];
  task?: string | null;
  /** Sent, or died, not before this: Unix seconds or RFC 3339. */
  since?: string | number | null;
  /** Every one that there is. Without it a request needs ids or a filter. */
  all?: boolean;
  /** Only say how many. */
  dry_run?: boolean;
  /** At most so many in this request. */
  limit?: number;
  /** Of `leased`, `ready` and `delayed`. */
  states?: MessageState[];
  client?: string | null;
  key?: string | null;
  /** Found in the id, the payload or the reason. Needs the scope `payload`. */
  text?: string | null;
  /** Sent before this: Unix seconds or RFC 3339. */
  until?: string | number | null;
  /** At most so many a second, evenly; not with `ids`. The request then ends after about 20 s. */
  per_second?: number | null;
}

/** What became of several cancels, in the order of the ids. */
export interface CancelResult {
  messages: CancelledMessage[];
  found: number;
  done: number;
  /** They had ended before, and stayed as they were. */
  skipped: number;
}

/** What became of one cancel. */
export interface CancelledMessage {
  id: string;
  cancelled: boolean;
  /** Its state before. */
  was: MessageState;
  /** The worker that ran it. */
  owner: string | null;
}

/** One difference. */
export interface Change {
  /** As in `payload.width`, `payload.images[2]`, `queue`, `priority`. */
  path: string;
  kind: "added" | "changed" | "removed";
  /** None where it was added. */
  before: unknown;
  /** None where it was removed. */
  after: unknown;
}

/** How often things happened to a message, by logical id, since its last redrive. */
export interface Counters {
  /** Times it was lent. Information only. */
  deliveries: number;
  /** Times a handler ended in error, timeout or `Retry`. Only this meets `max_attempts`. */
  attempts: number;
  /** Times its owner was seen to die while holding it. */
  crashes: number;
  /** Times a worker's lease ended unseen. The third makes it run alone; those while it ran alone meet `max_lost`. */
  lost: number;
}

/** Dead letters that died of the same thing. */
export interface DeadGroup {
  /** Names the group; the same at every look, on every store. */
  fingerprint: string;
  /** Null: they cannot be read. */
  task: string | null;
  /** The code of the reason. */
  code: string;
  /** The class of the exception. Empty: there was none. */
  error: string;
  /** The deepest frame of your own code, as in `jobs.py:12 in resize`. Empty: not known. */
  place: string;
  /** The sentence of the newest one. Null: it is left out for who may not see payloads. */
  text: string | null;
  count: number;
  /** By queue, how many. */
  queues: Record<string, number>;
  /** Unix seconds: when the first and the last of them died. Null: not kept. */
  first_at: number | null;
  last_at: number | null;
  /** How many died in each hour, the oldest first, up to now (`DeadGroups.hours_since`). */
  by_hour: number[];
  /** The newest ids. */
  ids: string[];
  /** The traceback of the newest one, with the frames of your own code. Empty: there is none. Null: left out. */
  traceback: string | null;
  redacted: boolean;
}

/** The groups, the largest first. */
export interface DeadGroups {
  groups: DeadGroup[];
  /** Dead letters that were looked at. */
  looked_at: number;
  /** There are more than were looked at. */
  more: boolean;
  /** Unix seconds: where `DeadGroup.by_hour` begins. */
  hours_since: number;
}

/** Which dead letters: those of `ids`, or all that match every filter. */
export interface DeadSelection {
  /** Only these; no filter goes with them. */
  ids?: string[];
  /** Names, or patterns such as `acme-*`. */
  queues?: string[];
  task?: string | null;
  /** Sent, or died, not before this: Unix seconds or RFC 3339. */
  since?: string | number | null;
  /** Every one that there is. Without it a request needs ids or a filter. */
  all?: boolean;
  /** Only say how many. */
  dry_run?: boolean;
  /** At most so many in this request. */
  limit?: number;
  /** The code of the reason, such as `max_attempts`. */
  reason?: string | null;
  /** Those of one group: its `fingerprint`. */
  fingerprint?: string | null;
  /** Died before this: Unix seconds or RFC 3339. */
  before?: string | number | null;
}

/** What of a dead letter is to be different. */
export interface EditRequest {
  /** The whole new payload. Null: as it was. */
  payload?: Record<string, unknown> | null;
  /** Another queue. Null: its own. */
  queue?: string | null;
  /** 0 to 9. Null: as it was. */
  priority?: number | null;
  /** Only check, and say what would change. */
  dry_run?: boolean;
}

/** What an edit changed, or would change. */
export interface EditResult {
  id: string;
  /** Of the message that was sent in its place. Null: it was a dry run. */
  new_id: string | null;
  queue: string;
  changes: Change[];
  /** Whether the payload was checked by the task's signature. False: the app does not know the task. */
  checked: boolean;
  dry_run: boolean;
  /** `before` and `after` are left out. */
  redacted: boolean;
}

/** How one run of the message ended, for its history. `at` is wall time. */
export interface Ending {
  at: number;
  /** failed, crashed, lost, given_back, dead, redriven, cancelled */
  how: string;
  owner?: string | null;
  reason?: Reason | null;
}

/** One event, with its place in the journal. */
export interface EventEntry {
  /** Its place in the journal; grows. */
  seq: number;
  kind: EventKind;
  at: number;
  queue: string | null;
  task: string | null;
  message_id: string | null;
  /** The worker. */
  owner: string | null;
  /** Number of the run. */
  attempt: number | null;
  /** How long the handler ran. */
  seconds: number | null;
  /** What else this kind says. */
  data: Record<string, unknown>;
  redacted: boolean;
}

/** Every kind of fact. The words are promises: dashboards and alerts are built on them. */
export type EventKind = "cancelled" | "completed" | "dead" | "deleted" | "deletions" | "duplicate" | "edited" | "file_size_detected" | "forgotten" | "given_back" | "heartbeat_failed" | "late_settle" | "lease_lost" | "loop_blocked" | "move_to_dlq" | "moved" | "owner_joined" | "owner_left" | "owner_retired" | "paused" | "purged" | "queue_deleted" | "redriven" | "requeue" | "resumed" | "retried" | "schedule_paused" | "schedule_resumed" | "schedule_run" | "snoozed" | "sweep_grace" | "ticked";

/** One page, oldest first. */
export interface EventPage {
  events: EventEntry[];
  /** Where to go on: `EventQuery.after` of the next page. All before it was looked at. */
  after: number;
  /** Where to go back further: `EventQuery.before`. Null: `before` was not asked for, or there is nothing older. */
  before: number | null;
  /** The places of the oldest and the newest event that are kept; 0: there is none. */
  first: number;
  last: number;
  /** Events between the asked place and `first` were forgotten before they were read. */
  gap: boolean;
}

/** What was counted of a queue, of a task in a queue, or of everything, over some seconds. */
export interface Figures {
  /** Null: all queues. `OTHER`: those beyond the first 200 series of a process. */
  queue: string | null;
  /** Null: all tasks. Empty: messages whose task is not known (returned by a sweep, unreadable). */
  task: string | null;
  /** The length of the window. */
  seconds: number;
  /** Messages by outcome; the words are those of events: completed, retried, dead, given_back … */
  counts: Record<string, number>;
  /** Messages a second that left the queue for good: completed, dead, duplicates. */
  rate_out: number;
  /** Messages a second that came in, by the change of depth. Null: depth is a guess here, or was not stored, or this is a task (depth is of a queue). */
  rate_in: number | null;
  /** Of the runs that a handler ended by itself (completed, retried, dead) the part that failed. Null: there was none. */
  error_share: number | null;
  /** How long handlers ran. Null: none did. */
  duration: Quantiles | null;
  /** From the send to the start of the first delivery, with any delay that was asked for. Null: there were none. */
  wait: Quantiles | null;
  /** p95 of the duration over the lease that was lent: over 1, runs live by their heartbeats. Null: nothing ran. */
  lease_use: number | null;
  /** Messages by the number of their delivery: 1, 2, 3, 4, and 5 or more. */
  deliveries: number[];
  /** Leases that were renewed. */
  beats: number;
  /** Runs whose lease was lost. */
  lost_leases: number;
  /** Messages that were done already, and only deleted. */
  duplicates: number;
  /** Bytes of envelopes. */
  size: number;
  /** How settles ended: deleted, returned, dead, already_gone, taken_over, unknown. */
  settlements: Record<string, number>;
}

/** What was counted between two moments. It ends with the last bucket that is complete, up to 10 s ago. */
export interface FiguresReport {
  /** Unix seconds by the store's clock. */
  since: number;
  until: number;
  /** Seconds between two points. */
  step: number;
  /** How often processes store what they counted. */
  store_seconds: number;
  /** Of all that was asked for together. */
  total: Figures;
  /** By queue. Empty where one task was asked for. */
  queues: Figures[];
  /** By queue and task. */
  tasks: Figures[];
  /** The course, oldest first. Empty where no step was asked for. */
  points: Point[];
}

/** What went through a queue, or a task of it, in the last minute or so (`Overview.window_seconds`). */
export interface Flow {
  /** Messages a second that were sent. */
  in_per_second: number | null;
  /** Messages a second that ended: completed, or dead. */
  out_per_second: number | null;
  /** How long handlers ran. */
  p50_seconds: number | null;
  p95_seconds: number | null;
  /** Of the runs that ended, the part that failed. */
  error_share: number | null;
  /** p95 of the runs over the lease that they had. Over 1: they live by their heartbeats. */
  lease_use: number | null;
  /** Messages a second that ended, in steps of ten seconds, oldest first. */
  history: number[];
}

/** Whose code a frame is. */
export type FrameKind = "library" | "tenure" | "user";

/** Frames, the outermost first, and what the innermost waits for side by side. */
export interface FrameStack {
  frames: StackFrame[];
  /** So many frames were cut out of the middle. */
  left_out: number;
  branches: StackBranch[];
}

/** A worker that is proven gone; a sweep returns what it held. */
export interface GoneWorker {
  id: string;
  proof: string;
}

/** Where one message is in its worker, and what its handler does at this moment. */
export interface HandlerStack {
  id: string;
  queue: string;
  /** Null: it cannot be read. */
  task: string | null;
  /** The worker that holds it. */
  owner: string;
  /** Wall time by the store's clock. */
  taken_at: number;
  phase: RunPhase;
  /** Null: it does not run. */
  runs_in: Place | null;
  /** Of the process in which its handler runs. */
  pid: number | null;
  /** Null: its handler has not begun. */
  running_seconds: number | null;
  stack: FrameStack;
  holds: Holds | null;
  /** For so long, as far as is known. */
  holds_seconds: number | null;
  /** The id of another message whose handler blocks the worker's event loop, so that this one does not move. */
  held_up_by: string | null;
  /** What else there is to say, such as why there are no frames. One sentence, or empty. */
  note: string;
  /** Resident memory of the process in which its handler runs. Null: the system does not say. */
  memory_bytes: number | null;
  /** What the handler said last by `ctx.progress`, in this run. */
  progress: Progress | null;
  /** So long ago. */
  progress_age_seconds: number | null;
  /** The text of `progress` was left out, because the one who asked may not see payloads. */
  redacted: boolean;
}

/** One sentence, and how bad it is. */
export interface Headline {
  mood: Mood;
  text: string;
}

/** One lease as the store knows it. Times are Unix seconds by the store's clock. None: cannot be known. */
export interface HeldLease {
  id: string;
  queue: string;
  task: string | null;
  owner: string;
  fence: number;
  /** Number of the run. */
  attempt: number;
  leased_at: number | null;
  deadline: number;
  /** Seconds until `deadline` at the moment of reading; negative: overdue. */
  deadline_in: number;
  /** What each touch grants. */
  seconds: number;
  /** Touches so far. Short messages end before their first one. */
  beats: number;
  /** Null: not touched yet. */
  last_beat_at: number | null;
  progress: Progress | null;
  /** Of the work, in whatever the task counts; told with a beat. */
  size: number | null;
  /** How long the worker expects the run to take; told with a beat. */
  predicted_seconds: number | null;
  /** False: the holder never joined the roster (an HTTP client, a loop of the user's own). */
  has_presence: boolean;
}

/** A message that a worker holds. */
export interface HeldMessage {
  id: string;
  queue: string;
  /** Null: not known, as of a message that Tenure did not send. */
  task: string | null;
}

/** What a handler keeps from everything else in its process. */
export type Holds = "gil" | "loop";

/** What was kept of a payload. */
export interface KeptPayload {
  /** JSON; its beginning, where it was larger than `KEPT_BYTES`. */
  text: string;
  /** Bytes that the whole payload had. */
  size: number;
}

/** One page of what is held, soonest end first. */
export interface LeasePage {
  leases: HeldLease[];
  /** True: there are more than were asked for. */
  is_cut: boolean;
  /** The moment of reading, Unix seconds by the store's clock. */
  now: number;
  /** When the store was last swept, and when the next sweep is due. Null: nobody has swept here. */
  last_sweep_at: number | null;
  next_sweep_at: number | null;
  /** Where to go on. Null: at the end. A lease that is renewed meanwhile moves to a later page. */
  after: string | null;
}

/** What is held now, soonest deadline first. */
export interface LeasesSnapshot {
  /** Now. */
  server_now: number;
  /** The moment that the snapshot shows. */
  made_at: number;
  /** Seconds until the next one. */
  next_snapshot_in: number;
  last_sweep_at: number | null;
  /** When overdue leases are returned next. Null: nobody has swept here. */
  next_sweep_at: number | null;
  leases: HeldLease[];
  /** More leases are held than these. */
  is_cut: boolean;
}

/** One message. Times named `_at` are Unix seconds, spans are seconds from the moment of reading. */
export interface ListedMessage {
  id: string;
  queue: string;
  /** Null: its envelope cannot be read. */
  task: string | null;
  state: MessageState;
  counters: Counters;
  /** The worker that has it. */
  owner: string | null;
  fence: number | null;
  /** Until its lease ends; negative: overdue. */
  deadline_in: number | null;
  /** Until it may be leased. */
  due_in: number | null;
  /** Since it was sent. */
  age_seconds: number | null;
  /** Why the last attempt failed, or why it is dead. */
  reason: ReasonText | null;
  /** Whether its envelope is there and can be read. */
  readable: boolean;
  /** Set: its body lies in a claim check, this large. */
  ticket: Ticket | null;
  finished_at: number | null;
  /** Of what runs. */
  progress: Progress | null;
  /** Of what is completed: how long the run took. Null: the journal has forgotten it. */
  seconds: number | null;
  sent_at: number | null;
  priority: number | null;
  client: string | null;
  key: string | null;
  /** Why its envelope cannot be read; empty where it can, and of what has ended. */
  unreadable: string;
  /** Texts of errors and handlers are left out. */
  redacted: boolean;
}

/** What a browser logs in with. */
export interface Login {
  token: string;
}

/** One message as its sender wrote it; in a handler `ctx.message`. */
export interface Message {
  tenure: 1;
  /** Stays the same over every attempt and redrive. */
  id: string;
  /** The queue that it was sent to, with its namespace. */
  queue: string;
  /** The task's name. */
  task: string;
  /** The payload, as JSON. */
  body: unknown;
  /** 0 to 9, the highest first. */
  priority?: number;
  /** Work that is done once has a key. */
  key?: string | null;
  /** While a message with this value waits (ready or delayed), another one for the same queue and task is not stored. */
  unique?: string | null;
  /** The app that sent it. */
  client?: string | null;
  /** What it belongs to; messages that its handler submits inherit it. */
  correlation_id?: string | null;
  /** The message whose handler submitted it. Null: it was submitted from outside. */
  parent_id?: string | null;
  /** Texts by name, as the sender gave them. */
  headers?: Record<string, string>;
  /** When it was sent, in Unix seconds. */
  sent_at?: number;
  /** When it becomes a dead letter if it has not begun, in Unix seconds. Null: never. */
  expires_at?: number | null;
  /** How often it was redriven from the dead letters. */
  generation?: number;
  /** Lease, attempts and time limit that its sender chose instead of the task's. */
  overrides?: Overrides;
  /** Set: `body` is empty; the real one was too large and is where `claim_check` says. Version 2 of the wire format. */
  ticket?: Ticket | null;
}

/** Everything that is known about one message. Times named `_at` are Unix seconds, spans are seconds. */
export interface MessageDetail {
  id: string;
  queue: string;
  /** Null: the message cannot be read. */
  task: string | null;
  state: MessageState;
  /** Null: not kept once it is completed. */
  counters: Counters | null;
  /** The worker that holds it. */
  owner: string | null;
  fence: number | null;
  sent_at: number | null;
  finished_at: number | null;
  /** Until the lease ends; negative: overdue. */
  deadline_in: number | null;
  /** Until it may be leased. */
  due_in: number | null;
  /** What its handler returned, as JSON. Null: not completed, or not kept. */
  result: unknown;
  /** Why the last attempt failed, or why it is dead. */
  reason: Reason | null;
  progress: Progress | null;
  /** The last twenty endings, oldest first. */
  history: Ending[];
  /** The payload, as JSON. Null: it has ended and was not kept, or cannot be read. */
  body: unknown;
  /** Of a completed message, with `keep_payload=True`. */
  kept_payload: KeptPayload | null;
  /** The envelope as it lies there; base64 if it cannot be read. */
  raw: string | null;
  /** The envelope, decoded. */
  message: Message | null;
  /** Everything that happened, oldest first. */
  life: Step[];
  /** Set: nothing of its queue is leased for now. */
  paused: Pause | null;
  /** How large its work is, as its handler or its task says. Null: it has no size, or that is not known. */
  size: number | null;
  /** Of one that runs: seconds that half of the runs of its task and size stay within. Null: none was measured. */
  usual_seconds: number | null;
  /** Number of the run that is under way, or of the last one; 0: it has not run yet. */
  attempt: number;
  /** Why its envelope cannot be read; empty where it can. */
  unreadable: string;
  /** Body, result, headers and texts are left out. */
  redacted: boolean;
}

/** The messages that were found, and how far was looked. */
export interface MessagePage {
  messages: ListedMessage[];
  /** There are more, or there may be. */
  more: boolean;
  /** Where to go on. Null: at the end, or the newest of several queues were merged. */
  after: string | null;
  /** Messages that were read to find these. Null: not counted. */
  looked_at: number | null;
  /** When the last of them was sent, or ended. */
  looked_until: number | null;
  /** States of which this broker lists no messages. */
  hidden: MessageState[];
  /** Queues among these that are paused. */
  paused: Pause[];
}

/** What became of a message. */
export interface MessageResult {
  id: string;
  state: MessageState;
  /** What its handler returned, exactly as it was stored. Null: it returned nothing, or is not completed yet. */
  result: unknown;
}

/** Where a message is. It is always in exactly one of these. */
export type MessageState = "cancelled" | "completed" | "dead" | "delayed" | "leased" | "ready";

/** Where one message is. Times named `_at` are Unix seconds, spans are seconds from the moment of reading. */
export interface MessageStatus {
  id: string;
  queue: string;
  /** Null: the message cannot be read. */
  task: string | null;
  state: MessageState;
  /** Number of the run that is under way, or of the last one; 0: it has not run yet. */
  attempt: number;
  counters: Counters;
  /** The worker that holds it. */
  owner: string | null;
  sent_at: number | null;
  finished_at: number | null;
  /** Until the lease ends; negative: overdue. */
  deadline_in: number | null;
  /** Until it may be leased. */
  due_in: number | null;
  /** Why the last attempt failed, or why it is dead. */
  reason: ReasonText | null;
  progress: Progress | null;
  /** Texts of errors and handlers are left out. */
  redacted: boolean;
}

/** How it goes. */
export type Mood = "bad" | "soon" | "well";

/** What a move of many came to. */
export interface MoveManyResult {
  messages: MovedMessage[];
  found: number;
  done: number;
  skipped: number;
  dry_run: boolean;
  /** There are more. What could not be moved stays and is found again: stop when `done` is 0. */
  more: boolean;
}

/** Where to move a dead letter. */
export interface MoveRequest {
  /** The queue that it is sent to. */
  queue: string;
  /** Only say what would be done. */
  dry_run?: boolean;
}

/** What a move came to, in the order of the ids. */
export interface MoveResult {
  messages: MovedMessage[];
  found: number;
  done: number;
  skipped: number;
  dry_run: boolean;
}

/** Which dead letters to move, and where. */
export interface MoveSelection {
  /** Only these; no filter goes with them. */
  ids?: string[];
  /** Names, or patterns such as `acme-*`. */
  queues?: string[];
  task?: string | null;
  /** Sent, or died, not before this: Unix seconds or RFC 3339. */
  since?: string | number | null;
  /** Every one that there is. Without it a request needs ids or a filter. */
  all?: boolean;
  /** Only say how many. */
  dry_run?: boolean;
  /** At most so many in this request. */
  limit?: number;
  /** The code of the reason, such as `max_attempts`. */
  reason?: string | null;
  /** Those of one group: its `fingerprint`. */
  fingerprint?: string | null;
  /** Died before this: Unix seconds or RFC 3339. */
  before?: string | number | null;
  /** The queue that they are sent to. */
  to: string;
}

/** What became of one dead letter. */
export interface MovedMessage {
  id: string;
  /** Of the message that was sent in its place. Null: none was. */
  new_id: string | null;
  queue: string;
  /** Why it was left alone. Empty: it was moved. */
  problem: string;
}

/** One message to send. Its payload is any JSON value; it is stored exactly as it is given. */
export interface NewMessage {
  /** The message's own id: sent again with it, no second message is stored. Default: a new one. */
  id?: string | null;
  /** 0 to 9, the highest first; default: 5. */
  priority?: number | null;
  /** Not before so long from now. */
  delay_seconds?: number | null;
  /** Not before this moment (RFC 3339). Instead of `delay_seconds`. */
  at?: string | null;
  /** A message that has not begun after so long becomes a dead letter. */
  expires_seconds?: number | null;
  /** As a moment (RFC 3339), instead of `expires_seconds`. */
  expires_at?: string | null;
  /** Work that is done once: a second message with the same key is not stored while the first waits or runs, nor for 7 days after it was completed. */
  key?: string | null;
  /** If a message with the same value waits already, no second one is stored. True: the value is the payload. */
  unique?: string | boolean | null;
  /** For `unique`: a waiting message counts only if it was sent within this time. */
  unique_window_seconds?: number | null;
  /** The lease of this message, instead of the task's. */
  lease_seconds?: number | null;
  /** Failed attempts before it becomes a dead letter, instead of the task's. */
  max_attempts?: number | null;
  /** How long its handler may run, instead of the task's. */
  max_hold_seconds?: number | null;
  /** Texts by name, for your own use. */
  headers?: Record<string, string> | null;
  /** What the message belongs to. */
  correlation_id?: string | null;
  queue: string;
  /** The task that it is for. */
  task: string;
  /** Any JSON value. */
  payload?: unknown;
  /** The same as JSON text in base64, for clients that must keep every byte. Instead of `payload`. */
  payload_base64?: string | null;
}

/** Messages to send. */
export interface NewMessages {
  messages: NewMessage[];
}

/** A token that was just made, with its secret: shown once, kept nowhere. */
export interface NewToken {
  id: string;
  /** Whose it is; the audit log names it. */
  name: string;
  scopes: AccessScope[];
  /** Names and patterns of queues. */
  queues: string[];
  /** Wall times by the store's clock. */
  created_at: number;
  created_by: string;
  /** Null: it does not expire. */
  expires_at: number | null;
  /** When it was last used, to the minute. Null: never. */
  used_at: number | null;
  token: string;
}

/** What the sender decided for this one message instead of the task's policy. None: the task decides. */
export interface Overrides {
  lease_seconds?: number | null;
  max_attempts?: number | null;
  max_hold_seconds?: number | null;
}

/** A store at one moment. */
export interface Overview {
  /** Unix seconds by the store's clock. */
  now: number;
  headline: Headline;
  /** Rates and shares are of so many seconds. */
  window_seconds: number;
  total: Total;
  queues: QueueOverview[];
  tasks: TaskOverview[];
  leases: HeldLease[];
  /** True: more leases are held than were read. */
  leases_cut: boolean;
  workers: WorkerOverview[];
  last_sweep_at: number | null;
  next_sweep_at: number | null;
}

/** What goes on in all, and the rows that are most worth a look. Rows have no `flow.history`. */
export interface OverviewSnapshot {
  /** Now. */
  server_now: number;
  /** The moment that the snapshot shows. */
  made_at: number;
  /** Seconds until the next one. */
  next_snapshot_in: number;
  last_sweep_at: number | null;
  /** When overdue leases are returned next. Null: nobody has swept here. */
  next_sweep_at: number | null;
  headline: Headline;
  /** Rates and shares are of so many seconds. */
  window_seconds: number;
  total: Total;
  /** All that there are; the worst of them follow. */
  queue_count: number;
  queues: QueueOverview[];
  task_count: number;
  /** The busiest. */
  tasks: TaskOverview[];
  /** Null: more leases are held than were read. */
  lease_count: number | null;
  /** The longest runs. */
  leases: HeldLease[];
}

/** A queue from which nothing is leased until somebody resumes it. */
export interface Pause {
  queue: string;
  /** Wall time; for showing. */
  at: number;
  by: string;
}

/** Where a handler runs. */
export type Place = "loop" | "process" | "solo" | "thread";

/** One step of a time series. */
export interface Point {
  /** The start of the step, Unix seconds by the store's clock. */
  at: number;
  figures: Figures;
  /** Messages that waited or ran at the end of the step. Null: not known. */
  depth: number | null;
}

/** What went wrong: the body of every answer with a status from 400 on. */
export interface Problem {
  /** `urn:tenure:problem:` and the code. */
  type: string;
  /** The status in words. */
  title: string;
  status: number;
  /** One sentence: what happened, what became of the message, what to do. It may change; the code does not. */
  detail: string;
  /** The stable code: docs/reference/errors.md lists them. */
  code: string;
  /** What to do, for a person. */
  remedy: string;
  /** Of a request that does not have the right form: which parameter, or which place in the body. */
  field?: string | null;
  /** Of a store that is away: whether the request may have been carried out all the same. */
  outcome_unknown?: boolean;
  /** Find the request in the server's log by it. */
  request_id?: string | null;
}

/** How far a handler says it is. */
export interface Progress {
  /** 0.0 to 1.0; Null: the handler cannot say. */
  fraction: number | null;
  /** What the handler says about it. */
  note: string;
}

/** What to remove from a queue. */
export interface Purge {
  /** Of `ready`, `delayed` and `dead`. What runs is cancelled, not purged. */
  states?: MessageState[];
  /** Only count. */
  dry_run?: boolean;
  /** Remove about so many at most. */
  limit?: number;
}

/** What a purge removed, or would have. */
export interface PurgeResult {
  queue: string;
  /** Messages that were removed. */
  purged: number;
  /** By state, how many there were to remove. Null: the broker cannot say. */
  would: Record<string, number | null>;
  dry_run: boolean;
  /** More is there; the same call goes on. */
  more: boolean;
}

/** How a time is distributed, in seconds, each right within 4 %. */
export interface Quantiles {
  p50: number;
  p95: number;
  p99: number;
  mean: number;
  /** Of how many. */
  count: number;
}

/** What became of a queue. */
export interface QueueChange {
  queue: string;
  /** False: it was so before. */
  changed: boolean;
}

/** One queue. */
export interface QueueOverview {
  queue: string;
  /** Ready to be leased. */
  waiting: number | null;
  delayed: number | null;
  running: number | null;
  dead: number | null;
  /** The figures are guesses of the broker. */
  estimated: boolean;
  /** How long the oldest of those that wait has been ready. */
  oldest_seconds: number | null;
  /** How long until nothing waits, if work goes on as in the last minute. Null: never (`grows`), or not known. */
  drains_in_seconds: number | null;
  /** As much comes in as goes out, or more. Null: not known. */
  grows: boolean | null;
  /** Workers that serve it. */
  workers: number;
  paused: Pause | null;
  flow: Flow;
}

/** One page of the queues, by name. */
export interface QueuePage {
  queues: QueueStatus[];
  /** Where to go on. Null: at the end. */
  after: string | null;
}

/** How much lies in one queue. None: the broker cannot say. */
export interface QueueStatus {
  queue: string;
  ready: number | null;
  delayed: number | null;
  leased: number | null;
  dead: number | null;
  /** Of what has been ready for longest. */
  oldest_age_seconds: number | null;
  /** The figures are estimates. */
  estimated: boolean;
  paused: Pause | null;
}

/** Every queue. */
export interface QueuesSnapshot {
  /** Now. */
  server_now: number;
  /** The moment that the snapshot shows. */
  made_at: number;
  /** Seconds until the next one. */
  next_snapshot_in: number;
  last_sweep_at: number | null;
  /** When overdue leases are returned next. Null: nobody has swept here. */
  next_sweep_at: number | null;
  window_seconds: number;
  queues: QueueOverview[];
}

/** Why an attempt failed or a message died: a code for machines, a sentence for people. */
export interface Reason {
  code: string;
  text: string;
  /** The traceback, shortened; empty where there is none. */
  traceback: string;
  /** The class of the error that the handler raised; empty where there was none. */
  error: string;
  /** How often this has happened to the message, where that is counted (snoozes). */
  count: number;
}

/** Why an attempt failed, or why a message is dead, in short. */
export interface ReasonText {
  code: string;
  /** A sentence. Null: it is left out for who may not see payloads. */
  text: string | null;
}

/** Which dead letters to redrive. */
export interface RedriveSelection {
  /** Only these; no filter goes with them. */
  ids?: string[];
  /** Names, or patterns such as `acme-*`. */
  queues?: string[];
  task?: string | null;
  /** Sent, or died, not before this: Unix seconds or RFC 3339. */
  since?: string | number | null;
  /** Every one that there is. Without it a request needs ids or a filter. */
  all?: boolean;
  /** Only say how many. */
  dry_run?: boolean;
  /** At most so many in this request. */
  limit?: number;
  /** The code of the reason, such as `max_attempts`. */
  reason?: string | null;
  /** Those of one group: its `fingerprint`. */
  fingerprint?: string | null;
  /** Died before this: Unix seconds or RFC 3339. */
  before?: string | number | null;
  /** At most so many a second, evenly; not with `ids`. The request then ends after about 20 s. */
  per_second?: number | null;
}

/** How far a message is in the worker that holds it. */
export type RunPhase = "ending" | "fetching" | "running" | "settling" | "starting" | "waiting";

/** What became of a schedule. */
export interface ScheduleChange {
  name: string;
  /** False: it was so before. */
  changed: boolean;
}

/** One page of the schedules, by name. */
export interface SchedulePage {
  schedules: ScheduleStatus[];
  /** Where to go on. Null: at the end. */
  after: string | null;
}

/** A schedule for whose ticks no message is sent. */
export interface SchedulePause {
  at: number;
  by: string;
}

/** The message that a schedule was run with. */
export interface ScheduleRun {
  name: string;
  message_id: string;
  /** Nothing new was stored: a message of this schedule was waiting already. */
  duplicate: boolean;
}

/** One schedule, as far as it is known. */
export interface ScheduleStatus {
  name: string;
  spec: string;
  task: string;
  queue: string;
  /** Whether the app's code has it. Null: there is no code to ask. */
  in_app: boolean | null;
  /** The newest tick. Null: there was none yet. */
  last_at: number | null;
  /** The message of that tick. Null: the tick was skipped, or there was none. */
  message_id: string | null;
  /** Null: it has none, or its record has expired. */
  message_state: MessageState | null;
  next_at: number | null;
  paused: SchedulePause | null;
}

/** What became of one entry. */
export type SendOutcome = "duplicate" | "failed" | "refused" | "sent";

/** What became of one entry. */
export interface SentMessage {
  /** Of the message that now stands for the entry. Null: there is none. */
  id: string | null;
  outcome: SendOutcome;
  /** Why it was refused or failed: a stable code, and a sentence. Null: it was not. */
  code: string | null;
  detail: string | null;
  /** Of one that failed: it may have been stored all the same. */
  outcome_unknown: boolean;
}

/** What became of each entry, in order. */
export interface SentMessages {
  messages: SentMessage[];
}

/** Who asks, and what they may do. */
export interface SessionInfo {
  name: string;
  scopes: AccessScope[];
  /** Names and patterns of the queues that exist for them. */
  queues: string[];
  /** Whether this server refuses every act. */
  read_only: boolean;
  namespace: string | null;
  /** Of the server. */
  version: string;
  /** Where the messages are, without secrets. Empty for those who do not see every queue. */
  store: string;
}

/** One setting. */
export interface SettingInForce {
  /** As in `lease_seconds`. */
  name: string;
  /** As JSON; secrets in URLs are masked. */
  value: string | number | boolean | string[] | null;
  /** `environment`, `argument` or `default`. */
  source: string;
  /** The environment variable that it was read from, or can be set by. Null: it has none. */
  variable: string | null;
  /** What it takes. */
  allowed: string;
}

/** Every setting, in the order of the reference. */
export interface SettingList {
  settings: SettingInForce[];
}

/** Something that runs side by side with others, such as a task of an `asyncio.gather`. */
export interface StackBranch {
  name: string;
  frames: StackFrame[];
}

/** One call that is under way. */
export interface StackFrame {
  file: string;
  /** Null: it cannot be known. */
  line: number | null;
  function: string;
  kind: FrameKind;
}

/** How long to wait for the worker. */
export interface StackRequest {
  /** Seconds; it answers within two, as a rule. */
  wait?: number;
}

/** One thing that happened to the message. */
export interface Step {
  at: number;
  /** sent, completed, duplicate, failed, snoozed, crashed, lost, given_back, returned, dead, redriven, cancelled, lease_lost; else the kind of the event. */
  what: string;
  owner?: string | null;
  reason?: Reason | null;
  /** Which run it was. */
  attempt?: number | null;
  /** How long the handler ran. */
  seconds?: number | null;
  /** When it is lent again. */
  after_seconds?: number | null;
  /** Who did it, and through which door. */
  by?: string | null;
  triggered_by?: string | null;
  /** deleted, purged, moved, edited: what kind of act it was. The schedule's name, for a message that one sent. */
  act?: string | null;
  /** When its worker learned that the lease was gone. */
  noticed_at?: number | null;
  /** What an event says beside all this. */
  data?: Record<string, unknown>;
}

/** One message for a task. */
export interface Submission {
  /** The message's own id: sent again with it, no second message is stored. Default: a new one. */
  id?: string | null;
  /** 0 to 9, the highest first; default: 5. */
  priority?: number | null;
  /** Not before so long from now. */
  delay_seconds?: number | null;
  /** Not before this moment (RFC 3339). Instead of `delay_seconds`. */
  at?: string | null;
  /** A message that has not begun after so long becomes a dead letter. */
  expires_seconds?: number | null;
  /** As a moment (RFC 3339), instead of `expires_seconds`. */
  expires_at?: string | null;
  /** Work that is done once: a second message with the same key is not stored while the first waits or runs, nor for 7 days after it was completed. */
  key?: string | null;
  /** If a message with the same value waits already, no second one is stored. True: the value is the payload. */
  unique?: string | boolean | null;
  /** For `unique`: a waiting message counts only if it was sent within this time. */
  unique_window_seconds?: number | null;
  /** The lease of this message, instead of the task's. */
  lease_seconds?: number | null;
  /** Failed attempts before it becomes a dead letter, instead of the task's. */
  max_attempts?: number | null;
  /** How long its handler may run, instead of the task's. */
  max_hold_seconds?: number | null;
  /** Texts by name, for your own use. */
  headers?: Record<string, string> | null;
  /** What the message belongs to. */
  correlation_id?: string | null;
  /** The handler's parameters by name. Default: none. */
  payload?: unknown;
  /** Another queue than the task's. */
  queue?: string | null;
}

/** The message that stands for the submission. */
export interface SubmittedMessage {
  id: string;
  queue: string;
  /** Nothing new was stored: it is an earlier message with the same id, key or unique value. */
  duplicate: boolean;
}

/** One task in one queue. What waits is counted by queue, so it is known only where the queue has one task. */
export interface TaskOverview {
  queue: string;
  task: string;
  running: number | null;
  waiting: number | null;
  oldest_seconds: number | null;
  drains_in_seconds: number | null;
  grows: boolean | null;
  flow: Flow;
}

/** One page of the tasks, by name and queue. */
export interface TaskPage {
  tasks: TaskStatus[];
  window_seconds: number;
  /** Where to go on. Null: at the end. */
  after: string | null;
}

/** How a task is run, as its code says. */
export interface TaskPolicy {
  max_attempts: number;
  lease_seconds: number;
  heartbeat: boolean;
  max_hold_seconds: number | null;
  concurrency: number | null;
  runs_in: string;
  parameters: string[];
}

/** One task in one queue. */
export interface TaskStatus {
  task: string;
  queue: string;
  /** Whether the app's code has it. Null: there is no code to ask. */
  in_app: boolean | null;
  policy: TaskPolicy | null;
  running: number | null;
  waiting: number | null;
  flow: Flow;
}

/** For a body that was too large for the broker: what was left in the cloakroom, and where (`claim_check.py`). */
export interface Ticket {
  /** The place as the sender called it, for people. A worker looks in its own. */
  place: string;
  /** Bytes. */
  size: number;
  /** SHA-256 of the body: the same for the same payload, and proof that it came back whole. */
  digest: string;
}

/** Every token that has not expired, the newest first. */
export interface TokenList {
  tokens: AccessToken[];
}

/** A token to be made. */
export interface TokenRequest {
  name: string;
  scopes: AccessScope[];
  queues?: string[];
  /** After so many seconds it is not valid any more. Null: it does not expire. */
  expires_seconds?: number | null;
}

/** All queues together. */
export interface Total {
  /** Null: of one of them it cannot be known. */
  waiting: number | null;
  running: number | null;
  dead: number | null;
  /** Null: nothing waits, or it cannot be known. */
  oldest_seconds: number | null;
  /** Workers that are alive. */
  workers: number;
  flow: Flow;
}

/** One worker, or another holder of leases. */
export interface WorkerOverview {
  id: string;
  name: string;
  host: string;
  pid: number;
  started_at: number | null;
  queues: string[];
  slots: number | null;
  /** Null: more leases are held than were read. */
  holds: number | null;
  /** The soonest end of a lease that it holds. */
  deadline: number | null;
  /** Seconds since the store last heard of it. */
  silent_seconds: number | null;
  /** Why it counts as dead; empty: it does not. */
  gone: string;
  /** False: it never joined, and is bound by its leases alone. */
  has_presence: boolean;
}

/** One page of the workers, by name. Those that are gone are on the first page. */
export interface WorkerPage {
  workers: WorkerStatus[];
  gone: GoneWorker[];
  /** Where to go on. Null: at the end. */
  after: string | null;
}

/** One worker that is alive. */
export interface WorkerStatus {
  id: string;
  name: string;
  host: string;
  pid: number;
  started_at: number;
  queues: string[];
  concurrency: number;
  holds: HeldMessage[];
  /** Seconds since it was last heard. */
  silent_seconds: number;
  slot: string;
}
