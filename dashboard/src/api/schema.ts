// Generated from docs/reference/openapi.json by scripts/api-types.mjs: `make dashboard` writes it.

/** What a principal may do. None of them includes another one. */
export type AccessScope = "admin" | "consume" | "operate" | "payload" | "read" | "send";

/** What is known of a token, without its secret. */
export interface AccessToken {
  id: string;
  name: string;
  scopes: AccessScope[];
  queues: string[];
  created_at: number;
  created_by: string;
  expires_at: number | null;
  used_at: number | null;
}

/** One act, with its place in the log. */
export interface ActEntry {
  seq: number;
  kind: string;
  at: number;
  by: string;
  triggered_by: string;
  source: string;
  queue: string | null;
  count: number;
  ids: string[];
  data: Record<string, unknown>;
}

/** Acts, newest first. */
export interface ActList {
  acts: ActEntry[];
  before: number | null;
}

/** What an act on many messages came to. */
export interface BulkResult {
  found: number;
  done: number;
  skipped: number;
  dry_run: boolean;
  more: boolean;
  ids: string[];
  kinds: Record<string, number>;
}

/** What became of several cancels, in the order of the ids. */
export interface CancelResult {
  messages: CancelledMessage[];
  found: number;
  done: number;
  skipped: number;
}

/** What became of one cancel. */
export interface CancelledMessage {
  id: string;
  cancelled: boolean;
  was: MessageState;
  owner: string | null;
}

/** One difference. */
export interface Change {
  path: string;
  kind: "added" | "changed" | "removed";
  before: unknown;
  after: unknown;
}

/** How often things happened to a message, by logical id, since its last redrive. */
export interface Counters {
  deliveries: number;
  attempts: number;
  crashes: number;
  lost: number;
}

/** Dead letters that died of the same thing. */
export interface DeadGroup {
  fingerprint: string;
  task: string | null;
  code: string;
  error: string;
  place: string;
  text: string | null;
  count: number;
  queues: Record<string, number>;
  first_at: number | null;
  last_at: number | null;
  by_hour: number[];
  ids: string[];
  traceback: string | null;
  redacted: boolean;
}

/** The groups, the largest first. */
export interface DeadGroups {
  groups: DeadGroup[];
  looked_at: number;
  more: boolean;
  hours_since: number;
}

/** What an edit changed, or would change. */
export interface EditResult {
  id: string;
  new_id: string | null;
  queue: string;
  changes: Change[];
  checked: boolean;
  dry_run: boolean;
  redacted: boolean;
}

/** How one run of the message ended, for its history. `at` is wall time. */
export interface Ending {
  at: number;
  how: string;
  owner?: string | null;
  reason?: Reason | null;
}

/** One event, with its place in the journal. */
export interface EventEntry {
  seq: number;
  kind: EventKind;
  at: number;
  queue: string | null;
  task: string | null;
  message_id: string | null;
  owner: string | null;
  attempt: number | null;
  seconds: number | null;
  data: Record<string, unknown>;
  redacted: boolean;
}

/** Every kind of fact. The words are promises: dashboards and alerts are built on them. */
export type EventKind = "cancelled" | "completed" | "dead" | "deleted" | "deletions" | "duplicate" | "edited" | "file_size_detected" | "forgotten" | "given_back" | "heartbeat_failed" | "late_settle" | "lease_lost" | "loop_blocked" | "move_to_dlq" | "moved" | "owner_joined" | "owner_left" | "owner_retired" | "paused" | "purged" | "queue_deleted" | "redriven" | "requeue" | "resumed" | "retried" | "schedule_paused" | "schedule_resumed" | "schedule_run" | "snoozed" | "sweep_grace" | "ticked";

/** One page, oldest first. */
export interface EventPage {
  events: EventEntry[];
  after: number;
  first: number;
  last: number;
  gap: boolean;
}

/** What was counted of a queue, of a task in a queue, or of everything, over some seconds. */
export interface Figures {
  queue: string | null;
  task: string | null;
  seconds: number;
  counts: Record<string, number>;
  rate_out: number;
  rate_in: number | null;
  error_share: number | null;
  duration: Quantiles | null;
  wait: Quantiles | null;
  lease_use: number | null;
  deliveries: [number, number, number, number, number];
  beats: number;
  lost_leases: number;
  duplicates: number;
  size: number;
  settlements: Record<string, number>;
}

/** What went through a queue, or a task of it, in the last minute or so (`Overview.window_seconds`). */
export interface Flow {
  in_per_second: number | null;
  out_per_second: number | null;
  p50_seconds: number | null;
  p95_seconds: number | null;
  error_share: number | null;
  lease_use: number | null;
  history: number[];
}

/** A worker that is proven gone; a sweep returns what it held. */
export interface GoneWorker {
  id: string;
  proof: string;
}

/** One sentence, and how bad it is. */
export interface Headline {
  mood: Mood;
  text: string;
}

/** What was found. */
export interface Health {
  healthy: boolean;
  problems: string[];
  store: boolean;
  workers: number | null;
  queues: Record<string, number>;
  sweep: boolean | null;
}

/** One lease as the store knows it. Times are Unix seconds by the store's clock. None: cannot be known. */
export interface HeldLease {
  id: string;
  queue: string;
  task: string | null;
  owner: string;
  fence: number;
  attempt: number;
  leased_at: number | null;
  deadline: number;
  deadline_in: number;
  seconds: number;
  beats: number;
  last_beat_at: number | null;
  progress: Progress | null;
  size: number | null;
  predicted_seconds: number | null;
  has_presence: boolean;
}

/** A message that a worker holds. */
export interface HeldMessage {
  id: string;
  queue: string;
  task: string | null;
}

/** What was kept of a payload. */
export interface KeptPayload {
  text: string;
  size: number;
}

/** How to make the rows of now from those of before: remove, put the changed ones in, sort by `deadline`. */
export interface LeaseChanges {
  is_whole: boolean;
  changed: HeldLease[];
  removed: string[];
  is_cut: boolean;
}

/** What is held now, soonest deadline first. */
export interface Leases {
  leases: HeldLease[];
  is_cut: boolean;
  now: number;
  last_sweep_at: number | null;
  next_sweep_at: number | null;
}

/** What is held now, soonest deadline first. */
export interface LeasesSnapshot {
  server_now: number;
  made_at: number;
  next_snapshot_in: number;
  last_sweep_at: number | null;
  next_sweep_at: number | null;
  leases: HeldLease[];
  is_cut: boolean;
}

/** One message. Times named `_at` are Unix seconds, spans are seconds from the moment of reading. */
export interface ListedMessage {
  id: string;
  queue: string;
  task: string | null;
  state: MessageState;
  counters: Counters;
  owner: string | null;
  fence: number | null;
  deadline_in: number | null;
  due_in: number | null;
  age_seconds: number | null;
  reason: ReasonText | null;
  readable: boolean;
  ticket: Ticket | null;
  finished_at: number | null;
  progress: Progress | null;
  seconds: number | null;
  sent_at: number | null;
  priority: number | null;
  client: string | null;
  key: string | null;
  unreadable: string;
  redacted: boolean;
}

/** What a browser logs in with. */
export interface Login {
  token: string;
}

/** One message as its sender wrote it; in a handler `ctx.message`. */
export interface Message {
  tenure: 1;
  id: string;
  queue: string;
  task: string;
  body: unknown;
  priority?: number;
  key?: string | null;
  unique?: string | null;
  client?: string | null;
  correlation_id?: string | null;
  parent_id?: string | null;
  headers?: Record<string, string>;
  sent_at?: number;
  expires_at?: number | null;
  generation?: number;
  overrides?: Overrides;
  ticket?: Ticket | null;
}

/** Everything that is known about one message. Times named `_at` are Unix seconds, spans are seconds. */
export interface MessageDetail {
  id: string;
  queue: string;
  task: string | null;
  state: MessageState;
  counters: Counters | null;
  owner: string | null;
  fence: number | null;
  sent_at: number | null;
  finished_at: number | null;
  deadline_in: number | null;
  due_in: number | null;
  result: unknown | null;
  reason: Reason | null;
  progress: Progress | null;
  history: Ending[];
  body: unknown | null;
  kept_payload: KeptPayload | null;
  raw: string | null;
  message: Message | null;
  life: Step[];
  paused: Pause | null;
  size: number | null;
  usual_seconds: number | null;
  attempt: number;
  unreadable: string;
  redacted: boolean;
}

/** The messages that were found, and how far was looked. */
export interface MessagePage {
  messages: ListedMessage[];
  more: boolean;
  after: string | null;
  looked_at: number | null;
  looked_until: number | null;
  hidden: MessageState[];
  paused: Pause[];
}

/** Where a message is. It is always in exactly one of these. */
export type MessageState = "cancelled" | "completed" | "dead" | "delayed" | "leased" | "ready";

/** How it goes. */
export type Mood = "bad" | "soon" | "well";

/** What a move came to, in the order of the ids. */
export interface MoveResult {
  messages: MovedMessage[];
  found: number;
  done: number;
  skipped: number;
  dry_run: boolean;
}

/** What became of one dead letter. */
export interface MovedMessage {
  id: string;
  new_id: string | null;
  queue: string;
  problem: string;
}

/** A token that was just made, with its secret: shown once, kept nowhere. */
export interface NewToken {
  id: string;
  name: string;
  scopes: AccessScope[];
  queues: string[];
  created_at: number;
  created_by: string;
  expires_at: number | null;
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
  now: number;
  headline: Headline;
  window_seconds: number;
  total: Total;
  queues: QueueOverview[];
  tasks: TaskOverview[];
  leases: HeldLease[];
  leases_cut: boolean;
  workers: WorkerOverview[];
  last_sweep_at: number | null;
  next_sweep_at: number | null;
}

/** What goes on in all, and the rows that are most worth a look. Rows have no `flow.history`. */
export interface OverviewSnapshot {
  server_now: number;
  made_at: number;
  next_snapshot_in: number;
  last_sweep_at: number | null;
  next_sweep_at: number | null;
  headline: Headline;
  window_seconds: number;
  total: Total;
  queue_count: number;
  queues: QueueOverview[];
  task_count: number;
  tasks: TaskOverview[];
  lease_count: number | null;
  leases: HeldLease[];
}

/** A queue from which nothing is leased until somebody resumes it. */
export interface Pause {
  queue: string;
  at: number;
  by: string;
}

/** One step of a time series. */
export interface Point {
  at: number;
  figures: Figures;
  depth: number | null;
}

/** What went wrong: the body of every answer with a status from 400 on. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  remedy: string;
  field?: string | null;
  outcome_unknown?: boolean;
  request_id?: string | null;
}

/** How far a handler says it is. */
export interface Progress {
  fraction: number | null;
  note: string;
}

/** What a purge removed, or would have. */
export interface PurgeResult {
  queue: string;
  purged: number;
  would: Record<string, number | null>;
  dry_run: boolean;
  more: boolean;
}

/** How a time is distributed, in seconds, each right within 4 %. */
export interface Quantiles {
  p50: number;
  p95: number;
  p99: number;
  mean: number;
  count: number;
}

/** What became of a queue. */
export interface QueueChange {
  queue: string;
  changed: boolean;
}

/** The queues in which something lies, and those that are paused, by name. */
export interface QueueList {
  queues: QueueStatus[];
}

/** One queue. */
export interface QueueOverview {
  queue: string;
  waiting: number | null;
  delayed: number | null;
  running: number | null;
  dead: number | null;
  estimated: boolean;
  oldest_seconds: number | null;
  drains_in_seconds: number | null;
  grows: boolean | null;
  workers: number;
  paused: Pause | null;
  flow: Flow;
}

/** How much lies in one queue. None: the broker cannot say. */
export interface QueueStatus {
  queue: string;
  ready: number | null;
  delayed: number | null;
  leased: number | null;
  dead: number | null;
  oldest_age_seconds: number | null;
  estimated: boolean;
  paused: Pause | null;
}

/** Every queue. */
export interface QueuesSnapshot {
  server_now: number;
  made_at: number;
  next_snapshot_in: number;
  last_sweep_at: number | null;
  next_sweep_at: number | null;
  window_seconds: number;
  queues: QueueOverview[];
}

/** Why an attempt failed or a message died: a code for machines, a sentence for people. */
export interface Reason {
  code: string;
  text: string;
  traceback: string;
  error: string;
  count: number;
}

/** Why an attempt failed, or why a message is dead, in short. */
export interface ReasonText {
  code: string;
  text: string | null;
}

/** What became of a schedule. */
export interface ScheduleChange {
  name: string;
  changed: boolean;
}

/** Every schedule of the code or of the store, by name. */
export interface ScheduleList {
  schedules: ScheduleStatus[];
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
  duplicate: boolean;
}

/** One schedule, as far as it is known. */
export interface ScheduleStatus {
  name: string;
  spec: string;
  task: string;
  queue: string;
  in_app: boolean | null;
  last_at: number | null;
  message_id: string | null;
  message_state: MessageState | null;
  next_at: number | null;
  paused: SchedulePause | null;
}

/** Who asks, and what they may do. */
export interface SessionInfo {
  name: string;
  scopes: AccessScope[];
  queues: string[];
  read_only: boolean;
  namespace: string | null;
}

/** One setting. */
export interface SettingInForce {
  name: string;
  value: string | number | boolean | null;
  source: string;
  variable: string | null;
  allowed: string;
}

/** Every setting, in the order of the reference. */
export interface SettingList {
  settings: SettingInForce[];
}

/** The payload of one message. */
export interface SnapshotMessage {
  times: SnapshotTimes;
  overview?: OverviewSnapshot | null;
  leases?: LeaseChanges | null;
}

/** By which clock a snapshot counts. Unix seconds by the store's clock. */
export interface SnapshotTimes {
  server_now: number;
  made_at: number;
  next_snapshot_in: number;
  last_sweep_at: number | null;
  next_sweep_at: number | null;
}

/** One thing that happened to the message. */
export interface Step {
  at: number;
  what: string;
  owner?: string | null;
  reason?: Reason | null;
  attempt?: number | null;
  seconds?: number | null;
  after_seconds?: number | null;
  by?: string | null;
  triggered_by?: string | null;
  act?: string | null;
  noticed_at?: number | null;
  data?: Record<string, unknown>;
}

/** Every task of the code, and those that were counted lately, by name and queue. */
export interface TaskList {
  tasks: TaskStatus[];
  window_seconds: number;
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
  in_app: boolean | null;
  policy: TaskPolicy | null;
  running: number | null;
  waiting: number | null;
  flow: Flow;
}

/** For a body that was too large for the broker: what was left in the cloakroom, and where (`claim_check.py`). */
export interface Ticket {
  place: string;
  size: number;
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
  queues: string[];
  expires_seconds: number | null;
}

/** All queues together. */
export interface Total {
  waiting: number | null;
  running: number | null;
  dead: number | null;
  oldest_seconds: number | null;
  workers: number;
  flow: Flow;
}

/** Everybody on the roster. */
export interface WorkerList {
  workers: WorkerStatus[];
  gone: GoneWorker[];
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
  holds: number | null;
  deadline: number | null;
  silent_seconds: number | null;
  gone: string;
  has_presence: boolean;
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
  silent_seconds: number;
  slot: string;
}

// ---- until the routes of the stack and the figures are there
export interface StackFrame { file: string; line: number | null; function: string; kind: "user" | "library" | "tenure"; }
export interface StackBranch { name: string; frames: StackFrame[]; }
export interface FrameStack { frames: StackFrame[]; left_out: number; branches: StackBranch[]; }
export interface HandlerStack {
  id: string; queue: string; task: string | null; owner: string; taken_at: number; phase: string; runs_in: string | null; pid: number | null;
  running_seconds: number | null; stack: FrameStack; holds: "loop" | "gil" | null; holds_seconds: number | null; held_up_by: string | null; note: string;
  memory_bytes: number | null; progress: Progress | null; progress_age_seconds: number | null; redacted: boolean;
}
export interface FiguresReport {
  since: number; until: number; seconds: number; step: number; store_seconds: number; total: Figures; queues: Figures[]; tasks: Figures[]; points: Point[];
}
