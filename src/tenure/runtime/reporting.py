"""Reporting: the last stage of the path. One compact event a message, and a log line for the abnormal."""

import logging

from tenure.event import Event, EventKind
from tenure.runtime.delivery import Delivery
from tenure.settlement import Settlement
from tenure.verdict import Completed, Dead, Duplicate, Reason, Retried, Returned

logger = logging.getLogger("tenure.worker")


def event_of(delivery: Delivery, settlement: Settlement | None, *, owner: str, at: float) -> Event:
    """The fact that a settled (or lost) delivery leaves behind."""
    verdict = delivery.verdict
    if settlement is None:
        return _event(EventKind.LEASE_LOST, delivery, owner, at)
    if not settlement.took_effect:
        return _event(EventKind.LATE_SETTLE, delivery, owner, at, {"outcome": settlement.outcome})
    match verdict:
        case Completed():
            return _event(EventKind.COMPLETED, delivery, owner, at)
        case Duplicate():
            return _event(EventKind.DUPLICATE, delivery, owner, at)
        case Retried(after, reason):
            data = {"after_seconds": round(after, 3), "code": reason.code, "reason": reason.text}
            return _event(EventKind.RETRIED, delivery, owner, at, data)
        case Returned(after, reason):
            data = {"after_seconds": round(after, 3), "code": reason.code, "reason": reason.text}
            return _event(EventKind.GIVEN_BACK, delivery, owner, at, data)
        case Dead(reason):
            return _event(EventKind.DEAD, delivery, owner, at, {"code": reason.code, "reason": reason.text})
    msg = f"no event for verdict {verdict!r}"
    raise RuntimeError(msg)


def log(delivery: Delivery, settlement: Settlement | None) -> None:
    """Say what people would want to know at three in the morning; nothing for what went well."""
    if settlement is None:
        logger.warning("%s: lease lost while it ran; nothing was settled, whoever has it now goes on", _name(delivery))
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
            logger.info("%s: given back for %.1f s: %s", _name(delivery), after, reason.text)
        case _:
            logger.debug("%s: done", _name(delivery))


def _event(kind: EventKind, delivery: Delivery, owner: str, at: float, data: dict[str, object] | None = None) -> Event:
    task = delivery.message.task if delivery.message is not None else None
    seconds = delivery.seconds
    rounded = None if seconds is None else round(seconds, 6)
    return Event(kind, at, delivery.queue, task, delivery.id, owner, delivery.attempt, rounded, data or {})


def _name(delivery: Delivery) -> str:
    task = delivery.message.task if delivery.message is not None else "unreadable message"
    return f"{task} {delivery.id} (attempt {delivery.attempt})"


def _indented(reason: Reason) -> str:
    return "\n" + reason.traceback.rstrip() if reason.traceback else ""
