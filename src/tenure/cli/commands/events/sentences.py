"""One event in a line of plain English. Its time and its kind stand before it. Pure."""

from collections.abc import Callable

from tenure.cli.terminal.duration import exact
from tenure.event import Event, EventKind
from tenure.text.plural import plural
from tenure.timing.why import amount

#: What comes back sooner comes back at once, for people.
_AT_ONCE = 0.01
#: The colour of a kind, by how bad it is. Other kinds have none.
STYLES: dict[str, str] = {
    "completed": "green", "dead": "red", "move_to_dlq": "red", "retried": "yellow", "lease_lost": "yellow",
    "late_settle": "yellow", "heartbeat_failed": "yellow", "requeue": "yellow", "owner_retired": "yellow",
    "sweep_grace": "yellow", "loop_blocked": "yellow", "deletions": "yellow",
    "finding_fired": "yellow", "redriven": "cyan", "deleted": "cyan",
    "cancelled": "cyan", "purged": "cyan", "moved": "cyan", "edited": "cyan", "queue_deleted": "cyan",
    "schedule_paused": "cyan", "schedule_resumed": "cyan", "schedule_run": "cyan", "paused": "cyan",
    "resumed": "cyan", "forgotten": "cyan", "webhook_failed": "yellow", "webhook_disabled": "red",
    "received": "dim", "heartbeat_started": "dim", "heartbeat_extended": "dim", "heartbeat_stats": "dim",
    "processed": "dim", "deletion": "dim",
}  # fmt: skip

_TRIGGERS = {"scheduler": "a sweep", "liveness": "a worker that found their owner dead", "cli": "the command line",
             "supervisor": "the supervisor of their worker", "api": "Python code"}  # fmt: skip


def sentence(event: Event) -> str:
    """Say what happened."""
    # A sweep's grace is of no queue and holds nothing, also where no client was forgotten.
    if event == Event(event.kind, event.at) and event.kind != EventKind.SWEEP_GRACE:
        return "erased: its client was forgotten"
    tell = _SENTENCES.get(event.kind)
    return _other(event) if tell is None else tell(event)


def _message(event: Event) -> str:
    """Name the message, its task and its queue."""
    name = " ".join(filter(None, (event.task, event.message_id))) or "a message"
    return f"{name} in {event.queue}" if event.queue else name


def _run(event: Event, verb: str) -> str:
    attempt = "" if event.attempt is None else f" at attempt {event.attempt}"
    took = "" if event.seconds is None else f" after {exact(event.seconds)}"
    return f"{_message(event)} {verb}{attempt}{took}{_on(event)}"


def _on(event: Event) -> str:
    return f" on {event.owner}" if event.owner else ""


def _why(event: Event) -> str:
    code, text = event.data.get("code"), str(event.data.get("reason") or "").partition("\n")[0]
    parts = [str(part) for part in (None if code == "error" and text else code, text) if part]
    return f": {': '.join(parts)}" if parts else ""


def _again(event: Event) -> str:
    seconds = event.data.get("after_seconds")
    if not isinstance(seconds, int | float):
        return ""
    return f"; next try in {exact(seconds)}" if seconds >= _AT_ONCE else "; again at once"


def _messages(event: Event) -> str:
    return plural(int(event.data.get("count", 0)), "message")


def _where(event: Event) -> str:
    return f" in {event.queue}" if event.queue else ""


def _by(event: Event) -> str:
    who, door = event.data.get("by"), event.data.get("triggered_by")
    through = f" ({_TRIGGERS.get(str(door), door)})" if door else ""
    return f", by {who}{through}" if who else f", by {_TRIGGERS.get(str(door), door)}" if door else ""


def _for(event: Event) -> str:
    seconds = event.data.get("seconds")
    return f" for {exact(seconds)}" if isinstance(seconds, int | float) and seconds else " no more"


def _requeue(event: Event) -> str:
    dead = event.data.get("dlq_count")
    also = f", {dead} more went to the dead letters" if dead else ""
    return f"{_messages(event)}{_where(event)} returned to the queue{_by(event)}{also}"


def _cancelled(event: Event) -> str:
    running = event.data.get("running")
    return f"{_messages(event)}{_where(event)} cancelled{f', {running} while running' if running else ''}{_by(event)}"


def _instead(event: Event) -> str:
    """The message that was sent in its place."""
    new_id, to = event.data.get("new_id"), event.data.get("to")
    return f" to {to} as {new_id}" if new_id else ""


def _retired(event: Event) -> str:
    proof = f" ({event.data['proof']})" if event.data.get("proof") else ""
    what = "left" if event.data.get("left") else "is dead"
    return f"worker {event.owner} {what}{proof}; {_messages(event)} returned"


def _lost(event: Event) -> str:
    if event.data.get("code") == "cancelled":
        by = f" by {event.data['by']}" if event.data.get("by") else ""
        return f"{_message(event)} was cancelled{by} while it ran{_on(event)}; nothing was settled"
    return f"{_message(event)} lost its lease while it ran{_on(event)}; nothing was settled"


def _ticked(event: Event) -> str:
    if event.data.get("paused"):
        return f"schedule {event.data.get('schedule')} is paused: no message was sent for this tick"
    missed = event.data.get("missed")
    return f"schedule {event.data.get('schedule')} sent {_message(event)}{f', {missed} ticks missed' if missed else ''}"


def _sized(event: Event) -> str:
    size = event.data.get("file_size_bytes")
    return f"{_message(event)} has work of size {amount(size) if isinstance(size, int | float) else 'unknown'}"


def _deletions(event: Event) -> str:
    failed = int(event.data.get("total", 0)) - int(event.data.get("deleted", 0))
    return f"{plural(failed, 'delete')} of {event.data.get('total')} did not work{_on(event)}"


def _not_renewed(event: Event) -> str:
    leases = plural(int(event.data.get("count", 0)), "lease")
    return f"{leases} could not be renewed{_on(event)}: {event.data.get('error')}"


def _purged(event: Event) -> str:
    noun = f"{event.data.get('state') or ''} message".strip()
    return f"{plural(int(event.data.get('count', 0)), noun)}{_where(event)} purged{_by(event)}"


def _other(event: Event) -> str:
    """A kind that a newer worker wrote."""
    parts = [_message(event)] if event.message_id or event.task or event.queue else []
    parts += [f"{name} {value}" for name, value in event.data.items() if name != "ids"]
    return ", ".join(parts) + _on(event)


def _cause(event: Event) -> str:
    cause = CAUSES.get(str(event.data.get("cause")))
    return f" and {cause}" if cause else ""


def _received(event: Event) -> str:
    deliveries = event.data.get("deliveries")
    again = f", delivery {deliveries}" if isinstance(deliveries, int) and deliveries > 1 else ""
    waited = event.data.get("waited_seconds")
    late = f", {exact(waited)} after it was sent" if isinstance(waited, int | float) else ""
    return f"{_message(event)} received{_on(event)}{again}{late}"


def _processed(event: Event) -> str:
    left, outcome = event.data.get("lease_left_seconds"), event.data.get("outcome")
    risk = " (at risk)" if event.data.get("timeout_risk") else ""
    rest = f", {exact(left)} of its lease left{risk}" if isinstance(left, int | float) else ""
    return f"{_run(event, f'ended ({outcome})')}{rest}"


def _deletion(event: Event) -> str:
    return f"delete of {_message(event)}: {str(event.data.get('result')).replace('_', ' ')}{_on(event)}"


def _beats(event: Event) -> str:
    count = int(event.data.get("extension_count", 0))
    return f"{plural(count, 'renewal')}, {exact(event.data.get('total_extended_seconds'))} in all"


def _posted(event: Event) -> str:
    status = event.data.get("status")
    return f"{event.data.get('endpoint')}: {'no answer' if status is None else status}"


#: Why a message came again that was done.
CAUSES = {
    "expired_mid_run": "came again because its lease ended while it ran",
    "delete_failed": "came again because its delete did not work",
    "sent_again": "was sent again",
    "redelivered": "was delivered again by its queue",
    "redriven": "was redriven",
}

_SENTENCES: dict[str, Callable[[Event], str]] = {
    EventKind.RECEIVED: _received,
    EventKind.PROCESSED: _processed,
    EventKind.DELETION: _deletion,
    EventKind.HEARTBEAT_STARTED: lambda event: f"heartbeat of {_message(event)} started{_on(event)}",
    EventKind.HEARTBEAT_EXTENDED: lambda event: f"lease on {_message(event)} renewed{_on(event)}: {_beats(event)}",
    EventKind.HEARTBEAT_STATS: lambda event: f"heartbeat of {_message(event)} ended{_on(event)}: {_beats(event)}",
    EventKind.WEBHOOK_DELIVERED: lambda event: f"webhook {event.message_id} delivered to {_posted(event)}",
    EventKind.WEBHOOK_FAILED: lambda event: f"webhook {event.message_id} not taken by {_posted(event)}{_why(event)}",
    EventKind.COMPLETED: lambda event: _run(event, "completed"),
    EventKind.RETRIED: lambda event: f"{_run(event, 'failed')}{_why(event)}{_again(event)}",
    EventKind.SNOOZED: lambda event: f"{_message(event)} asked to run later{_on(event)}{_why(event)}{_again(event)}",
    EventKind.DEAD: lambda event: f"{_run(event, 'died')}{_why(event)}",
    EventKind.DUPLICATE: lambda event: f"{_message(event)} was done already{_cause(event)}; deleted{_on(event)}",
    EventKind.GIVEN_BACK: lambda event: f"{_message(event)} was given back{_on(event)}{_why(event)}{_again(event)}",
    EventKind.LEASE_LOST: _lost,
    EventKind.LATE_SETTLE: lambda event: f"{_message(event)} was settled too late{_on(event)}; nothing was changed",
    EventKind.HEARTBEAT_FAILED: _not_renewed,
    EventKind.REQUEUE: _requeue,
    EventKind.MOVE_TO_DLQ: lambda event: f"{_messages(event)}{_where(event)} moved to the dead letters{_by(event)}",
    EventKind.SWEEP_GRACE: lambda event: f"no sweep ran for a while: leases got a fresh window{_on(event)}",
    EventKind.OWNER_JOINED: lambda event: f"worker {event.owner} started",
    EventKind.OWNER_LEFT: lambda event: f"worker {event.owner} stopped{_why(event)}",
    EventKind.OWNER_RETIRED: _retired,
    EventKind.REDRIVEN: lambda event: f"{_messages(event)}{_where(event)} redriven{_by(event)}",
    EventKind.DELETED: lambda event: f"{_messages(event)}{_where(event)} deleted{_by(event)}",
    EventKind.CANCELLED: _cancelled,
    EventKind.PURGED: _purged,
    EventKind.PAUSED: lambda event: f"queue {event.queue} paused{_by(event)}",
    EventKind.RESUMED: lambda event: f"queue {event.queue} resumed{_by(event)}",
    EventKind.LIMITED: lambda event: f"queue {event.queue} limited to {event.data.get('limit')}{_by(event)}",
    EventKind.LIMIT_CLEARED: lambda event: f"limit of queue {event.queue} cleared{_by(event)}",
    EventKind.QUOTA_SET: lambda event: f"quota of queue {event.queue} set to {event.data.get('quota')}{_by(event)}",
    EventKind.CLIENT_FORGOTTEN: lambda event: (
        f"what was kept of queue {event.queue} forgotten: {event.data.get('removed')} messages{_by(event)}"
    ),
    EventKind.QUOTA_CLEARED: lambda event: f"quota of queue {event.queue} cleared{_by(event)}",
    EventKind.WEBHOOK_DISABLED: lambda event: (
        f"webhook endpoint {event.data.get('endpoint')} disabled: {event.data.get('reason')}"
    ),
    EventKind.FINDING_FIRED: lambda event: f"{event.data.get('finding')} fires: {event.data.get('evidence')}",
    EventKind.FINDING_CLEARED: lambda event: f"{event.data.get('finding')} has cleared",
    EventKind.FINDING_ACKED: lambda event: f"{event.data.get('finding')} was seen{_by(event)}",
    EventKind.FINDING_SILENCED: lambda event: f"{event.data.get('finding')} silenced{_for(event)}{_by(event)}",
    EventKind.TICKED: _ticked,
    EventKind.FORGOTTEN: lambda event: f"schedule {event.data.get('schedule')} forgotten{_by(event)}",
    EventKind.MOVED: lambda event: f"{_messages(event)}{_where(event)} moved{_instead(event)}{_by(event)}",
    EventKind.EDITED: lambda event: f"{_messages(event)}{_where(event)} edited{_instead(event)}{_by(event)}",
    EventKind.QUEUE_DELETED: lambda event: f"empty queue {event.queue} deleted{_by(event)}",
    EventKind.SCHEDULE_PAUSED: lambda event: f"schedule {event.data.get('schedule')} paused{_by(event)}",
    EventKind.SCHEDULE_RESUMED: lambda event: f"schedule {event.data.get('schedule')} resumed{_by(event)}",
    EventKind.SCHEDULE_RUN: lambda event: f"schedule {event.data.get('schedule')} run now{_by(event)}",
    EventKind.PROMOTED: lambda event: f"{_messages(event)}{_where(event)} made ready now{_by(event)}",
    EventKind.TOUCHED: lambda event: (
        f"lease on {_messages(event)}{_where(event)} lasts at least {exact(event.data.get('seconds'))}{_by(event)}"
    ),
    EventKind.LOOP_BLOCKED: lambda event: (
        f"a handler blocked the event loop for {exact(event.data.get('seconds'))}{_on(event)}"
    ),
    EventKind.DELETIONS: _deletions,
    EventKind.FILE_SIZE_DETECTED: _sized,
}
