"""Reporting: the last stage of the path. One compact event a message, and a log line for the abnormal."""

import logging

from tenure.event import Event, EventKind
from tenure.runtime.delivery import Delivery
from tenure.settlement import Outcome, Settlement
from tenure.verdict import Completed, Dead, Duplicate, Reason, Retried, Returned

logger = logging.getLogger("tenure.worker")


def event_of(delivery: Delivery, settlement: Settlement | None, *, owner: str, at: float) -> Event:
    """The fact that a settled (or lost) delivery leaves behind."""
    kind, data = _fact(delivery, settlement)
    task = delivery.message.task if delivery.message is not None else None
    seconds = None if delivery.seconds is None else round(delivery.seconds, 6)
    return Event(kind, at, delivery.queue, task, delivery.id, owner, delivery.attempt, seconds, data)


def _fact(delivery: Delivery, settlement: Settlement | None) -> tuple[EventKind, dict[str, object]]:
    if settlement is None:
        return EventKind.LEASE_LOST, {}
    if not settlement.took_effect and not delivery.sealed:
        return EventKind.LATE_SETTLE, {"outcome": settlement.outcome}
    match delivery.verdict:
        case Dead(reason):
            return EventKind.DEAD, {"code": reason.code, "reason": reason.text}
        case Retried(after, reason) | Returned(after, reason):
            kind = EventKind.RETRIED if isinstance(delivery.verdict, Retried) else EventKind.GIVEN_BACK
            return kind, {"after_seconds": round(after, 3), "code": reason.code, "reason": reason.text}
        case Completed() | Duplicate():
            return EventKind.COMPLETED if isinstance(delivery.verdict, Completed) else EventKind.DUPLICATE, {}
    msg = f"no event for verdict {delivery.verdict!r}"
    raise RuntimeError(msg)


def log(delivery: Delivery, settlement: Settlement | None) -> None:
    """Say what people would want to know at three in the morning; nothing for what went well."""
    if settlement is None:
        logger.warning("%s: lease lost while it ran; nothing was settled, whoever has it now goes on", _name(delivery))
        return
    if delivery.sealed:
        return
    if settlement.outcome is Outcome.UNKNOWN:
        logger.warning("%s: the answer to its settle was lost; it took effect, or was too late", _name(delivery))
        return
    if not settlement.took_effect:
        logger.warning("%s: settled too late (%s); nothing was changed", _name(delivery), settlement.outcome.value)
        return
    match delivery.verdict:
        case Retried(after, reason):
            logger.warning("%s: %s; again in %.1f s%s", _name(delivery), reason.text, after, _indented(reason))
        case Dead(reason):
            logger.error("%s: dead letter (%s): %s%s", _name(delivery), reason.code, reason.text, _indented(reason))
        case Returned(after, reason):
            level = logging.WARNING if reason.code == "unknown_task" else logging.INFO
            logger.log(level, "%s: given back for %.1f s: %s", _name(delivery), after, reason.text)


def _name(delivery: Delivery) -> str:
    task = delivery.message.task if delivery.message is not None else "unreadable message"
    return f"{task} {delivery.id} (attempt {delivery.attempt})"


def _indented(reason: Reason) -> str:
    return "\n" + reason.traceback.rstrip() if reason.traceback else ""
