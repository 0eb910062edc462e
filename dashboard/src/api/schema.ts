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

/** A message that is done. */
export interface AckEntry {
  token: string;
  /** What it resulted in: any JSON value, kept for those who wait for the result. */
  result?: unknown;
}

/** Messages that are done. */
export interface Acks {
  leases: AckEntry[];
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
  /** How the act reached Tenure: `cli`, `api`, `http` or `dashboard`. */
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

/** Who has to look, and when. */
export type AlertSeverity = "page" | "show" | "ticket";

/** What an examination is about. Pages show the areas in this order. */
export type Area = "access" | "queues" | "settings" | "store" | "timing" | "webhooks" | "workers";

/** Whether deliveries go out. */
export type BreakerState = "closed" | "half_open" | "open";

/** The result of an act on many messages. */
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
  /** At most this many in this request. */
  limit?: number;
  /** Of `leased`, `ready` and `delayed`. */
  states?: MessageState[];
  client?: string | null;
  key?: string | null;
  /** Found in the id, the payload or the reason. Needs the scope `payload`. */
  text?: string | null;
  /** Sent before this: Unix seconds or RFC 3339. */
  until?: string | number | null;
  /** At most this many a second, evenly; not with `ids`. The request then ends after about 20 s. */
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
export interface CancelledGroup {
  id: string;
  /** False: it had ended before, and nothing was changed. */
  cancelled: boolean;
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

/** One thing that was looked at. */
export interface Check {
  id: string;
  area: Area;
  title: string;
  outcome: Outcome;
  /** What was seen; of an unknown or failed check the reason. */
  seen: string;
  /** Ids of its findings. */
  findings: string[];
}

/** The messages that a handler has handed on. */
export interface ChildList {
  /** The message whose handler did. */
  id: string;
  /** The parent that handed that one on. Null: it has no parent, or it has ended and that is not kept. */
  parent_id: string | null;
  /** In the order in which they were handed on. */
  children: ChildMessage[];
  /** There may be others: it was not looked further. */
  more: boolean;
}

/** A message that another one's handler has handed on. */
export interface ChildMessage {
  id: string;
  queue: string;
  /** Null: the message cannot be read. */
  task: string | null;
  state: MessageState;
}

/** What became of a client. */
export interface ClientChange {
  client: string;
  queue: string;
  /** False: it was so before. */
  changed: boolean;
}

/** One client, with its tasks. */
export interface ClientDetail {
  client: string;
  queue: string;
  /** Ready to be leased. */
  waiting: number | null;
  delayed: number | null;
  running: number | null;
  dead: number | null;
  /** Of what has been ready for longest. */
  oldest_age_seconds: number | null;
  /** The figures are estimates. */
  estimated: boolean;
  paused: Pause | null;
  /** Null: it has none. */
  quota: ClientQuota | null;
  /** So many times the work time of a client of weight 1: what an operator set, else `TENURE_CLIENT_WEIGHTS`, else 1. */
  weight: number;
  /** Messages a second that were sent. */
  in_per_second: number | null;
  /** Messages a second that ended. */
  out_per_second: number | null;
  /** Messages that were completed, and those that became dead letters. */
  completed: number | null;
  died: number | null;
  /** Of the runs that ended, the part that failed. Null: nothing ran. */
  error_share: number | null;
  /** How long its handlers ran, all together. */
  work_seconds: number | null;
  /** Of all that handlers worked for clients in that time, the part that was for this one. */
  work_share: number | null;
  /** What each of its tasks did in the last hour. */
  tasks: Figures[];
  window_seconds: number;
}

/** One page of the clients, by name. */
export interface ClientPage {
  clients: ClientStatus[];
  /** Rates and shares are of so many seconds. */
  window_seconds: number;
  /** Where to go on. Null: at the end. */
  after: string | null;
}

/** What a purge removed, or would have. */
export interface ClientPurge {
  queue: string;
  /** Messages that were removed. */
  purged: number;
  /** By state, how many there were to remove. Null: the broker cannot say. */
  would: Record<string, number | null>;
  dry_run: boolean;
  /** More is there; the same call goes on. */
  more: boolean;
  client: string;
}

/** The quota of a client that is in force. None: no quota of that kind. */
export interface ClientQuota {
  /** At most so many may wait, ready or delayed: further ones are refused. */
  waiting: number | null;
  /** At most so many run at once, over all workers. */
  running: number | null;
  /** At most so many start in a second, over all workers. */
  per_second: number | null;
  /** The same as people write it, such as `100/m`. */
  rate: string | null;
  /** So many bytes of JSON a payload may have. */
  payload_bytes: number | null;
  /** When an operator last set part of it, in Unix seconds. Null: it is the default of every client. */
  at: number | null;
  /** The operator. */
  by: string;
  /** The part of `waiting` that is used: 1 is full. Null: there is no such quota, or the number is not known. */
  waiting_use: number | null;
  /** The part of `running` that is used. */
  running_use: number | null;
}

/** One client: what its queue holds, and what went through it in the last hour. None: it cannot be known. */
export interface ClientStatus {
  client: string;
  queue: string;
  /** Ready to be leased. */
  waiting: number | null;
  delayed: number | null;
  running: number | null;
  dead: number | null;
  /** Of what has been ready for longest. */
  oldest_age_seconds: number | null;
  /** The figures are estimates. */
  estimated: boolean;
  paused: Pause | null;
  /** Null: it has none. */
  quota: ClientQuota | null;
  /** So many times the work time of a client of weight 1: what an operator set, else `TENURE_CLIENT_WEIGHTS`, else 1. */
  weight: number;
  /** Messages a second that were sent. */
  in_per_second: number | null;
  /** Messages a second that ended. */
  out_per_second: number | null;
  /** Messages that were completed, and those that became dead letters. */
  completed: number | null;
  died: number | null;
  /** Of the runs that ended, the part that failed. Null: nothing ran. */
  error_share: number | null;
  /** How long its handlers ran, all together. */
  work_seconds: number | null;
  /** Of all that handlers worked for clients in that time, the part that was for this one. */
  work_share: number | null;
}

/** A program that leases over HTTP. */
export interface ConsumerStatus {
  /** The owner of its leases: `http:{token}/{name}`. */
  id: string;
  /** As it calls itself. */
  name: string;
  /** The id of its access token. */
  token: string;
  /** The queues that it asked for last. */
  queues: string[];
  holds: HeldMessage[];
  /** Seconds since its last request. Null: no server reported it. */
  silent_seconds: number | null;
  /** Messages that it finished in the last minute. Null: no server reported it. */
  rate_per_minute: number | null;
  /** Attempts that ended in error in the last minute. */
  errors_per_minute: number | null;
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

/** A message that can never succeed. */
export interface DeadLetterEntry {
  token: string;
  /** For people: why. */
  reason?: string;
  /** The class of the error, by which failures are grouped. */
  error?: string;
  /** The traceback, shortened if it is long. */
  traceback?: string;
}

/** Messages that can never succeed. */
export interface DeadLetters {
  leases: DeadLetterEntry[];
}

/** One delivery, as it stands. */
export interface Delivery {
  /** Also its `webhook-id`. */
  id: string;
  state: MessageState;
  /** Null: it was made by a newer Tenure, or its payload is kept elsewhere. */
  endpoint: string | null;
  /** Set: another URL than the endpoint's own. */
  url: string | null;
  /** The message whose end it tells. */
  message_id: string | null;
  /** completed, failed or cancelled. */
  status: string | null;
  attempts: number;
  /** What the receiver answered last. Null: nothing, or it was not asked yet. */
  answer_status: number | null;
  answer_seconds: number | null;
  /** Why the last attempt failed; of a dead letter, why it was given up. */
  error: string | null;
  made_at: number | null;
  /** Seconds until the next attempt. Null: it is not waiting for one. */
  next_in: number | null;
  finished_at: number | null;
}

/** The deliveries that were found. */
export interface DeliveryPage {
  deliveries: Delivery[];
  more: boolean;
  /** Where to go on. Null: at the end. */
  after: string | null;
  /** Endings that wait to become deliveries, by endpoint; those of which there are very many are not all counted. */
  waiting: Record<string, number>;
}

/** What the doctor found. */
export interface Diagnosis {
  /** Whether there is no finding of warning or critical, and no check failed. */
  healthy: boolean;
  /** The store, without secrets. */
  store: string;
  /** Unix seconds by the store's clock; of a store that is away, by this machine's. */
  at: number;
  checks: Check[];
  /** The worst first. */
  findings: Finding[];
}

/** Why an endpoint is disabled. */
export interface DisableReason {
  reason?: string;
}

/** Why it came again. */
export type DuplicateCause = "delete_failed" | "expired_mid_run" | "redelivered" | "redriven" | "sent_again";

/** Runs that took at least `from_seconds` and less than `to_seconds`. Buckets without runs are left out. */
export interface DurationBucket {
  from_seconds: number;
  to_seconds: number;
  runs: number;
}

/** How long runs took, by this many samples. */
export interface Durations {
  samples: number;
  /** Of them, those that were ended from outside: they would have taken longer. */
  killed: number;
  mean: number;
  q50: number;
  q95: number;
  q99: number;
  longest: number;
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

/** What became of an endpoint. */
export interface EndpointChange {
  name: string;
  /** False: it was so before. */
  changed: boolean;
}

/** Why an endpoint gets nothing. Its endings wait until it is enabled. */
export interface EndpointDisabled {
  /** operator, gone (it answered 410) or failing (for too long). */
  code: string;
  reason: string;
  at: number;
  by: string;
}

/** What is to be changed. What is null stays as it is. */
export interface EndpointEdit {
  url?: string | null;
  clients?: string[] | null;
  events?: MessageState[] | null;
  hosts?: string[] | null;
}

/** What is known of an endpoint's answers. */
export interface EndpointHealth {
  /** closed: deliveries go out. open: it rests. half_open: one delivery goes out to try. */
  state: BreakerState;
  /** Failures since its last success. */
  failures: number;
  /** When the first of them was. Null: there was none. */
  failing_since: number | null;
  /** Until then nothing goes out. Null: it does not rest. */
  rests_until: number | null;
  /** The newest failure. Empty: there was none. */
  error: string;
}

/** One page of the endpoints, by name. */
export interface EndpointPage {
  endpoints: EndpointStatus[];
  /** Where to go on. Null: at the end. */
  after: string | null;
}

/** An endpoint to be added. */
export interface EndpointRequest {
  name: string;
  url: string;
  /** `whsec_…`, or where it is: `env:NAME` or `file:/path`. Null: a new one, which the answer has. */
  secret?: string | null;
  /** Only messages of these clients may name it: names, or patterns such as `acme-*`. Empty: all. */
  clients?: string[];
  /** Which endings it gets. */
  events?: MessageState[];
  /** A message may name any URL of these hosts, signed with its secret. */
  hosts?: string[];
}

/** An endpoint whose secret was made or changed. */
export interface EndpointSecret {
  endpoint: EndpointStatus;
  /** Shown this once. Null: it was given, or is a reference. */
  secret: string | null;
}

/** One endpoint, without its secret. */
export interface EndpointStatus {
  name: string;
  url: string;
  /** Who may name it: clients and patterns of clients. Empty: all. */
  clients: string[];
  /** Which endings it gets. */
  events: MessageState[];
  /** A message may name any URL of these hosts. */
  hosts: string[];
  created_at: number;
  created_by: string;
  /** Where its secret is: `stored`, encrypted, or a reference such as `env:HOOK_SECRET`. */
  secret: string;
  /** Until when the secret before signs too. Null: there is one secret. */
  rotating_until: number | null;
  disabled: EndpointDisabled | null;
  health: EndpointHealth;
}

/** The answer to a test request. */
export interface EndpointTest {
  name: string;
  ok: boolean;
  /** The HTTP status. Null: there was no answer. */
  status: number | null;
  seconds: number;
  /** Why there was no answer, or how the answer begins. */
  text: string;
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
export type EventKind = "cancelled" | "client_forgotten" | "completed" | "dead" | "deleted" | "deletion" | "deletions" | "duplicate" | "edited" | "file_size_detected" | "finding_acked" | "finding_cleared" | "finding_fired" | "finding_silenced" | "forgotten" | "given_back" | "heartbeat_extended" | "heartbeat_failed" | "heartbeat_started" | "heartbeat_stats" | "late_settle" | "lease_lost" | "limit_cleared" | "limited" | "loop_blocked" | "move_to_dlq" | "moved" | "owner_joined" | "owner_left" | "owner_retired" | "paused" | "processed" | "promoted" | "purged" | "queue_deleted" | "quota_cleared" | "quota_set" | "received" | "redriven" | "requeue" | "resumed" | "retried" | "schedule_paused" | "schedule_resumed" | "schedule_run" | "snoozed" | "sweep_grace" | "ticked" | "touched" | "webhook_delivered" | "webhook_disabled" | "webhook_failed";

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
  /** The part that failed of the runs that a handler ended by itself (completed, retried, dead). Null: there was none. */
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

/** `id` is stable; `evidence` are the figures; `remedy` is one sentence in the imperative. */
export interface Finding {
  id: string;
  severity: Severity;
  subject: string;
  evidence: string;
  remedy: string;
}

/** One page of the findings, the worst first. */
export interface FindingPage {
  findings: FindingStatus[];
  /** How many fire that are neither acknowledged nor silenced. */
  open: number;
  /** When all alerts were last judged. Null: never. */
  judged_at: number | null;
  /** False: nothing judges alerts here; they are switched off, or no worker and no server runs. */
  is_judged: boolean;
  /** Until then some alerts are not judged yet: after a start or an outage the figures settle first. Null: all are. */
  settling_until: number | null;
  /** Where to go on. Null: at the end. */
  after: string | null;
}

/** One finding. Times are Unix seconds by the store's clock. */
export interface FindingStatus {
  /** Names it, as in `oldest_age@mail-tasks`. */
  id: string;
  alert: string;
  title: string;
  about: string;
  /** page, ticket or show. Of one that has cleared: the strongest level of its alert. */
  severity: AlertSeverity;
  /** Whether it fires now. */
  firing: boolean;
  /** A queue, a queue and a task, a worker, an endpoint, a message. Empty: the store as a whole. */
  subject: string;
  queue: string | null;
  task: string | null;
  message_id: string | null;
  /** Since when it fires. */
  since: number;
  /** Null: it fires. */
  cleared_at: number | null;
  value: number;
  /** Of the value: `s`, `1` (a part of a whole), or what is counted. */
  unit: string;
  /** The figures, in words. */
  evidence: string;
  /** What to do, one sentence. */
  remedy: string;
  /** The id of its runbook, which a server shows at /runbooks/ID. */
  runbook: string;
  /** Who has seen it as it is now. Null: no person has. */
  acked_by: string | null;
  acked_at: number | null;
  /** Until then no notices of it are sent. Null: it is not silenced. */
  silenced_until: number | null;
  silenced_by: string | null;
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

/** How to forget a client. */
export interface Forget {
  /** Only say how much there is, and what cannot be reached. */
  dry_run?: boolean;
  /** `after` of the answer before. Empty: from the start. */
  after?: string;
}

/** What was removed of a client, or would be. */
export interface ForgetResult {
  client: string;
  queue: string;
  dry_run: boolean;
  /** What its queue holds before: ready, delayed, leased, dead. Null: the broker cannot say. */
  found: Record<string, number | null>;
  /** What was removed: running, waiting and dead messages, bodies, announcements, deliveries, records, events. */
  removed: Record<string, number>;
  /** What is beyond reach, a sentence each. */
  out_of_reach: string[];
  /** Give it to the next call, which goes on there. Null: all is done. */
  after: string | null;
}

/** Whose code a frame is. */
export type FrameKind = "library" | "tenure" | "user";

/** Frames, the outermost first, and what the innermost waits for side by side. */
export interface FrameStack {
  frames: StackFrame[];
  /** This many frames were cut out of the middle. */
  left_out: number;
  branches: StackBranch[];
}

/** A message that was not worked on: nothing is counted. */
export interface GiveBackEntry {
  token: string;
  /** When it may be leased again. */
  delay_seconds?: number;
  /** For people: why. */
  reason?: string;
}

/** Messages that were not worked on. */
export interface GiveBacks {
  leases: GiveBackEntry[];
}

/** A worker that is proven gone; a sweep returns what it held. */
export interface GoneWorker {
  id: string;
  proof: string;
}

/** One group. Times are Unix seconds. */
export interface GroupDetail {
  id: string;
  /** `submitting`, `running`, `complete`, `expired`, `cancelled` or `abandoned`. */
  state: GroupState;
  /** Members. */
  total: number;
  completed: number;
  dead: number;
  cancelled: number;
  /** When it was submitted. */
  created_at: number;
  /** When it ends although members have not ended. */
  expires_at: number;
  /** Null: it has not ended. */
  ended_at: number | null;
  /** The queues of its members. */
  queues: string[];
  client: string | null;
  /** The message that is sent when it ends. Null: none is. */
  then_id: string | null;
  then_task: string | null;
  /** When that was sent. Null: not yet, or never. */
  then_sent_at: number | null;
  /** The first members that are dead or were cancelled, in the order of the calls. */
  failed: MemberResult[];
  /** Texts and results are left out. */
  redacted: boolean;
}

/** Some members of a group, in the order of the calls. */
export interface GroupMembers {
  /** The group's id. */
  id: string;
  members: MemberResult[];
  /** There are more. */
  more: boolean;
  /** Where to go on. Null: at the end. */
  after: string | null;
  redacted: boolean;
}

/** Where a group is. */
export type GroupState = "abandoned" | "cancelled" | "complete" | "expired" | "running" | "submitting";

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
  /** For this long, as far as is known. */
  holds_seconds: number | null;
  /** The id of another message whose handler blocks the worker's event loop, so that this one does not move. */
  held_up_by: string | null;
  /** What else there is to say, such as why there are no frames. One sentence, or empty. */
  note: string;
  /** Resident memory of the process in which its handler runs. Null: the system does not say. */
  memory_bytes: number | null;
  /** What the handler said last by `ctx.progress`, in this run. */
  progress: Progress | null;
  /** This long ago. */
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
  /** Of the work, in the unit of its task; sent with a beat. */
  size: number | null;
  /** How long the worker expects the run to take; sent with a beat. */
  predicted_seconds: number | null;
  /** False: the holder never joined the roster (an HTTP client, a loop of the user's own). */
  has_presence: boolean;
}

/** A message that a worker or a consumer holds. */
export interface HeldMessage {
  id: string;
  queue: string;
  /** Null: not known, as of a message that Tenure did not send. */
  task: string | null;
}

/** What a handler keeps from everything else in its process. */
export type Holds = "gil" | "loop";

/** The kept part of a payload. */
export interface KeptPayload {
  /** JSON; its beginning, where it was larger than `KEPT_BYTES`. */
  text: string;
  /** Bytes that the whole payload had. */
  size: number;
}

/** The expectation for the next run on one kind of machine. */
export interface LeaseForecast {
  /** Empty: nothing was measured, or the samples do not say where they ran. */
  hardware: string;
  /** Runs that were observed, and how many they are worth now that the older ones count less. */
  runs: number;
  evidence: number;
  /** Half of the runs take longer: the ETA. Null: not known. */
  typical_seconds: number | null;
  /** 99 of 100 stay within it. Null: nothing was measured. */
  q99_seconds: number | null;
  /** The lease for a run that no heartbeat renews, and why in one sentence. */
  lease_seconds: number;
  why: string;
  /** A `max_hold` that no run so far would have met, and why. Null: there are too few runs to say. */
  hold_seconds: number | null;
  hold_why: string | null;
}

/** Which messages to lease. */
export interface LeaseMessages {
  /** Names, or patterns such as `acme-*`. */
  queues: string[];
  /** At most this many. */
  want?: number;
  /** How long no other consumer gets them, unless they are touched. Null: as the task or the app says. */
  lease_seconds?: number | null;
  /** If there is nothing, wait this many seconds for something. */
  wait?: number;
  /** Made by the client, new for each new request. Repeated after a lost answer, it gets the same messages. */
  request_id?: string | null;
  /** Tells programs that share an access token apart: letters, digits, dots and dashes. */
  consumer?: string;
}

/** One page of what is held, soonest end first. */
export interface LeasePage {
  leases: HeldLease[];
  /** True: there are more than were asked for. */
  is_cut: boolean;
  /** The moment of reading, Unix seconds by the store's clock. */
  now: number;
  /** When the store was last swept, and when the next sweep is due. Null: no sweep has run here. */
  last_sweep_at: number | null;
  next_sweep_at: number | null;
  /** Where to go on. Null: at the end. A lease that is renewed meanwhile moves to a later page. */
  after: string | null;
}

/** What we know of a lease. */
export type LeaseState = "held" | "lost" | "uncertain";

/** How a lease fits the work. */
export type LeaseStatus = "critical" | "high" | "ok" | "renewed" | "unknown";

/** One message to work on. */
export interface LeasedMessage {
  id: string;
  queue: string;
  task: string;
  /** Exactly as it was sent. */
  payload: unknown;
  /** Names the lease in every later request. It stays the same when the lease is touched. */
  token: string;
  /** Number of this run, from 1, counting failed attempts only. */
  attempt: number;
  /** How often it was leased, with this time. */
  deliveries: number;
  /** Touch it within this time, at best every third of it, or settle it. */
  lease_seconds: number;
  expires_in_seconds: number;
  /** The same as a moment (RFC 3339), by the server's clock. */
  expires_at: string;
  /** When it was sent (RFC 3339). Null: not known. */
  sent_at: string | null;
  priority: number;
  key: string | null;
  /** The app that sent it. */
  client: string | null;
  /** What it belongs to. */
  correlation_id: string | null;
  headers: Record<string, string>;
}

/** The leased messages; none, if there was nothing until the wait was over. */
export interface LeasedMessages {
  messages: LeasedMessage[];
}

/** The current leases, soonest deadline first. */
export interface LeasesSnapshot {
  /** Now. */
  server_now: number;
  /** The moment that the snapshot shows. */
  made_at: number;
  /** Seconds until the next one. */
  next_snapshot_in: number;
  last_sweep_at: number | null;
  /** When overdue leases are returned next. Null: no sweep has run here. */
  next_sweep_at: number | null;
  leases: HeldLease[];
  /** More leases are held than these. */
  is_cut: boolean;
}

/** What became of the limit of a queue. */
export interface LimitChange {
  queue: string;
  /** False: it was so before. */
  changed: boolean;
  /** The limit in force now, as far as it is known here. Null: the queue has none. */
  limit: QueueLimit | null;
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
  /** Set: its body is in a claim check, and has this size. */
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

/** How one member of a group ended. */
export interface MemberResult {
  /** The message's id. */
  id: string;
  /** `completed`, `dead`, `cancelled` or `unfinished`. */
  state: MemberState;
  /** What its handler returned, as JSON. Null: nothing, or it is not completed, or that is too large to be copied. */
  result?: unknown;
  /** Bytes of a result that is too large: `await app.handle(id).result()` reads it, for as long as records are kept. */
  large_result?: number | null;
  /** Why it is dead. The traceback stays with the message. */
  reason?: Reason | null;
}

/** How a member of a group ended. */
export type MemberState = "cancelled" | "completed" | "dead" | "unfinished";

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
  /** What is to be told when it ends, such as `webhook:orders` (`announcement.py`). Empty: nothing. */
  announce?: string[];
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
  /** The envelope as it is stored; base64 if it cannot be read. */
  raw: string | null;
  /** The envelope, decoded. */
  message: Message | null;
  /** Everything that happened, oldest first. */
  life: Step[];
  /** Set: nothing of its queue is leased for now. */
  paused: Pause | null;
  /** The limit of its queue. */
  limit: QueueLimit | null;
  /** It is ready, and its queue's limit holds it back. */
  waits_for_limit: boolean;
  /** How large its work is, as its handler or its task says. Null: it has no size, or that is not known. */
  size: number | null;
  /** Of one that runs: seconds that half of the runs of its task and size stay within. Null: none was measured. */
  usual_seconds: number | null;
  /** The group that it is a member of, or that it follows. */
  group: MessageGroup | null;
  /** Number of the run that is under way, or of the last one; 0: it has not run yet. */
  attempt: number;
  /** Why its envelope cannot be read; empty where it can. */
  unreadable: string;
  /** Body, result, headers and texts are left out. */
  redacted: boolean;
}

/** The group of a message, as its own page names it. */
export interface MessageGroup {
  id: string;
  state: GroupState;
  total: number;
  /** Members that have ended. */
  ended: number;
  /** Members that are dead or were cancelled. */
  failed: number;
  /** It is the message that follows the group, and no member. */
  is_last: boolean;
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
  /** At most this many in this request. */
  limit?: number;
  /** The code of the reason, such as `max_attempts`. */
  reason?: string | null;
  /** Those of one group: its `fingerprint`. */
  fingerprint?: string | null;
  /** Died before this: Unix seconds or RFC 3339. */
  before?: string | number | null;
  /** Of this client only. */
  client?: string | null;
  /** With this key only. */
  key?: string | null;
  /** With this text in its payload or its reason; needs the scope `payload`. */
  text?: string | null;
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

/** A message whose work failed: an attempt is counted. */
export interface NackEntry {
  token: string;
  /** For people: what went wrong. */
  reason?: string;
  /** The class of the error, by which failures are grouped. */
  error?: string;
  /** The traceback, shortened if it is long. */
  traceback?: string;
  /** When it may be leased again. Null: by the task's backoff. */
  delay_seconds?: number | null;
}

/** Messages whose work failed. */
export interface Nacks {
  leases: NackEntry[];
}

/** What to limit. At least one of both; what is left out stays as it was. */
export interface NewLimit {
  /** At most so many run at once, over all workers. */
  running?: number | null;
  /** At most so many start in a time, over all workers: `100/m`, `5/s`, `1/10s`. */
  rate?: string | null;
}

/** One message to send. Its payload is any JSON value; it is stored exactly as it is given. */
export interface NewMessage {
  /** The message's own id: sent again with it, no second message is stored. Default: a new one. */
  id?: string | null;
  /** For whom the work is: a-z, 0-9 and single dashes. Default: the client whose queue it goes to, else the server's. */
  client?: string | null;
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
  /** What is notified when it ends: the name of an endpoint, or a URL that an endpoint allows. Default: the task's. */
  webhook?: string | null;
  /** Default: that of its client, `{client}-tasks`. */
  queue?: string | null;
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

/** What to set. At least one of them; what is left out stays as it was. */
export interface NewQuota {
  /** At most so many may wait, ready or delayed; further ones are refused with `quota_exceeded`. */
  waiting?: number | null;
  /** At most so many run at once, over all workers. */
  running?: number | null;
  /** At most so many start in a time, over all workers: `100/m`, `5/s`, `1/10s`. */
  rate?: string | null;
  /** So many bytes of JSON a payload may have: `65536` or `64KiB`. */
  payload?: number | string | null;
  /** False: also for a client that sends its first message later. */
  must_exist?: boolean;
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

/** How large the part of a client is to be. */
export interface NewWeight {
  /** So many times the work time of a client of weight 1, from 0.01 to 100. */
  weight: number;
  /** False: also a client that is not known yet. */
  must_exist?: boolean;
}

/** What came of one check. */
export type Outcome = "critical" | "failed" | "info" | "unknown" | "warning" | "well";

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
  /** Rates and shares are of this many seconds. */
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
  /** When overdue leases are returned next. Null: no sweep has run here. */
  next_sweep_at: number | null;
  headline: Headline;
  /** Rates and shares are of this many seconds. */
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

/** Which dead letters to redrive or delete. */
export interface PacedSelection {
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
  /** At most this many in this request. */
  limit?: number;
  /** The code of the reason, such as `max_attempts`. */
  reason?: string | null;
  /** Those of one group: its `fingerprint`. */
  fingerprint?: string | null;
  /** Died before this: Unix seconds or RFC 3339. */
  before?: string | number | null;
  /** Of this client only. */
  client?: string | null;
  /** With this key only. */
  key?: string | null;
  /** With this text in its payload or its reason; needs the scope `payload`. */
  text?: string | null;
  /** At most this many a second, evenly; not with `ids`. The request then ends after about 20 s. */
  per_second?: number | null;
}

/** A queue from which nothing is leased until it is resumed. */
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
  /** Those of them that ran. Null: not known, or stored by an older Tenure. */
  running: number | null;
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
  /** For a malformed request: which parameter, or which place in the body. */
  field?: string | null;
  /** For an unreachable store: whether the request may have been carried out anyway. */
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
  /** Remove about this many at most. */
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

/** The limit of a queue that is in force. */
export interface QueueLimit {
  queue: string;
  /** At most so many run at once, over all workers. Null: any number. */
  running: number | null;
  /** At most so many start in a second, over all workers. Null: any number. */
  per_second: number | null;
  /** The same as people write it, such as `100/m`. */
  rate: string | null;
  /** When an operator set it, in Unix seconds. Null: the code says so. */
  at: number | null;
  /** The operator. */
  by: string;
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
  /** The limit that messages of it wait for. Null: none waits for one. */
  limit: QueueLimit | null;
  flow: Flow;
}

/** One page of the queues, by name. */
export interface QueuePage {
  queues: QueueStatus[];
  /** Where to go on. Null: at the end. */
  after: string | null;
}

/** How many messages one queue holds. None: the broker cannot say. */
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
  limit: QueueLimit | null;
  /** Messages are ready that the limit holds back. */
  waits_for_limit: boolean;
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
  /** When overdue leases are returned next. Null: no sweep has run here. */
  next_sweep_at: number | null;
  window_seconds: number;
  queues: QueueOverview[];
}

/** What became of the quota of a client. */
export interface QuotaChange {
  client: string;
  queue: string;
  changed: boolean;
  /** The quota in force now, as far as it is known here. Null: the client has none. */
  quota: ClientQuota | null;
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

/** How often messages came again, by cause. None: their task is not known. */
export interface Redelivered {
  retry: number;
  expiry: number | null;
  crash: number | null;
}

/** Which failed deliveries to send once more. Where several things are given, all of them must hold. */
export interface ReplayRequest {
  ids?: string[];
  endpoint?: string | null;
  since?: number | null;
  before?: number | null;
  /** At most so many a second. */
  rate?: number | null;
  /** Only say how many. */
  dry_run?: boolean;
  /** At most so many in this request; the same request goes on. */
  limit?: number;
}

/** A new secret. */
export interface Rotation {
  /** As for a new endpoint. */
  secret?: string | null;
  /** The old one signs too for so long. 0: it is void at once. */
  overlap_seconds?: number;
}

/** What became of a message that was to run now. */
export interface RunNowResult {
  id: string;
  queue: string;
  /** `delayed`: it is ready now. `ready`: it was ready already, and nothing was changed. */
  was: MessageState;
  /** Whether it was made ready. */
  changed: boolean;
  /** Set: nothing of its queue is leased for now. */
  paused: Pause | null;
}

/** How far a message is in the worker that holds it. */
export type RunPhase = "ending" | "fetching" | "running" | "settling" | "starting" | "waiting";

/** One queue and the workers that it needs. None: cannot be known. */
export interface ScalingNeed {
  queue: string;
  ready: number | null;
  leased: number | null;
  /** Messages whose time has not come, those that are due soon among them. */
  delayed: number | null;
  /** Delayed messages that are due within the target age. */
  due: number | null;
  estimated: boolean;
  /** Seconds since the oldest ready message was sent. Null: nothing is ready, or it cannot be known. */
  oldest_age_seconds: number | null;
  /** Null: no run of this queue was measured within the window, and no profile says what to expect. */
  mean_seconds: number | null;
  q99_seconds: number | null;
  runs: number;
  /** The profile that the figures come from, while no run was measured. Null: they were measured, or there are none. */
  profile: string | null;
  /** Workers that serve it now. */
  workers_now: number;
  slots: number;
  /** Messages, waiting or running, that one worker can have at this pace: the target of a tracking autoscaler. */
  messages_per_worker: number;
  desired: number | null;
  why: string;
  /** What looking at the ready ones alone would say, and how many running messages that would interrupt. */
  visible_only: number | null;
  interrupted: number | null;
}

/** What every queue needs, by name. */
export interface ScalingReport {
  /** Everything that waits now is to begin within this time. */
  target_age_seconds: number;
  queues: ScalingNeed[];
  /** More queues: ask again with this. Null: there are none. */
  after: string | null;
}

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

/** The message of a schedule that was run by hand. */
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
  /** The id of the stored message for this entry. Null: there is none. */
  id: string | null;
  outcome: SendOutcome;
  /** Why it was refused or failed: a stable code, and a sentence. Null: it was not. */
  code: string | null;
  detail: string | null;
  /** For one that failed: it may have been stored anyway. */
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

/** How a settle over HTTP ended. */
export type SettleOutcome = "already_gone" | "cancelled" | "dead" | "deleted" | "failed" | "refused" | "returned" | "taken_over" | "unknown";

/** What became of one entry. */
export interface SettledLease {
  /** The message's id. Null: the token cannot be read. */
  id: string | null;
  outcome: SettleOutcome;
  /** Why it failed or was refused: a stable code, and a sentence. Null: it was not. */
  code: string | null;
  detail: string | null;
  /** For one that failed: it may have been carried out anyway. */
  outcome_unknown: boolean;
}

/** What became of each entry, in order. */
export interface SettledLeases {
  leases: SettledLease[];
}

/** How much it matters. */
export type Severity = "critical" | "info" | "warning";

/** For how long no notices are sent. */
export interface Silence {
  /** 0: end the silence. */
  seconds: number;
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
  /** Who did it, and from where. */
  by?: string | null;
  triggered_by?: string | null;
  /** deleted, purged, moved, edited: what kind of act it was. The schedule's name, for a message that one sent. */
  act?: string | null;
  /** Of a duplicate, and of a run that another worker had too: why the message came again. Null: not known. */
  cause?: DuplicateCause | null;
  /** When its worker learned that the lease was gone. */
  noticed_at?: number | null;
  /** What an event says beside all this. */
  data?: Record<string, unknown>;
}

/** One message for a task. */
export interface Submission {
  /** The message's own id: sent again with it, no second message is stored. Default: a new one. */
  id?: string | null;
  /** For whom the work is: a-z, 0-9 and single dashes. Default: the client whose queue it goes to, else the server's. */
  client?: string | null;
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
  /** What is notified when it ends: the name of an endpoint, or a URL that an endpoint allows. Default: the task's. */
  webhook?: string | null;
  /** The handler's parameters by name. Default: none. */
  payload?: unknown;
  /** Another queue than the task's; default: the task's own, or `{client}-tasks`. */
  queue?: string | null;
}

/** The stored message of the submission. */
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

/** One queue and task. Seconds everywhere, parts from 0 to 1; None is "cannot be known". */
export interface TaskTiming {
  queue: string;
  task: string;
  /** Null: no run was measured in that time. */
  durations: Durations | null;
  /** The lease of every message. Null: the policy is not known, or each message has one for its size. */
  lease_seconds: number | null;
  renewed: boolean | null;
  /** Whether it follows what was measured. */
  learned: boolean | null;
  by_size: boolean | null;
  max_hold_seconds: number | null;
  /** The part of the lease that 99 of 100 runs stay within. Null: unknown, renewed, or by size. */
  use: number | null;
  /** What is to be expected of the next run, and the lease that it needs without a heartbeat. */
  forecast: LeaseForecast;
  /** How long after its start a run is first renewed. Null: never, or unknown. */
  first_beat_seconds: number | null;
  /** How often 99 of 100 runs are renewed at most. */
  beats_at_q99: number | null;
  completed: number;
  dead: number;
  duplicates: number;
  duplicate_rate: number | null;
  deletes: number;
  /** Deletes of finished messages of which it is not known that they worked. */
  deletes_failed: number;
  deletion_failure_rate: number | null;
  /** Runs that ended after their lease was gone. */
  overran: number;
  redelivered: Redelivered;
  /** Why the lease is as long as it is, in one sentence. */
  lease_why: string;
  /** From q99 to the end of the lease; below 0: it is too short. None as in `use`. */
  margin_seconds: number | null;
  status: LeaseStatus;
  /** A `max_hold` that no run so far would have met. Null: there are too few runs to say. */
  advised_hold_seconds: number | null;
  /** The profile that the forecast follows while no run was measured. Null: there is none, or there are runs. */
  profile: string | null;
  /** How long the runs of `durations` took, at most 48 buckets. */
  distribution: DurationBucket[];
  /** What is wrong or good, the worst first, with evidence and remedy. */
  findings: Finding[];
}

/** For a body that was too large for the broker: the reference to its copy in the blob store. */
export interface Ticket {
  /** The place as the sender called it, for people. A worker looks in its own. */
  place: string;
  /** Bytes. */
  size: number;
  /** SHA-256 of the body: the same for the same payload, and proof that it came back whole. */
  digest: string;
}

/** How long tasks take, by queue and task. */
export interface TimingReport {
  /** Unix seconds: by the events since then. */
  since: number;
  /** This many were looked at. */
  events: number;
  /** There are more in that time than were looked at. */
  cut: boolean;
  tasks: TaskTiming[];
  unknown: UnknownReturns;
  /** Of all these tasks, the worst first. */
  findings: Finding[];
  /** More tasks: ask again with this. Null: there are none. */
  after: string | null;
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
  /** After this many seconds it is not valid any more. Null: it does not expire. */
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

/** A message that is still worked on. */
export interface TouchEntry {
  token: string;
  /** It is held for this long from now; a lease is never shortened. Null: for the lease's own length. */
  seconds?: number | null;
  /** Shown to those who look at the message. */
  progress?: TouchProgress | null;
}

/** What became of a lease that was touched. */
export type TouchOutcome = "cancelled" | "held" | "lost" | "refused" | "uncertain";

/** How far the work is. */
export interface TouchProgress {
  /** 0 to 1. Null: not known. */
  fraction?: number | null;
  /** For people. */
  note?: string;
}

/** How much more time to give. */
export interface TouchRequest {
  /** The lease lasts at least this many seconds from now. Null: its own length. */
  seconds?: number | null;
}

/** What became of one lease. */
export interface TouchedByToken {
  /** The message's id. Null: the token cannot be read. */
  id: string | null;
  outcome: TouchOutcome;
  /** How long it lasts from now. Null: it is not held. */
  expires_in_seconds: number | null;
  /** Why it is uncertain or was refused. Null: it is neither. */
  code: string | null;
  detail: string | null;
}

/** What became of each entry, in order. */
export interface TouchedByTokens {
  leases: TouchedByToken[];
}

/** A lease that was given more time. */
export interface TouchedLease {
  /** The message's id. */
  id: string;
  queue: string;
  /** The worker that holds it, as before. */
  owner: string;
  /** `held`. `uncertain`: the store gives it the time, and the queue has not said that it hides the message so long. */
  state: LeaseState;
  /** When it ends now: Unix seconds. Later than was asked if it lasted longer; sooner if the store holds none so long. */
  deadline: number;
  /** Seconds until then. */
  deadline_in: number;
}

/** Messages that are still worked on. */
export interface Touches {
  leases: TouchEntry[];
}

/** Messages that came back whose task is no longer known. */
export interface UnknownReturns {
  expiry: number;
  crash: number;
}

/** What became of the weight of a client. */
export interface WeightChange {
  client: string;
  queue: string;
  /** False: it was so before. */
  changed: boolean;
  /** What an operator set. Null: nothing; what `TENURE_CLIENT_WEIGHTS` of each worker says counts, else 1. */
  weight: number | null;
}

/** What can be asked of a worker. */
export type WorkerAct = "drain" | "stop";

/** What was asked of one worker. It hears it within a second or two. */
export interface WorkerChange {
  id: string;
  act: WorkerAct;
  /** False: it was asked before. */
  changed: boolean;
  /** Its version of Tenure. Null: it does not say; one that is too old for that does not hear what is asked either. */
  version: string | null;
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

/** One page of the workers, by name. Those that are gone, and consumers over HTTP, are on the first page. */
export interface WorkerPage {
  workers: WorkerStatus[];
  gone: GoneWorker[];
  /** Programs that lease over HTTP. */
  consumers: ConsumerStatus[];
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
  /** From here on by its last report, up to 5 s old, in the cloud 60 s. Null: it does not say, as an older version. */
  version: string | null;
  /** CPU time of its process in percent of one core, since the report before. */
  cpu_percent: number | null;
  /** Resident memory of its process (RSS), without that of its child processes. */
  memory_bytes: number | null;
  /** Whether an operator has it drain or stop. */
  draining: boolean | null;
  /** Unix seconds. Null: it does not. */
  draining_since: number | null;
  /** Why, as in `drained by alice (dashboard)`. Empty: it does not drain. */
  leaving: string;
  /** Messages that it finished in the last minute. */
  rate_per_minute: number | null;
  /** Attempts that ended in error in the last minute. */
  errors_per_minute: number | null;
}
