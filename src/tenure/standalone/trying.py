"""Try one request about a message again while that can help: the common part of a delete and a release.

Used by `deleting.py` and `releasing.py`; how the last answer is to be read is theirs.
"""

import logging
import math
import random
from collections.abc import Callable
from typing import Any

import msgspec

from tenure.clock import Clock
from tenure.errors import BadArgument, StaleReceipt
from tenure.retry import RetryPolicy
from tenure.rules.cloud_errors import Answer, read_answer
from tenure.standalone.queue import Queue
from tenure.standalone.receipt import Receipt
from tenure.standalone.replaced import is_replaced
from tenure.standalone.steps import StepPause, Steps

logger = logging.getLogger("tenure.standalone")

DEFAULT_TRIES = 3
DEFAULT_DELAY_SECONDS = 0.5
_LONGEST_DELAY_SECONDS = 20.0


class Tried(msgspec.Struct, frozen=True):
    """The last answer to a request, and what it took."""

    #: None: the service accepted it.
    answer: Answer | None
    attempts: int
    seconds: float
    #: The reply to an earlier attempt was lost, so that attempt may have taken effect.
    lost_reply: bool
    #: Whether the lease surely lasted when the last attempt began, or surely not. None: not known.
    held: bool | None


class Trying:
    """The number of tries, and the pauses between them."""

    def __init__(
        self, max_retries: int, retry_delay: float, clock: Clock, draw: Callable[[], float] = random.random
    ) -> None:
        """`max_retries` attempts in all, at least one; the first pause is half to all of `retry_delay`, doubling."""
        if not 0.0 <= retry_delay < math.inf:
            msg = f"retry_delay={retry_delay!r} is not allowed; it takes seconds, 0 or more; nothing was sent"
            raise BadArgument(msg)
        self._policy = RetryPolicy(max(1, max_retries), retry_delay, _LONGEST_DELAY_SECONDS)
        self._clock = clock
        self._draw = draw

    def steps(self, queue: Queue, receipt: Receipt, ask: Callable[[], Steps[Any]], verb: str) -> Steps[Tried]:
        """Send what `ask` makes. Raises `StaleReceipt` where a beat of this process has replaced the receipt."""
        began = self._clock.monotonic()
        lost_reply = False
        attempt = 0
        while True:
            attempt += 1
            held = _held(queue, receipt, self._clock.monotonic())
            answer = yield from _answer(ask)
            if answer is not None and answer.is_lost and is_replaced(queue.identity, receipt):
                raise StaleReceipt(_stale(receipt, verb))
            if answer is None or not answer.is_worth_another_try or self._policy.is_exhausted(attempt):
                return Tried(answer, attempt, self._clock.monotonic() - began, lost_reply, held)
            lost_reply = lost_reply or answer.outcome_unknown
            pause = self._policy.delay_seconds(attempt, self._draw)
            log_about(
                logging.WARNING,
                receipt,
                _FAILED[verb],
                f"{verb} of %s failed at attempt %d: %s; again in %.1f s",
                attempt,
                answer.text,
                pause,
                attempt=attempt,
                error=answer.text,
            )
            yield StepPause(pause)


_FAILED = {
    "deletion": "message_deletion_failed",
    "release": "message_release_failed",
}
_INSTEAD = {"deletion": "heartbeat.delete()", "release": "heartbeat.release()"}


def _answer(ask: Callable[[], Steps[Any]]) -> Steps[Answer | None]:
    try:
        yield from ask()
    except BadArgument:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a client raises is read, logged, and counted
        return read_answer(error)
    return None


def _held(queue: Queue, receipt: Receipt, now: float) -> bool | None:
    """Whether the lease lasts. Where receipts fence, a service that accepts one says so itself."""
    lasts = receipt.lasts(now)
    return None if queue.receipts_fence and lasts is False else lasts


def _stale(receipt: Receipt, verb: str) -> str:
    return (
        f"{verb} of {receipt.message_id} was refused: this is an old receipt, because a heartbeat of this process has "
        f"renewed the message since. Nothing was changed; the message is still ours. Call {_INSTEAD[verb]} on that "
        "heartbeat; after its end, heartbeat.receipt works too"
    )


def log_about(level: int, receipt: Receipt, event: str, sentence: str, *words: object, **more: object) -> None:
    """Log a line about a message, with the fields by which it is found."""
    extra = {"event_type": event, "message_id": receipt.message_id, **receipt.log_fields, **more}
    logger.log(level, sentence, receipt.message_id or "the message", *words, extra=extra)
