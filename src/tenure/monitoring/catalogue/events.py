"""Every event that Tenure emits, with its fields. `tenure.event.EventKind` has the same names.

`ENVELOPE` are the fields of `Event` itself; each kind adds those of its `data`. The page
docs/reference/monitoring.md is made from this file.
"""

from tenure.monitoring.catalogue.spec import Detail, EventSpec, FieldSpec, FieldType

_S, _N, _I = FieldType.STRING, FieldType.NUMBER, FieldType.INTEGER
_B, _L, _O = FieldType.BOOLEAN, FieldType.LIST, FieldType.OBJECT


def _field(name: str, kind: FieldType, about: str, unit: str | None = None) -> FieldSpec:
    return FieldSpec(name, kind, about, unit)


def _perhaps(name: str, kind: FieldType, about: str, unit: str | None = None) -> FieldSpec:
    return FieldSpec(name, kind, about, unit, is_optional=True)


#: The fields of every event; one that does not apply is left out.
ENVELOPE: tuple[FieldSpec, ...] = (
    _field("kind", _S, "what happened: the event's name"),
    _field("at", _N, "when, as a Unix time", "s"),
    _perhaps("queue", _S, "the queue that it is about"),
    _perhaps("task", _S, "the task's name"),
    _perhaps("message_id", _S, "the message that it is about"),
    _perhaps("owner", _S, "the worker that it is about, or that did it"),
    _perhaps("attempt", _I, "number of the run, from 1"),
    _perhaps("seconds", _N, "how long the handler ran, where one ran", "s"),
)

# -- fields that several kinds have ------------------------------------------------------------------

_AFTER = _field("after_seconds", _N, "when it comes back, counted from now", "s")
_CODE = _field("code", _S, "why, as a stable word")
_REASON = _field("reason", _S, "why, as a sentence")
_DELETE = _perhaps("delete", _S, "how its delete ended, if that did not work: already_gone, taken_over or unknown")
_CANCEL = (
    _perhaps("code", _S, "cancelled, if that is why"),
    _perhaps("by", _S, "who cancelled it"),
)
_COUNT = _field("count", _I, "how many messages", "{message}")
_IDS = _field("ids", _L, "their ids")
_SWEPT = (
    _COUNT,
    _field("dlq_count", _I, "how many of the batch went to the dead letters", "{message}"),
    _IDS,
    _field("triggered_by", _S, "what ran the sweep: scheduler, liveness, supervisor, goodbye, cli, api"),
)
_WHO = (
    _field("by", _S, "who did it"),
    _field("triggered_by", _S, "from where: cli, api, dashboard"),
)
_ACTED = (_COUNT, _IDS, *_WHO)
_SCHEDULE = _field("schedule", _S, "the schedule's name")
_RESENT = (
    *_ACTED,
    _field("new_id", _S, "the message that was sent in its place"),
    _field("to", _S, "the queue that it was sent to"),
)

# -- the steps of a message, where detail is asked for ------------------------------------------------

_SAMPLED = _perhaps("sample_weight", _N, "for how many messages it stands; not there: emitted for every one", "1")
_CORRELATION = _perhaps("correlation_id", _S, "of the message, if it has one")
_STEP = (_CORRELATION, _SAMPLED)
_DELIVERIES = _field("deliveries", _I, "how often it was delivered, this time included", "{delivery}")
_LEASE = _field("lease_seconds", _N, "how long each touch leases it", "s")
_EXTENSIONS = (
    _field("extension_count", _I, "how often its lease was renewed so far", "{beat}"),
    _field("total_extended_seconds", _N, "what was asked for by all of them", "s"),
)

_STEPS = (
    EventSpec("received", "0.3", "A worker leased it and read it. For every message, if an earlier worker crashed or "
              "lost its lease with it.",
              (_DELIVERIES, _LEASE, _perhaps("waited_seconds", _N, "since it was sent; of a first delivery", "s"),
               *_STEP),
              Detail.SAMPLED),
    EventSpec("heartbeat_started", "0.3", "The heartbeat keeps its lease from now on.",
              (_LEASE, _field("interval_seconds", _N, "until the first beat", "s"), *_STEP), Detail.SAMPLED),
    EventSpec("heartbeat_extended", "0.3", "Its lease was renewed.",
              (*_EXTENSIONS, _field("extension_seconds", _N, "for how long, from now", "s"), *_STEP), Detail.SAMPLED),
    EventSpec("heartbeat_stats", "0.3", "What the heartbeat did for it, when its run was over.",
              (*_EXTENSIONS, _field("is_running", _B, "always false"),
               _field("last_error", _S, "why the last renewal failed; null: it did not"), *_STEP), Detail.SAMPLED),
    EventSpec("processed", "0.3", "Its handler ended; `seconds` is how long it ran. For every message whose lease was "
              "nearly over by then.",
              (_field("outcome", _S, "completed, retried, snoozed, dead, given_back or lease_lost"), _LEASE,
               _field("lease_left_seconds", _N, "what was left of its latest lease", "s"),
               _field("lease_use", _N, "the run as a part of one lease; above 1 if it was renewed", "1"),
               _field("timeout_risk", _B, "less than a fifth of the latest lease was left"), *_STEP), Detail.SAMPLED),
    EventSpec("deletion", "0.3", "The delete of a finished message ended. For every message whose delete did not work.",
              (_field("result", _S, "deleted, already_gone, taken_over or unknown"),
               _field("is_failure", _B, "neither deleted nor gone before"),
               _field("delete_attempts", _I, "how often it was tried"),
               _field("delete_seconds", _N, "how long it took", "s"), *_STEP), Detail.SAMPLED),
)  # fmt: skip

# -- messages, as a worker met them ------------------------------------------------------------------

_ENDINGS = (
    EventSpec("completed", "0.1", "A handler returned, and it is settled.",
              (_DELETE, _perhaps("payload", _S, "its payload as JSON, its first 16 KiB, where its task keeps payloads"),
               _perhaps("payload_bytes", _I, "how long the whole payload was", "By"))),
    EventSpec("retried", "0.1", "An attempt failed; it comes back.", (_AFTER, _CODE, _REASON)),
    EventSpec("snoozed", "0.1", "Its handler asked to be run later; no attempt was counted.",
              (_AFTER, _CODE, _REASON, _field("snoozes", _I, "how often it was snoozed"))),
    EventSpec("dead", "0.1", "A worker put it with the dead letters.", (_CODE, _REASON)),
    EventSpec("duplicate", "0.1", "It was known as done, and only deleted.",
              (_field("tier", _S, "what recognised it: ledger"),
               _field("cause", _S, "why it came again: expired_mid_run, delete_failed, sent_again, redelivered or "
                      "redriven; null: not known"), _DELIVERIES, _CORRELATION), schema=2),
    EventSpec("given_back", "0.1", "It was not run here, and goes back uncounted. Not emitted for the codes "
              "`concurrency` and `known_elsewhere`.", (_AFTER, _CODE, _REASON)),
    EventSpec("lease_lost", "0.1", "Its lease was lost, or it was cancelled, while it ran; nothing was settled.",
              _CANCEL),
    EventSpec("late_settle", "0.1", "A settle changed nothing, because it came too late.",
              (_field("outcome", _S, "how the settle ended: already_gone, taken_over or unknown"), *_CANCEL)),
    EventSpec("file_size_detected", "0.1", "A handler said by `ctx.set_size` how large its work is.",
              (_field("file_size_bytes", _I, "the size, in whatever the task counts", "By"),
               _field("file_size_mb", _N, "the same in MiB", "MiBy"),
               _field("estimated_processing_seconds", _N, "how long such a run takes; null: not known", "s"))),
)  # fmt: skip

# -- workers ------------------------------------------------------------------------------------------

_WORKERS = (
    EventSpec("owner_joined", "0.1", "A worker started."),
    EventSpec("owner_left", "0.1", "A worker ended as it should.",
              (_perhaps("reason", _S, "an operator had it leave, as in `drained by alice (cli)`"),)),
    EventSpec("owner_retired", "0.1", "A worker was proven dead, and what it held was returned.",
              (_field("proof", _S, "how that is known"), _COUNT,
               _field("left", _B, "it had said goodbye before"))),
    EventSpec("loop_blocked", "0.1", "A handler blocked the event loop.",
              (_field("seconds", _N, "for how long", "s"), _field("stack", _S, "where it was"))),
    EventSpec("heartbeat_failed", "0.1", "Leases could not be renewed for now; it is tried again.",
              (_field("count", _I, "how many leases", "{lease}"), _field("error", _S, "what the store answered"),
               _field("ids", _L, "the messages, the first 100 of them")), schema=2),
    EventSpec("deletions", "0.1", "Some deletes of finished messages did not work: once a minute, and when a worker "
              "ends. Counted since the worker's start.",
              (_field("total", _I, "deletes that were tried"), _field("deleted", _I, "deletes that worked"),
               _field("outcomes", _O, "how many by outcome"), _field("attempts", _I, "calls that were made"),
               _field("resolved", _I, "failed at first, and known to be gone since"),
               _field("success_rate", _N, "the part that worked; null: nothing was tried", "1"),
               _field("first_failures", _L, "the first ones that failed, with id, outcome and text"))),
)  # fmt: skip

# -- sweeps and schedules -----------------------------------------------------------------------------

_SWEEPS = (
    EventSpec("requeue", "0.1", "Overdue messages, or those of a worker that is gone, were returned to their queue; "
              "one event a queue and batch, of 1000 messages at most.", _SWEPT),
    EventSpec("move_to_dlq", "0.1", "A sweep moved messages to the dead letters; one event a queue and batch.", _SWEPT),
    EventSpec("sweep_grace", "0.1", "No sweep ran for a while, or the server began anew: an outage is assumed, and "
              "leases got a fresh window."),
    EventSpec("ticked", "0.1", "A schedule's moment came. Without a message it was skipped, or the schedule is paused.",
              (_SCHEDULE, _field("scheduled_for", _S, "the moment, as ISO 8601"),
               _field("missed", _B, "it came too late"), _perhaps("paused", _B, "the schedule is paused"))),
)  # fmt: skip

# -- acts of people and programs ----------------------------------------------------------------------

_ACTS = (
    EventSpec("redriven", "0.1", "Dead letters were sent back to their queue.", _ACTED),
    EventSpec("deleted", "0.1", "Messages were deleted.", _ACTED),
    EventSpec("cancelled", "0.1", "Messages were cancelled.",
              (*_ACTED, _field("running", _I, "how many of them while they ran", "{message}"))),
    EventSpec("purged", "0.1", "Waiting messages of a queue were removed.",
              (*_ACTED, _field("state", _S, "which ones: ready, delayed or dead"))),
    EventSpec("moved", "0.2", "A dead letter was sent to another queue, as a new message.", _RESENT),
    EventSpec("edited", "0.2", "A dead letter was sent again with another payload, queue or priority, as a new "
              "message.",
              _RESENT),
    EventSpec("promoted", "0.2", "Delayed messages were made ready.", _ACTED),
    EventSpec("touched", "0.2", "The lease on a running message was given more time.",
              (*_ACTED, _field("seconds", _N, "at least so much, from now", "s"), _field("holder", _S, "whose lease"))),
    EventSpec("paused", "0.1", "A queue was paused.", _WHO),
    EventSpec("resumed", "0.1", "It was resumed.", _WHO),
    EventSpec("limited", "0.3", "An operator limited a queue.", (*_WHO, _field("limit", _S, "to what"))),
    EventSpec("limit_cleared", "0.3", "The limit that an operator had set was removed.", _WHO),
    EventSpec("quota_set", "0.3", "An operator set how many messages of a client may wait, or how large they may be.",
              (*_WHO, _field("quota", _S, "to what"))),
    EventSpec("quota_cleared", "0.3", "The quota that an operator had set was removed.", _WHO),
    EventSpec("client_forgotten", "0.3", "What was kept of a client was removed.",
              (*_WHO, _field("removed", _I, "how many messages", "{message}"))),
    EventSpec("queue_deleted", "0.2", "An empty queue was deleted.", _WHO),
    EventSpec("forgotten", "0.1", "A schedule was made to start over.", (*_WHO, _SCHEDULE)),
    EventSpec("schedule_paused", "0.2", "A schedule was paused.", (*_WHO, _SCHEDULE)),
    EventSpec("schedule_resumed", "0.2", "It was resumed.", (*_WHO, _SCHEDULE)),
    EventSpec("schedule_run", "0.2", "A schedule sent a message outside its ticks, on request.", (*_ACTED, _SCHEDULE)),
)  # fmt: skip

# -- webhooks -----------------------------------------------------------------------------------------

_ENDPOINT = _field("endpoint", _S, "the endpoint's name")
_WEBHOOK = (
    _ENDPOINT,
    _field("delivery_seconds", _N, "how long the receiver took", "s"),
    _perhaps("status", _I, "the HTTP status of its answer; not there: no answer"),
)
_WEBHOOKS = (
    EventSpec("webhook_delivered", "0.3", "A receiver took a delivery.", (*_WEBHOOK, *_STEP), Detail.SAMPLED),
    EventSpec("webhook_failed", "0.3", "A receiver did not take a delivery, this time.",
              (*_WEBHOOK, _field("reason", _S, "what it answered"), _CORRELATION)),
    EventSpec("webhook_disabled", "0.3", "A webhook endpoint was disabled by itself.",
              (_ENDPOINT, _field("code", _S, "gone: it answered 410; failing: it failed for days"), _REASON)),
)  # fmt: skip

_FINDING = (
    _field("finding", _S, "its name, as in `oldest_age@mail-tasks`"), _field("alert", _S, "the alert's id"),
)  # fmt: skip
_MEASURED = (
    *_FINDING, _field("subject", _S, "what it is about"), _field("severity", _S, "page, ticket or show"),
    _field("value", _N, "what was measured"), _field("evidence", _S, "the figures, in words"),
)  # fmt: skip
_FINDINGS = (
    EventSpec("finding_fired", "0.3", "An alert or detector fires, or fires at a stronger level.", _MEASURED),
    EventSpec("finding_cleared", "0.3", "It fires no more.", _MEASURED),
    EventSpec("finding_acked", "0.3", "A person has seen a finding.", (*_WHO, *_FINDING)),
    EventSpec("finding_silenced", "0.3", "A finding is silenced for a while.",
              (*_WHO, *_FINDING, _field("seconds", _N, "for how long; 0: no more"))),
)  # fmt: skip

EVENTS: tuple[EventSpec, ...] = (*_STEPS, *_ENDINGS, *_WORKERS, *_SWEEPS, *_ACTS, *_WEBHOOKS, *_FINDINGS)
