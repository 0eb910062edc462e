"""One compact event for each message that leaves the path. Written by `reporting.py`."""

from collections.abc import Sequence

from tenure.event import Event, EventKind
from tenure.runtime.delivery import Delivery
from tenure.runtime.path.quota import SURPLUS
from tenure.runtime.path.unknown_tasks import KNOWN_ELSEWHERE
from tenure.settlement import Outcome, Settlement
from tenure.tasks import kept_payload
from tenure.verdict import Completed, Dead, Duplicate, Retried, Returned, Snoozed

#: The code of a run that ended because its message was cancelled.
CANCELLED = "cancelled"
#: The kinds of coming back.
_BACK = {Retried: EventKind.RETRIED, Snoozed: EventKind.SNOOZED, Returned: EventKind.GIVEN_BACK}
#: Looked at for every message: to look up a member of an enum takes longer than a name of this module.
_DELETED, _COMPLETED = Outcome.DELETED, EventKind.COMPLETED
_MICRO = 1e6
#: With less than this part of its lease left at its end, a run was at risk (`detail.py`).
RISK = 0.2

Told = tuple[Delivery, Settlement | None]
#: Where a worker recognises a duplicate. The pieces of `tenure.standalone` have a cache in memory before it.
LEDGER = "ledger"


def is_worth_keeping(delivery: Delivery, settlement: Settlement | None) -> bool:
    """Whether it leaves an event.

    A flood of messages of a task at its limit, or of an unknown task, would fill the journal.
    """
    verdict = delivery.verdict
    if not isinstance(verdict, Returned):
        return True
    is_passing = verdict.reason.code in (SURPLUS.code, KNOWN_ELSEWHERE)
    return not (is_passing and settlement is not None and settlement.took_effect)


def events_of(settled: Sequence[Told], *, owner: str, at: float, unusual: list[Told] | None = None) -> list[Event]:
    """The events of a batch. Those that did not simply complete well within their lease are added to `unusual`."""
    events: list[Event] = []
    looked_at = [] if unusual is None else unusual
    for delivery, settlement in settled:
        message, task, started, finished = delivery.message, delivery.task, delivery.started, delivery.finished
        if (
            settlement is not None
            and settlement.outcome is _DELETED
            and type(delivery.verdict) is Completed
            and message is not None
            and started is not None
            and finished is not None
            and task is not None
            and not task.policy.keep_payload
        ):
            # Nearly all of them; what `event_of` would say, without asking further.
            seconds = int((finished - started) * _MICRO + 0.5) / _MICRO  # `round` takes three times as long
            lease = delivery.lease
            if lease.deadline - finished < RISK * lease.seconds:
                looked_at.append((delivery, settlement))
            attempt = lease.counters.attempts + 1
            events.append(Event(_COMPLETED, at, delivery.queue, message.task, delivery.id, owner, attempt, seconds))
            continue
        looked_at.append((delivery, settlement))
        if is_worth_keeping(delivery, settlement):
            events.append(event_of(delivery, settlement, owner=owner, at=at))
    return events


def event_of(delivery: Delivery, settlement: Settlement | None, *, owner: str, at: float) -> Event:
    """The event of a settled or lost delivery."""
    kind, data = _fact(delivery, settlement)
    task = delivery.message.task if delivery.message is not None else None
    seconds = None if delivery.seconds is None else round(delivery.seconds, 6)
    return Event(kind, at, delivery.queue, task, delivery.id, owner, delivery.attempt, seconds, data)


def _fact(delivery: Delivery, settlement: Settlement | None) -> tuple[EventKind, dict[str, object]]:
    cancelled = {} if delivery.cancelled_by is None else {"code": CANCELLED, "by": delivery.cancelled_by}
    if settlement is None:
        return EventKind.LEASE_LOST, {**cancelled}
    if not settlement.took_effect and not delivery.sealed:
        return EventKind.LATE_SETTLE, {"outcome": settlement.outcome, **cancelled}
    match delivery.verdict:
        case Completed():
            return EventKind.COMPLETED, _delete(settlement) | _payload(delivery)
        case Dead(reason):
            return EventKind.DEAD, {"code": reason.code, "reason": reason.text}
        case Retried(after, reason) | Snoozed(after, reason) | Returned(after, reason) as verdict:
            data: dict[str, object] = {"after_seconds": round(after, 3), "code": reason.code, "reason": reason.text}
            return _BACK[type(verdict)], data | ({"snoozes": reason.count} if isinstance(verdict, Snoozed) else {})
        case Duplicate(cause=cause):
            return EventKind.DUPLICATE, _again(delivery, cause)
    msg = f"no event for verdict {delivery.verdict!r}"
    raise RuntimeError(msg)


def _delete(settlement: Settlement) -> dict[str, object]:
    """Describe a failed delete of a completed message; if the message comes back, it is only deleted."""
    return {} if settlement.took_effect else {"delete": settlement.outcome}


def _again(delivery: Delivery, cause: str | None) -> dict[str, object]:
    """Where it was recognised, and why it came again."""
    message = delivery.message
    data: dict[str, object] = {"tier": LEDGER, "cause": cause}
    data |= {"deliveries": delivery.lease.counters.deliveries}
    if message is not None and message.correlation_id is not None:
        data["correlation_id"] = message.correlation_id
    return data


def _payload(delivery: Delivery) -> dict[str, object]:
    """Return the payload for debugging, where its task keeps it."""
    message, task = delivery.whole, delivery.task
    if message is None or task is None or not task.policy.keep_payload:
        return {}
    return kept_payload.fields_of(bytes(message.body))
