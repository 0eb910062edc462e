"""The life of a message: its history and the journal's events as one account, oldest first, nothing shown twice.

The message's own history knows why each run ended; the journal knows how long it took, when it comes again and who
acted. The history keeps the last twenty endings, the journal a few days: where only one of them knows, that one is
shown. Pure; drawn by `cli/commands/show/telling.py`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tenure.event import Event, EventKind
from tenure.record import Ending, Record
from tenure.rules.duplicate_cause import DuplicateCause, duplicate_cause
from tenure.verdict import SNOOZED, Reason

#: An ending and an event of the same fact are written by different machines, one a little after the other.
_SAME_WITHIN_SECONDS = 15.0

#: Which endings describe the same fact as an event, and the step for the event where no ending does.
_COUNTERPARTS: dict[EventKind, tuple[tuple[str, ...], str]] = {
    EventKind.COMPLETED: (("completed",), "completed"),
    EventKind.DUPLICATE: ((), "duplicate"),
    EventKind.RETRIED: (("failed",), "failed"),
    EventKind.DEAD: (("dead",), "dead"),
    EventKind.MOVE_TO_DLQ: (("dead",), "dead"),
    EventKind.SNOOZED: (("snoozed",), "snoozed"),
    EventKind.GIVEN_BACK: (("given_back",), "given_back"),
    EventKind.REQUEUE: (("lost", "crashed", "failed"), "returned"),
    EventKind.LEASE_LOST: (("lost", "crashed", "cancelled"), "lease_lost"),
    EventKind.REDRIVEN: (("redriven",), "redriven"),
    EventKind.CANCELLED: (("cancelled",), "cancelled"),
    EventKind.DELETED: (("cancelled",), "cancelled"),
    EventKind.PURGED: (("cancelled",), "cancelled"),
    EventKind.MOVED: (("cancelled",), "moved"),
    EventKind.EDITED: (("cancelled",), "edited"),
    EventKind.TICKED: (("sent",), "ticked"),
}


#: Runs that went on, or were settled, after their lease had ended: another worker may have had the message by then.
_OVERRUN = ("lost", EventKind.LEASE_LOST.value, EventKind.LATE_SETTLE.value)
_CAUSES = frozenset(DuplicateCause)
#: Of these a step says which of them it was.
_KINDS_OF_ACTS = (EventKind.DELETED, EventKind.PURGED, EventKind.MOVED, EventKind.EDITED)


class Step(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One thing that happened to the message."""

    at: float
    #: sent, completed, duplicate, failed, snoozed, crashed, lost, given_back, returned, dead, redriven, cancelled,
    #: lease_lost; else the kind of the event.
    what: str
    owner: str | None = None
    reason: Reason | None = None
    #: Which run it was.
    attempt: int | None = None
    #: How long the handler ran.
    seconds: float | None = None
    #: When it is lent again.
    after_seconds: float | None = None
    #: Who did it, and from where.
    by: str | None = None
    triggered_by: str | None = None
    #: deleted, purged, moved, edited: what kind of act it was. The schedule's name, for a message that one sent.
    act: str | None = None
    #: Of a duplicate, and of a run that another worker had too: why the message came again. None: not known.
    cause: DuplicateCause | None = None
    #: When its worker learned that the lease was gone.
    noticed_at: float | None = None
    #: What an event says beside all this.
    data: dict[str, Any] = {}


def life(record: Record, events: Sequence[Event]) -> list[Step]:
    """Everything that happened, oldest first."""
    steps = [*_begun(record), *map(_ended, record.history), *_finished(record)]
    unmatched = {id(step): step for step in steps}
    told: list[Step] = []
    # From the newest on: both accounts are cut at their beginning, so their ends belong together.
    for event in reversed(events):
        # That a worker noticed the loss comes beside the event of the loss itself.
        beside = event.kind is EventKind.LEASE_LOST
        same = _same(event, steps if beside else list(unmatched.values()))
        if same is None:
            told.append(_of_event(event))
            continue
        _add(same, event)
        if not beside:
            del unmatched[id(same)]
    for step in steps:
        _share(step, steps)
    everything = sorted([*steps, *reversed(told)], key=lambda step: step.at)
    for step in everything:
        _judge(step, record, events)
    return everything


def _begun(record: Record) -> list[Step]:
    return [] if record.sent_at is None else [Step(at=record.sent_at, what="sent")]


def _ended(ending: Ending) -> Step:
    is_snooze = ending.how == "given_back" and ending.reason is not None and ending.reason.code == SNOOZED
    return Step(at=ending.at, what=SNOOZED if is_snooze else ending.how, owner=ending.owner, reason=ending.reason)


def _finished(record: Record) -> list[Step]:
    """The end, where the history does not have it: a completion is not an ending of a failed run."""
    if not record.is_finished or record.finished_at is None:
        return []
    what = record.state.value
    if record.history and record.history[-1].how == what:
        return []
    return [Step(at=record.finished_at, what=what, reason=record.reason if what == "dead" else None)]


def _same(event: Event, steps: Sequence[Step]) -> Step | None:
    """The step of the same fact."""
    names, _ = _COUNTERPARTS.get(event.kind, ((), ""))
    near = [
        step
        for step in steps
        if step.what in names
        and abs(step.at - event.at) <= _SAME_WITHIN_SECONDS
        and (step.owner is None or event.owner is None or step.owner == event.owner)
    ]
    return min(near, key=lambda step: abs(step.at - event.at), default=None)


def _add(step: Step, event: Event) -> None:
    """Add the fields that the event has and the ending has not."""
    if event.kind is EventKind.LEASE_LOST:
        step.noticed_at = event.at
        return
    if event.kind is not EventKind.TICKED:  # whose owner did not run it
        step.owner = step.owner or event.owner
    step.attempt = event.attempt
    step.seconds = event.seconds
    step.after_seconds = _number(event.data.get("after_seconds"))
    step.by = _text(event.data.get("by"))
    step.triggered_by = _text(event.data.get("triggered_by"))
    if event.kind in _KINDS_OF_ACTS:
        step.act = event.kind.value
    if event.kind in (EventKind.MOVED, EventKind.EDITED):
        step.data = {name: value for name, value in event.data.items() if name in ("new_id", "to")}
    if event.kind is EventKind.TICKED:
        step.act = _text(event.data.get("schedule"))


def _of_event(event: Event) -> Step:
    _, word = _COUNTERPARTS.get(event.kind, ((), event.kind.value))
    step = Step(at=event.at, what=word)
    _add(step, event)
    step.owner = event.owner
    code, text = _text(event.data.get("code")), _text(event.data.get("reason"))
    step.reason = None if code is None else Reason(code, text or "")
    known = {"code", "reason", "after_seconds", "by", "triggered_by", "ids", "count", "dlq_count", "running", "state",
             "payload", "payload_bytes"}  # fmt: skip
    step.data = {name: value for name, value in event.data.items() if name not in known}
    return step


def _share(step: Step, steps: Sequence[Step]) -> None:
    """A last failure and the death that follows are two endings of one run, with one event."""
    if step.what != "dead" or step.seconds is None:
        return
    for other in steps:
        if other.what == "failed" and other.at == step.at and other.seconds is None:
            other.attempt, other.seconds = step.attempt, step.seconds


def _judge(step: Step, record: Record, events: Sequence[Event]) -> None:
    """Say why it came again. The worker that met a duplicate looked it up; before 0.3 none did."""
    if step.what in _OVERRUN and step.reason is None and step.act is None:
        step.cause = DuplicateCause.EXPIRED_MID_RUN
    if step.what != EventKind.DUPLICATE:
        return
    said = step.data.pop("cause", None)
    deliveries = step.data.pop("deliveries", record.counters.deliveries)
    step.cause = (
        DuplicateCause(said)
        if said in _CAUSES
        else duplicate_cause([event for event in events if event.at < step.at], deliveries=deliveries)
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
