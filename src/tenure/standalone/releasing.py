"""Releasing a message: giving it back to its queue at once, or after a pause.

For work that failed: without a release the message comes back only when its visibility timeout ends. The faces are
`queue_message_handling.py`, `sync.py` and `VisibilityHeartbeat.release`.
"""

import logging
import math
from typing import Any

import msgspec

from tenure.errors import BadArgument
from tenure.rules.cloud_errors import Answer, outcome_of_release
from tenure.settlement import Outcome
from tenure.standalone.queue import Queue
from tenure.standalone.receipt import Receipt
from tenure.standalone.steps import Steps
from tenure.standalone.trying import Tried, Trying, log_about

_WHY = {
    Outcome.ALREADY_GONE: "the message was deleted, or another worker holds it; nothing was changed",
    Outcome.TAKEN_OVER: "the lease was over, so the message is back already, or another worker holds it; "
    "nothing was changed",
    Outcome.UNKNOWN: "the message comes back at the latest when its visibility timeout ends",
}


class Release(msgspec.Struct, frozen=True):
    """The outcome of a release, with its tries and time."""

    message_id: str
    outcome: Outcome
    #: Seconds from the release on for which the message stays hidden.
    after_seconds: int
    #: 0: nothing was sent, because the lease was over.
    attempts: int
    seconds: float
    #: None: it was released.
    error: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the message was released, by us."""
        return self.outcome is Outcome.RETURNED


def release_steps(queue: Queue, message: Any, after: float, trying: Trying, now: float) -> Steps[Release]:
    """Hide the message for `after` seconds from now, 0 for not at all, and try again what can pass."""
    receipt = Receipt.of(message)
    queue.check(receipt)
    seconds = _whole_seconds(queue, after)
    if receipt.lasts(now) is False and not queue.receipts_fence:
        # The service might accept it, and show a message that another worker is working on.
        tried, outcome = Tried(None, 0, 0.0, lost_reply=False, held=False), Outcome.TAKEN_OVER
    else:
        tried = yield from trying.steps(queue, receipt, lambda: queue.extend(receipt, seconds), "release")
        outcome = outcome_of_release(tried.answer, after_lost_reply=tried.lost_reply, held=tried.held)
    error = None if outcome is Outcome.RETURNED else _sentence(outcome, tried.answer)
    release = Release(receipt.message_id, outcome, seconds, tried.attempts, tried.seconds, error)
    _tell(receipt, release)
    return release


def _whole_seconds(queue: Queue, after: float) -> int:
    given: object = after
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not 0.0 <= after <= queue.hide_limit_seconds:
        msg = (
            f"after={after!r} is not allowed; it takes seconds from 0 to {queue.hide_limit_seconds:g}, which is as "
            "long as this service hides a message; nothing was released"
        )
        raise BadArgument(msg)
    return math.ceil(after)


def _sentence(outcome: Outcome, answer: Answer | None) -> str:
    return f"{outcome}: {answer.text}; {_WHY[outcome]}" if answer is not None else f"{outcome}: {_WHY[outcome]}"


def _tell(receipt: Receipt, release: Release) -> None:
    told: dict[str, Any] = {
        "success": release.ok,
        "outcome": str(release.outcome),
        "after_seconds": release.after_seconds,
        "retry_attempts": release.attempts,
        "duration_ms": 1000.0 * release.seconds,
        "final_error": release.error,
    }
    if release.ok:
        sentence = "released %s, visible again in %d s"
        log_about(logging.INFO, receipt, "message_release", sentence, release.after_seconds, **told)
    else:
        log_about(logging.WARNING, receipt, "message_release", "%s was not released: %s", release.error, **told)
