"""The life of a heartbeat for one message, as steps; `visibility_heartbeat.py` has the public class.

It keeps the newest receipt, and stops by itself when the lease is lost or cannot be made longer. A beat that fails is
tried again while the lease lasts. After that, a service that accepts the receipts of others' leases is not asked any
more: another worker may have the message by now, and a beat would hide it from them.
"""

import logging
import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from tenure.clock import Clock, asleep_seconds
from tenure.errors import BadArgument, LeaseLost
from tenure.rules.cloud_errors import Answer, AnswerKind, read_answer
from tenure.standalone.deleting import Deletion, delete_steps
from tenure.standalone.queue import Queue
from tenure.standalone.receipt import Receipt
from tenure.standalone.releasing import Release, release_steps
from tenure.standalone.replaced import note_kept, note_replaced
from tenure.standalone.steps import StepPause, Steps
from tenure.standalone.trying import Trying
from tenure.timing.beat import MARGIN_SECONDS, BeatPlan

logger = logging.getLogger("tenure.standalone")

_DEFAULT_SECONDS = 30.0
#: Permissions and queues can be fixed while the lease lasts, so it is tried again anyway.
_UNLIKELY = (
    "it will be refused until that is fixed (credentials, permission to renew, the queue's name or region); "
    "trying again"
)


class Beating:
    """The state of the lease on one message, and the steps that keep it."""

    def __init__(  # noqa: PLR0913 - its face's settings
        self,
        queue: Queue,
        message: Any,
        clock: Clock,
        *,
        visibility_timeout: float | None,
        extension_seconds: float | None,
        heartbeat_interval: float | None,
        max_hold_seconds: float | None,
        received_at: float | None,
        job_id: str | None,
        correlation_id: str | None,
        payload_hash: str | None,
    ) -> None:
        """Check the arguments and take the message's receipt. Nothing is sent."""
        given = Receipt.of(message)
        queue.check(given)
        _refuse_no_span(
            visibility_timeout=visibility_timeout,
            extension_seconds=extension_seconds,
            heartbeat_interval=heartbeat_interval,
            max_hold_seconds=max_hold_seconds,
        )
        self._queue = queue
        self._clock = clock
        extension = extension_seconds or visibility_timeout or _DEFAULT_SECONDS
        now = clock.monotonic()
        self._began = now if received_at is None else received_at + asleep_seconds(clock)
        if not self._began <= now:
            msg = f"received_at={received_at!r} is not past: pass a moment of time.monotonic(); no beat was sent"
            raise BadArgument(msg)
        expiry = self._seconds_to_expiry(message)
        #: From the receive on, a message is not hidden for longer, whatever is asked for.
        self._service_limit = queue.hold_limit_seconds if expiry is None else min(queue.hold_limit_seconds, expiry)
        limit = self._service_limit if max_hold_seconds is None else min(self._service_limit, max_hold_seconds)
        self._plan = BeatPlan.of(extension, heartbeat_interval, limit)
        # Its end is not known: the first beat comes at once, and from then on we know.
        self.receipt = msgspec.structs.replace(
            given,
            deadline=self._began + (visibility_timeout or 0.0),
            correlation_id=correlation_id or given.correlation_id,
            payload_hash=payload_hash or given.payload_hash,
        )
        self._job = {"job_id": job_id or given.message_id, "message_id": given.message_id}
        self._due = self._plan.next_due(self._began, self._deadline)
        self.extension_count = 0
        self.total_extended_seconds = 0.0
        self.last_error: str | None = None
        self.lost_because: str | None = None
        self.is_at_limit = False
        self.on_lost: Callable[[], object] | None = None
        self.on_failure: Callable[[Exception], object] | None = None
        self._settled: Deletion | Release | None = None
        self._told_end = False

    @property
    def _deadline(self) -> float:
        assert self.receipt.deadline is not None  # noqa: S101 - ours always has one
        return self.receipt.deadline

    def _seconds_to_expiry(self, message: Any) -> float | None:
        """From the receive on. Azure does not hide a message until after its expiry, which comes with the message."""
        expires = getattr(message, "expires_on", None)
        if not isinstance(expires, datetime):
            return None
        return self._clock.monotonic() - self._began + expires.timestamp() - self._clock.wall()

    def live(self) -> Steps[None]:
        """Beat until stopped, or until there is no lease to keep."""
        self._tell_begin()
        while self.lost_because is None and not self.is_at_limit:
            if (yield StepPause(max(0.0, self._due - self._clock.monotonic()))):
                return
            now = self._clock.monotonic()
            seconds = self._plan.seconds_to_ask(now, self._began, self._deadline)
            if self._is_over(now):
                self._lose("it ended before a beat got through" + (f": {self.last_error}" if self.last_error else ""))
            elif seconds:
                yield from self._beat(now, seconds)
            elif self._plan.is_at_limit(self._began, self._deadline):
                self._end_at_limit("it was held for its longest time")
            else:
                self._due = self._plan.next_due(now, self._deadline)

    def _is_over(self, now: float) -> bool:
        """Whether a beat could hide a message that another worker has. Before the first beat, its end is not known."""
        known = self._deadline > self._began
        return not self._queue.receipts_fence and known and now >= self._deadline

    def _beat(self, now: float, seconds: int) -> Steps[None]:
        note_replaced(self._queue.identity, self.receipt)
        try:
            newest = yield from self._queue.extend(self.receipt, seconds)
        except BadArgument as error:
            note_kept(self._queue.identity, self.receipt)
            self.last_error = str(error)
            self._call_back("on_failure", self.on_failure, error)
            self._lose(f"it cannot be renewed: {error}")
        except Exception as error:  # noqa: BLE001 - whatever a client raises is read, logged, and tried again
            note_kept(self._queue.identity, self.receipt)
            self._call_back("on_failure", self.on_failure, error)
            self._miss(read_answer(error))
        else:
            self.receipt = msgspec.structs.replace(self.receipt, receipt=newest, deadline=now + seconds)
            self._due = self._plan.next_due(now, self._deadline)
            self.extension_count += 1
            self.total_extended_seconds += seconds
            self.last_error = None
            self._log(logging.DEBUG, "heartbeat_extended", "the lease on %s lasts %d s more", seconds)

    def _miss(self, answer: Answer) -> None:
        self.last_error = answer.text
        if answer.is_lost:
            self._lose(answer.text)
            return
        if answer.kind is AnswerKind.LIMIT:
            self._end_at_limit(answer.text)
            return
        self._due = self._plan.retry_due(self._clock.monotonic(), self._deadline)
        sentence = "a beat for %s failed: %s; " + ("trying again" if answer.is_worth_another_try else _UNLIKELY)
        self._log(logging.WARNING, "heartbeat_extension_failed", sentence, answer.text, error_message=answer.text)

    def _lose(self, why: str) -> None:
        self.lost_because = why
        self._log(logging.ERROR, "heartbeat_lost", "the lease on %s is lost: %s", why, error_message=why)
        self._call_back("on_lost", self.on_lost)

    def _call_back(self, name: str, callback: Callable[..., object] | None, *arguments: object) -> None:
        if callback is not None:
            try:
                callback(*arguments)
            except Exception:  # noqa: BLE001 - the caller's own code may raise anything; the lease matters more
                self._log(
                    logging.ERROR,
                    "heartbeat_callback_failed",
                    "the heartbeat of %s called %s, which failed",
                    name,
                    exc_info=True,
                )

    def _end_at_limit(self, why: str) -> None:
        self.is_at_limit = True
        self.last_error = why
        self._log(logging.WARNING, "heartbeat_limit", "stopped renewing the lease on %s: %s", why)

    def check(self) -> None:
        """Raise `LeaseLost` if it is."""
        if self.lost_because is not None:
            msg = (
                f"the lease on {self._job['job_id'] or 'the message'} is lost: {self.lost_because.rstrip('.')}. "
                "Another worker may be running it; do not delete it"
            )
            raise LeaseLost(msg)

    # -- the end of the message; the heartbeat has ended before ------------------------------------

    def delete_steps(self, max_retries: int, retry_delay: float) -> Steps[Deletion]:
        """Delete the message by its newest receipt. Raises `LeaseLost`, and sends nothing, if the lease is lost."""
        if isinstance(self._settled, Deletion):
            return self._settled
        self._refuse_settled("deleted")
        self.check()
        trying = Trying(max_retries, retry_delay, self._clock)
        deletion = yield from delete_steps(self._queue, self._counted(), trying)
        self._settled = None if deletion.failed else deletion
        return deletion

    def release_steps(self, after: float, max_retries: int, retry_delay: float) -> Steps[Release]:
        """Give the message back. Raises `LeaseLost`, and sends nothing, if the lease is lost."""
        self._refuse_settled("released")
        self.check()
        now = self._clock.monotonic()
        trying = Trying(max_retries, retry_delay, self._clock)
        # A pause that the service would refuse is cut; one that is no number is refused by the steps.
        most = self._queue.hide_limit_seconds
        left = math.floor(max(0.0, min(most, self._began + self._service_limit - MARGIN_SECONDS - now)))
        given: object = after
        pause = left if isinstance(given, int | float) and left < given <= most else after
        release = yield from release_steps(self._queue, self._counted(), pause, trying, now)
        self._settled = release if release.ok else None
        return release

    def _counted(self) -> Receipt:
        """The newest receipt. Without a beat and without a timeout, its end is not known."""
        is_known = self._deadline > self._began
        return self.receipt if is_known else msgspec.structs.replace(self.receipt, deadline=None)

    def _refuse_settled(self, what: str) -> None:
        if self._settled is not None:
            was = "deleted" if isinstance(self._settled, Deletion) else "released"
            msg = f"{self._job['job_id'] or 'the message'} was {was} already and cannot be {what}; nothing was sent"
            raise BadArgument(msg)

    def stats(self, *, is_running: bool) -> dict[str, Any]:
        """Return the figures for a log or a dashboard."""
        return {
            "extension_count": self.extension_count,
            "total_extended_seconds": self.total_extended_seconds,
            "is_running": is_running,
            "last_error": self.last_error,
            "is_lost": self.lost_because is not None,
        }

    def tell_end(self) -> None:
        """Log how it was, once."""
        if self._told_end:
            return
        self._told_end = True
        self._log(logging.INFO, "heartbeat_stats", "the heartbeat of %s has ended", **self.stats(is_running=False))

    def tell_unfinished(self, seconds: float) -> None:
        """Log that a beat is still under way at the end of `stop(timeout)`."""
        self._log(
            logging.WARNING,
            "heartbeat_stop_timeout",
            "a beat for %s is still under way after %g s and may yet replace the receipt; "
            "heartbeat.delete() and heartbeat.release() wait for it",
            seconds,
        )

    def _tell_begin(self) -> None:
        plan = self._plan
        self._log(logging.DEBUG, "heartbeat_started", "a heartbeat for %s begins")
        if not plan.forgives_a_missed_beat:
            self._log(
                logging.WARNING,
                "heartbeat_interval",
                "the heartbeat of %s asks for %g s every %g s: one missed beat ends the lease; "
                "beat at least every %g s",
                plan.extension_seconds,
                plan.interval_seconds,
                plan.extension_seconds / 3,
            )

    def _log(
        self, level: int, event: str, sentence: str, *words: object, exc_info: bool = False, **more: object
    ) -> None:
        counts = {"extension_count": self.extension_count, "total_extended_seconds": self.total_extended_seconds}
        names = {**self._job, **self.receipt.log_fields}
        extra = {"event_type": event, **names, **counts, "extension_seconds": self._plan.extension_seconds, **more}
        logger.log(level, sentence, self._job["job_id"] or "the message", *words, extra=extra, exc_info=exc_info)


def _refuse_no_span(**given: float | None) -> None:
    """Refuse values that are not seconds, such as a text from the environment, before the work begins."""
    for name, seconds in given.items():
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if seconds is not None and not (is_number and seconds > 0.0):
            msg = f"{name}={seconds!r} is not allowed; it takes seconds, more than 0, as a number; no beat was sent"
            raise BadArgument(msg)
