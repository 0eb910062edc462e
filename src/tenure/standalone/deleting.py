"""The steps of a delete, and the count of how deletes ended.

The public functions are in `queue_message_handling.py` and `sync.py`.
"""

import logging
import threading
from typing import Any

import msgspec

from tenure.clock import SYSTEM_CLOCK
from tenure.deletion import DeletionFailure, DeletionStats, DeletionTally
from tenure.errors import BadArgument
from tenure.rules.cloud_errors import Answer, AnswerKind, outcome_of_delete
from tenure.settlement import Outcome
from tenure.standalone.queue import Queue
from tenure.standalone.receipt import Receipt
from tenure.standalone.steps import Steps
from tenure.standalone.trying import DEFAULT_DELAY_SECONDS, Trying, log_about
from tenure.text.plural import plural

logger = logging.getLogger("tenure.standalone")

#: This many failures are kept: the first ones, because they show how it began.
KEPT_FAILURES = 100
_SHOWN_FAILURES = 5

_WHY = {
    Outcome.ALREADY_GONE: "it is not there under our receipt: it was deleted before, or another worker holds it now",
    Outcome.TAKEN_OVER: "the receipt is not the latest one: the lease was over and another worker received the "
    "message, or a heartbeat renewed it (then delete by that heartbeat); nothing was changed",
    Outcome.UNKNOWN: "it may come back; the next receiver must recognise it as done",
}


class Deletion(msgspec.Struct, frozen=True):
    """The outcome of a delete, with its tries and time."""

    message_id: str
    outcome: Outcome
    attempts: int
    seconds: float
    #: None: it was deleted.
    error: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the message was deleted, by us."""
        return self.outcome is Outcome.DELETED

    @property
    def failed(self) -> bool:
        """Whether the message may come back although it is done. One that is gone already will not, through us."""
        return self.outcome not in (Outcome.DELETED, Outcome.ALREADY_GONE)


def delete_steps(queue: Queue, message: Any, trying: Trying) -> Steps[Deletion]:
    """Delete; retry temporary errors."""
    receipt = Receipt.of(message)
    queue.check(receipt)
    tried = yield from trying.steps(queue, receipt, lambda: queue.delete(receipt), "deletion")
    outcome = outcome_of_delete(tried.answer, after_lost_reply=tried.lost_reply, held=tried.held)
    deletion = Deletion(receipt.message_id, outcome, tried.attempts, tried.seconds, _sentence(outcome, tried.answer))
    _tell(receipt, deletion)
    return deletion


def _sentence(outcome: Outcome, answer: Answer | None) -> str | None:
    if outcome is Outcome.DELETED:
        return None
    if answer is None:
        return f"{outcome}: accepted after the lease was over, which proves nothing; {_WHY[outcome]}"
    if answer.kind is AnswerKind.REFUSED:
        return f"{outcome}: the request was refused and will be again ({answer.text}); {_WHY[outcome]}"
    return f"{outcome}: {answer.text}; {_WHY[outcome]}"


def _tell(receipt: Receipt, deletion: Deletion) -> None:
    """Log one record for each delete, with the fields by which queries count them."""
    told: dict[str, Any] = {
        #: Neither, if it was gone already.
        "success": None if deletion.outcome is Outcome.ALREADY_GONE else deletion.ok,
        "outcome": str(deletion.outcome),
        "retry_attempts": deletion.attempts,
        "duration_ms": 1000.0 * deletion.seconds,
        "final_error": deletion.error,
    }
    if deletion.ok:
        log_about(logging.DEBUG, receipt, "message_deletion", "deleted %s at attempt %d", deletion.attempts, **told)
    elif not deletion.failed:
        log_about(logging.INFO, receipt, "message_deletion", "%s is not in the queue: %s", deletion.error, **told)
    else:
        sentence = "%s was not deleted in %s: %s"
        tries = plural(deletion.attempts, "attempt")
        log_about(logging.ERROR, receipt, "message_deletion", sentence, tries, deletion.error, **told)


def verify_steps(
    queue: Queue, message_id: str, container_name: str, receipt: Receipt | None = None
) -> Steps[bool | None]:
    """Look whether a message is gone. The receipt has the caller's own names for it, for the log."""
    names = Receipt(message_id, "") if receipt is None else receipt
    extra = {
        "event_type": "message_deletion_unverified",
        "message_id": message_id,
        **names.log_fields,
        "container": container_name,
    }
    try:
        is_there = yield from queue.look(message_id)
    except BadArgument:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a client raises: we did not see it
        logger.warning("cannot look whether %s is gone: %s", message_id, error, extra=extra)
        return None
    if is_there:
        logger.warning("%s is still in the queue although it was deleted", message_id, extra=extra)
    return None if is_there is None else not is_there


class DeletionCounts:
    """Counts of deletes by outcome. Threads may share it."""

    def __init__(self, container_name: str, *, kept_failures: int = KEPT_FAILURES) -> None:
        """Count for one service, and keep the reasons of the first `kept_failures` failures."""
        self.container_name = container_name
        #: Deleted by the service's word, and a look did not show that it is gone.
        self.unverified_deletions = 0
        self._tally = DeletionTally(kept_failures)
        self._lock = threading.Lock()

    def track_steps(self, queue: Queue, message: Any, max_retries: int, *, verify: bool) -> Steps[bool]:
        """Delete, count, and look if asked to."""
        trying = Trying(max_retries, DEFAULT_DELAY_SECONDS, SYSTEM_CLOCK)
        deletion = yield from delete_steps(queue, message, trying)
        self.count(deletion)
        if verify and deletion.ok:
            is_gone = yield from verify_steps(queue, deletion.message_id, self.container_name, Receipt.of(message))
            if not is_gone:
                with self._lock:
                    self.unverified_deletions += 1
        return deletion.ok

    def count(self, deletion: Deletion) -> None:
        """Count a delete that was made elsewhere, such as by `heartbeat.delete()`."""
        with self._lock:
            if deletion.ok:
                self._tally.count_deleted(1, deletion.attempts)
                self._tally.settle(deletion.message_id)
            else:
                at = SYSTEM_CLOCK.wall()
                failure = DeletionFailure(deletion.message_id, deletion.outcome, str(deletion.error), at)
                self._tally.count_failed(failure, deletion.attempts)

    @property
    def stats(self) -> DeletionStats:
        """The counts now."""
        with self._lock:
            return self._tally.stats()

    @property
    def total_deletions(self) -> int:
        """The number of deletes."""
        return self.stats.total

    @property
    def successful_deletions(self) -> int:
        """The number of deletes that worked."""
        return self.stats.deleted

    @property
    def failed_deletions(self) -> int:
        """The number of deletes that failed."""
        return self.stats.failed

    @property
    def resolved_deletions(self) -> int:
        """Failed before, and deleted when the message was seen again."""
        return self.stats.resolved

    @property
    def deletion_failures(self) -> dict[str, str]:
        """Why, by message id: the first ones, those that were resolved later left out."""
        return {failure.id: failure.text for failure in self.stats.first_failures}

    def get_stats(self) -> dict[str, Any]:
        """The counts. The rate is None before anything was deleted: there is none."""
        stats = self.stats
        rate = stats.success_rate
        return {
            "container": self.container_name,
            "total_deletions": stats.total,
            "successful": stats.deleted,
            "failed": stats.failed,
            "already_gone": stats.already_gone,
            "unverified": self.unverified_deletions,
            "resolved": stats.resolved,
            "success_rate_percent": None if rate is None else 100.0 * rate,
            "outcomes": stats.outcomes,
            "first_failures": [(failure.id, failure.text) for failure in stats.first_failures[:_SHOWN_FAILURES]],
        }

    def log_stats(self) -> None:
        """Log the counts."""
        logger.info("message deletion statistics", extra=self.get_stats())
