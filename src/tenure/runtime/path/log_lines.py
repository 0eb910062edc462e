"""One log record for each message that did not simply complete. Written by `reporting.py`.

A record's line names the task, the message, the attempt and what happens next, with the traceback below it. The same
values are in its fields (`task`, `message_id`, `attempt`, `code`, `next`), for logs that machines read. Nothing here
configures logging.
"""

import logging
from collections.abc import Sequence

from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.rules.arguments import MOST_ATTEMPTS
from tenure.runtime.delivery import Delivery
from tenure.runtime.ownership.owned import UNKNOWN_TASK
from tenure.runtime.path.events import CANCELLED
from tenure.runtime.path.quota import SURPLUS
from tenure.runtime.path.unknown_tasks import KNOWN_ELSEWHERE
from tenure.settlement import Outcome, Settlement
from tenure.verdict import Completed, Dead, Reason, Retried, Returned, Snoozed

logger = logging.getLogger("tenure.worker")

#: What can be said of a message whose lease is not ours any more.
GONE = "it lost its lease: the message was cancelled, or another worker has it now"
#: The same where no heartbeat renews it (`heartbeat=False`).
LAPSED = "it was cancelled, or ran longer than its lease, which is not renewed (heartbeat=False)"
#: Most give-backs are the worker's own affair. An unknown task is worth a look; a task at its limit is as it should be.
#: An outage is logged once by the part that meets it, not for each message.
_RETURN_LEVELS = {
    UNKNOWN_TASK: logging.WARNING,
    SURPLUS.code: logging.DEBUG,
    BrokerUnavailable.code: logging.DEBUG,
    "cloakroom_unavailable": logging.DEBUG,
}
#: Of such messages there may be very many at a time, and one says it all.
_UNKNOWN = (UNKNOWN_TASK, KNOWN_ELSEWHERE)
_UNKNOWN_SECONDS = 60.0
_MOST_TASKS = 1_000
_DELETED = Outcome.DELETED
#: Less is at once.
_AT_ONCE_SECONDS = 0.05


class UnknownTaskLog:
    """The time of the last line for each unknown task: one line a task and minute, however many messages it has."""

    def __init__(self, clock: Clock) -> None:
        """Start without a logged task."""
        self._clock = clock
        self._told: dict[str, float] = {}
        self._untold: dict[str, int] = {}

    def untold(self, task: str) -> int | None:
        """Return how many messages were passed over since the last line; None: this one is passed over too."""
        now = self._clock.monotonic()
        if now - self._told.get(task, float("-inf")) < _UNKNOWN_SECONDS:
            self._untold[task] = self._untold.get(task, 0) + 1
            return None
        if len(self._told) >= _MOST_TASKS:  # names come from senders: they must not fill our memory
            self._told.clear()
            self._untold.clear()
        self._told[task] = now
        return self._untold.pop(task, 0)


def worth_logging(
    settled: Sequence[tuple[Delivery, Settlement | None]],
) -> Sequence[tuple[Delivery, Settlement | None]]:
    """The deliveries that `log` may log: without DEBUG, all but completed ones, which are nearly all."""
    if logger.isEnabledFor(logging.DEBUG):
        return settled
    return [
        (delivery, settlement)
        for delivery, settlement in settled
        if settlement is None or settlement.outcome is not _DELETED or type(delivery.verdict) is not Completed
    ]


def log(
    delivery: Delivery, settlement: Settlement | None, unknown_tasks: UnknownTaskLog | None = None, *, at: float = 0.0
) -> None:
    """Log what an operator needs to know. What went well (until `at`) is logged only at DEBUG.

    `unknown_tasks` keeps messages of an unknown task from filling the log.
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
        _say_verdict(delivery, unknown_tasks)


def _say_cancelled(delivery: Delivery, settlement: Settlement | None) -> None:
    """Log the cancel by a user, which is no error."""
    by = f" by {delivery.cancelled_by}" if delivery.cancelled_by else ""
    then = "its run was ended" if settlement is None else "its run had already ended; its result was refused"
    _say(logging.INFO, delivery, f"cancelled{by}; {then}", more={"code": CANCELLED})


def _say_completed(delivery: Delivery, at: float) -> None:
    """Log how long it ran, and how long it waited from its send to the start of this run."""
    seconds = delivery.seconds or 0.0
    sent_at = None if delivery.message is None else delivery.message.sent_at
    waited = None if not sent_at else max(0.0, at - seconds - sent_at)
    after = "" if waited is None else f", {waited:.3f} s after it was sent"
    more: dict[str, object] = {"seconds": round(seconds, 6)}
    if waited is not None:
        more["waited_seconds"] = round(waited, 6)
    _say(logging.DEBUG, delivery, f"completed in {seconds:.3f} s{after}", more=more)


def _say_verdict(delivery: Delivery, unknown_tasks: UnknownTaskLog | None) -> None:
    match delivery.verdict:
        case Retried(after, reason):
            _say(logging.WARNING, delivery, reason.text, reason=reason, next_step=f"again in {after:.1f} s")
        case Snoozed(after, reason):
            _say(logging.INFO, delivery, reason.text, reason=reason, next_step=f"snoozed, {_again(after)}")
        case Dead(reason):
            _say(logging.ERROR, delivery, reason.text, reason=reason, next_step=f"dead letter ({reason.code})")
        case Returned(after, reason):
            level, more = _RETURN_LEVELS.get(reason.code, logging.INFO), ""
            if unknown_tasks is not None and reason.code in _UNKNOWN:
                task = "" if delivery.message is None else delivery.message.task
                untold = unknown_tasks.untold(task)
                level = logging.DEBUG if untold is None else level
                more = f" (as were {untold} before it)" if untold else ""
            step = f"returned, ready in {after:.1f} s" if after >= _AT_ONCE_SECONDS else "returned at once"
            _say(level, delivery, reason.text, reason=reason, next_step=f"{step}{more}")


def _again(after: float) -> str:
    return f"again in {after:.1f} s" if after >= _AT_ONCE_SECONDS else "again at once"


def _say(
    level: int,
    delivery: Delivery,
    text: str,
    *,
    reason: Reason | None = None,
    next_step: str = "",
    more: dict[str, object] | None = None,
) -> None:
    """Log one record: a line for people, and fields for machines that read logs."""
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
    of = "" if most is None or most >= MOST_ATTEMPTS else f" of {most}"
    return f"{message.task} {delivery.id} (attempt {delivery.attempt}{of})"
