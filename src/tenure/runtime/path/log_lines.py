"""Reporting: the last stage of the path. One compact event a message, and a log record for the abnormal.

A record's line names the task, the message, the attempt and what happens next, with the traceback below it. The same
stands in its fields (`task`, `message_id`, `attempt`, `code`, `next`), for logs that machines read. Nothing here
configures logging.
"""

import logging
from collections.abc import Sequence

from tenure import kept_payload
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.event import Event, EventKind
from tenure.runtime.delivery import Delivery
from tenure.runtime.quota import SURPLUS
from tenure.runtime.strangers import KNOWN_ELSEWHERE, UNKNOWN_TASK
from tenure.settlement import Outcome, Settlement
from tenure.verdict import Completed, Dead, Duplicate, Reason, Retried, Returned, Snoozed

logger = logging.getLogger("tenure.worker")

#: What can be said of a message whose lease is not ours any more.
GONE = "its lease is gone: it was cancelled, or somebody else has it now"
#: The same where nobody renews it (`heartbeat=False`).
LAPSED = "it was cancelled, or ran for longer than its lease, which nobody renews (heartbeat=False)"
#: The code of a run that ended because somebody cancelled its message.
CANCELLED = "cancelled"
#: Most give-backs are the worker's own affair. A stranger is worth a look; a task at its limit is as it should be.
#: An outage is told once by whoever meets it, not for each message.
_RETURN_LEVELS = {
    UNKNOWN_TASK: logging.WARNING, SURPLUS.code: logging.DEBUG, BrokerUnavailable.code: logging.DEBUG,
    "cloakroom_unavailable": logging.DEBUG,
}  # fmt: skip
#: Of strangers there may be very many at a time, and one says it all.
_STRANGERS = (UNKNOWN_TASK, KNOWN_ELSEWHERE)
_STRANGERS_SECONDS = 60.0
_MOST_TASKS = 1_000
#: The kinds of coming back.
_BACK = {Retried: EventKind.RETRIED, Snoozed: EventKind.SNOOZED, Returned: EventKind.GIVEN_BACK}
#: Looked at for every message: to look up a member of an enum takes longer than a name of this module.
_DELETED, _COMPLETED = Outcome.DELETED, EventKind.COMPLETED
_MICRO = 1e6
#: Less is at once.
_AT_ONCE_SECONDS = 0.05


class Strangers:
    """When each strange task was last told of: one line a task and minute, however many messages it has."""

    def __init__(self, clock: Clock) -> None:
        """None was told of yet."""
        self._clock = clock
        self._told: dict[str, float] = {}
        self._untold: dict[str, int] = {}

    def untold(self, task: str) -> int | None:
        """How many were passed over since the last line; None: this one is passed over too."""
        now = self._clock.monotonic()
        if now - self._told.get(task, float("-inf")) < _STRANGERS_SECONDS:
            self._untold[task] = self._untold.get(task, 0) + 1
            return None
        if len(self._told) >= _MOST_TASKS:  # names come from senders: they must not fill our memory
            self._told.clear()
            self._untold.clear()
        self._told[task] = now
        return self._untold.pop(task, 0)


def is_worth_keeping(delivery: Delivery, settlement: Settlement | None) -> bool:
    """Whether it leaves an event.

    A flood of a task at its limit, or of one that only a newer worker knows, would fill the journal with its comings
    and goings.
    """
    verdict = delivery.verdict
    if not isinstance(verdict, Returned):
        return True
    is_passing = verdict.reason.code in (SURPLUS.code, KNOWN_ELSEWHERE)
    return not (is_passing and settlement is not None and settlement.took_effect)


def events_of(settled: Sequence[tuple[Delivery, Settlement | None]], *, owner: str, at: float) -> list[Event]:
    """The facts of a batch, of those that leave one."""
    events: list[Event] = []
    for delivery, settlement in settled:
        message, task, started, finished = delivery.message, delivery.task, delivery.started, delivery.finished
        if (
            settlement is not None and settlement.outcome is _DELETED and type(delivery.verdict) is Completed
            and message is not None and started is not None and finished is not None
            and task is not None and not task.policy.keep_payload
        ):  # fmt: skip
            # Nearly all of them; what `event_of` would say, without asking further.
            seconds = int((finished - started) * _MICRO + 0.5) / _MICRO  # `round` takes three times as long
            attempt = delivery.lease.counters.attempts + 1
            events.append(Event(_COMPLETED, at, delivery.queue, message.task, delivery.id, owner, attempt, seconds))
        elif is_worth_keeping(delivery, settlement):
            events.append(event_of(delivery, settlement, owner=owner, at=at))
    return events


def event_of(delivery: Delivery, settlement: Settlement | None, *, owner: str, at: float) -> Event:
    """The fact that a settled (or lost) delivery leaves behind."""
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
        case Duplicate():
            return EventKind.DUPLICATE, _delete(settlement)
    msg = f"no event for verdict {delivery.verdict!r}"
    raise RuntimeError(msg)


def _delete(settlement: Settlement) -> dict[str, object]:
    """How the delete of what is done ended, where it did not work; if it comes back, it is only deleted."""
    return {} if settlement.took_effect else {"delete": settlement.outcome}


def _payload(delivery: Delivery) -> dict[str, object]:
    """For debugging, where its task asks for it."""
    message, task = delivery.message, delivery.task
    if message is None or task is None or not task.policy.keep_payload:
        return {}
    return kept_payload.fields_of(bytes(message.body))


def worth_logging(
    settled: Sequence[tuple[Delivery, Settlement | None]],
) -> Sequence[tuple[Delivery, Settlement | None]]:
    """Those of which `log` may say something: without DEBUG, all but what was completed and deleted, as nearly all."""
    if logger.isEnabledFor(logging.DEBUG):
        return settled
    return [
        (delivery, settlement)
        for delivery, settlement in settled
        if settlement is None or settlement.outcome is not _DELETED or type(delivery.verdict) is not Completed
    ]


def log(
    delivery: Delivery, settlement: Settlement | None, strangers: Strangers | None = None, *, at: float = 0.0
) -> None:  # fmt: skip
    """Say what people would want to know at three in the morning; what went well (until `at`) only at DEBUG.

    `strangers` keeps messages of an unknown task from filling the log.
    """
    if delivery.cancelled_by is not None and (settlement is None or not settlement.took_effect):
        _say_cancelled(delivery, settlement)
    elif settlement is None:
        _say(logging.WARNING, delivery, f"{GONE if delivery.is_renewed else LAPSED}; nothing was settled")
    elif isinstance(delivery.verdict, Completed) and (delivery.sealed or settlement.took_effect):
        if logger.isEnabledFor(logging.DEBUG):
            _say_completed(delivery, at)
    elif delivery.sealed:
        return
    elif settlement.outcome is Outcome.UNKNOWN:
        _say(logging.WARNING, delivery, "the answer to its settle was lost; it took effect, or was too late")
    elif not settlement.took_effect:
        _say(logging.WARNING, delivery, f"settled too late ({settlement.outcome.value}): {GONE}; nothing was changed")
    else:
        _say_verdict(delivery, strangers)


def _say_cancelled(delivery: Delivery, settlement: Settlement | None) -> None:
    """A user's act: nothing is wrong."""
    by = f" by {delivery.cancelled_by}" if delivery.cancelled_by else ""
    then = "its run was ended" if settlement is None else "its run had ended, and what it returned was refused"
    _say(logging.INFO, delivery, f"cancelled{by}; {then}", more={"code": CANCELLED})


def _say_completed(delivery: Delivery, at: float) -> None:
    """How long it ran, and how long it waited before: from the moment it was sent to the start of this run."""
    seconds = delivery.seconds or 0.0
    sent_at = None if delivery.message is None else delivery.message.sent_at
    waited = None if not sent_at else max(0.0, at - seconds - sent_at)
    after = "" if waited is None else f", {waited:.3f} s after it was sent"
    more: dict[str, object] = {"seconds": round(seconds, 6)}
    if waited is not None:
        more["waited_seconds"] = round(waited, 6)
    _say(logging.DEBUG, delivery, f"completed in {seconds:.3f} s{after}", more=more)


def _say_verdict(delivery: Delivery, strangers: Strangers | None) -> None:
    match delivery.verdict:
        case Retried(after, reason):
            _say(logging.WARNING, delivery, reason.text, reason=reason, next_step=f"again in {after:.1f} s")
        case Snoozed(after, reason):
            _say(logging.INFO, delivery, reason.text, reason=reason, next_step=f"snoozed, {_again(after)}")
        case Dead(reason):
            _say(logging.ERROR, delivery, reason.text, reason=reason, next_step=f"dead letter ({reason.code})")
        case Returned(after, reason):
            level, more = _RETURN_LEVELS.get(reason.code, logging.INFO), ""
            if strangers is not None and reason.code in _STRANGERS:
                task = "" if delivery.message is None else delivery.message.task
                untold = strangers.untold(task)
                level = logging.DEBUG if untold is None else level
                more = f" (as were {untold} before it)" if untold else ""
            step = f"given back for {after:.1f} s" if after >= _AT_ONCE_SECONDS else "given back at once"
            _say(level, delivery, reason.text, reason=reason, next_step=f"{step}{more}")


def _again(after: float) -> str:
    return f"again in {after:.1f} s" if after >= _AT_ONCE_SECONDS else "again at once"


def _say(
    level: int, delivery: Delivery, text: str, *, reason: Reason | None = None, next_step: str = "",
    more: dict[str, object] | None = None,
) -> None:  # fmt: skip
    """One record: a line for people, and fields for machines that read logs."""
    if not logger.isEnabledFor(level):
        return
    told = f"{text}; {next_step}" if next_step else text
    about: dict[str, object] = {"message_id": delivery.id, "attempt": delivery.attempt, **(more or {})}
    if delivery.message is not None:
        about["task"] = delivery.message.task
        if delivery.message.correlation_id is not None:
            about["correlation_id"] = delivery.message.correlation_id
    if reason is not None:
        about |= {"code": reason.code, "next": next_step}
    message, arguments = "%s: %s", (_name(delivery), told)
    record = logger.makeRecord(logger.name, level, __file__, 0, message, arguments, None, "log", about)
    if reason is not None and reason.traceback:
        # Where the text of a traceback belongs: every formatter puts it below the line, or into a field of its own.
        record.exc_text = reason.traceback.rstrip()
    logger.handle(record)


def _name(delivery: Delivery) -> str:
    message, task = delivery.message, delivery.task
    if message is None:
        return f"unreadable message {delivery.id}"
    most = message.overrides.max_attempts or (task.policy.retry.max_attempts if task is not None else None)
    of = "" if most is None else f" of {most}"
    return f"{message.task} {delivery.id} (attempt {delivery.attempt}{of})"
