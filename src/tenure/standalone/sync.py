"""The names of `tenure.standalone` for a sync client, without `await`.

    from tenure.standalone.sync import MessageDeduplicator, delete_message_with_retry

What never awaits is the same object as there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tenure.clock import SYSTEM_CLOCK
from tenure.standalone.deduplicating import Deduplicating
from tenure.standalone.deleting import (
    Deletion,
    DeletionCounts,
    delete_steps,
    verify_steps,
)
from tenure.standalone.measuring import Measurement, measure_processing
from tenure.standalone.queue import queue_of
from tenure.standalone.receipt import Receipt
from tenure.standalone.releasing import Release, release_steps
from tenure.standalone.steps import run
from tenure.standalone.storage_queue_config import StorageQueueConfig
from tenure.standalone.trying import DEFAULT_DELAY_SECONDS, DEFAULT_TRIES, Trying
from tenure.standalone.turn import DeduplicationRecord, Turn, TurnState
from tenure.standalone.visibility_heartbeat import VisibilityHeartbeat
from tenure.standalone.visibility_timeout import (
    PROCESSING_TIME_ESTIMATES,
    calculate_visibility_timeout,
    estimate_processing_seconds,
    get_recommended_timeout,
    validate_visibility_timeout,
)

__all__ = [
    "PROCESSING_TIME_ESTIMATES",
    "DeduplicationRecord",
    "Deletion",
    "Measurement",
    "MessageDeduplicator",
    "MessageDeletionTracker",
    "Receipt",
    "Release",
    "StorageQueueConfig",
    "Turn",
    "TurnState",
    "VisibilityHeartbeat",
    "calculate_visibility_timeout",
    "delete_message",
    "delete_message_with_retry",
    "delete_queue_message_safe",
    "estimate_processing_seconds",
    "get_recommended_timeout",
    "measure_processing",
    "release_message",
    "validate_visibility_timeout",
    "verify_message_deletion",
]


def delete_message(
    queue_client: Any,
    message: Any,
    max_retries: int = DEFAULT_TRIES,
    retry_delay: float = DEFAULT_DELAY_SECONDS,
    *,
    queue_url: str | None = None,
) -> Deletion:
    """Delete a message, and return how that ended."""
    trying = Trying(max_retries, retry_delay, SYSTEM_CLOCK)
    return run(delete_steps(queue_of(queue_client, queue_url), message, trying))


def delete_message_with_retry(
    queue_client: Any,
    message: Any,
    max_retries: int = DEFAULT_TRIES,
    retry_delay: float = DEFAULT_DELAY_SECONDS,
    *,
    queue_url: str | None = None,
) -> tuple[bool, str | None]:
    """Whether the message was deleted, and if not, why."""
    deletion = delete_message(queue_client, message, max_retries, retry_delay, queue_url=queue_url)
    return deletion.ok, deletion.error


def delete_queue_message_safe(
    queue_client: Any,
    message_id: str,
    pop_receipt: str,
    max_retries: int = DEFAULT_TRIES,
    *,
    queue_url: str | None = None,
) -> tuple[bool, str | None]:
    """Delete a message by id and receipt, as `delete_message_with_retry` does."""
    return delete_message_with_retry(queue_client, Receipt(message_id, pop_receipt), max_retries, queue_url=queue_url)


def release_message(
    queue_client: Any,
    message: Any,
    after: float = 0.0,
    max_retries: int = DEFAULT_TRIES,
    retry_delay: float = DEFAULT_DELAY_SECONDS,
    *,
    queue_url: str | None = None,
) -> Release:
    """Give a message back to its queue, to be received `after` seconds from now, and return how that ended."""
    queue = queue_of(queue_client, queue_url)
    trying = Trying(max_retries, retry_delay, SYSTEM_CLOCK)
    return run(release_steps(queue, message, after, trying, SYSTEM_CLOCK.monotonic()))


def verify_message_deletion(
    queue_client: Any, message_id: str, container_name: str = "", *, queue_url: str | None = None
) -> bool | None:
    """True: it is gone. False: it is there. None: that cannot be known."""
    return run(verify_steps(queue_of(queue_client, queue_url), message_id, container_name))


class MessageDeletionTracker(DeletionCounts):
    """Deletes messages, and keeps count of how that ended."""

    def delete_and_track(
        self,
        queue_client: Any,
        message: Any,
        max_retries: int = DEFAULT_TRIES,
        *,
        queue_url: str | None = None,
        verify: bool = False,
    ) -> bool:
        """Whether the message was deleted. `verify` looks whether it is gone, at two more calls on Azure."""
        return run(self.track_steps(queue_of(queue_client, queue_url), message, max_retries, verify=verify))


class MessageDeduplicator(Deduplicating):
    """Remembers what was done, for one service."""

    def check_duplicate(self, message_id: str, correlation_id: str | None = "") -> tuple[bool, str | None]:
        """Whether it was done, and who says so."""
        return run(self.check_steps(message_id, correlation_id))

    def mark_processed(self, message_id: str, correlation_id: str | None = "", payload_hash: str | None = None) -> None:
        """Remember that it was done."""
        run(self.mark_steps(message_id, correlation_id, payload_hash))

    @contextmanager
    def once(self, message_id: str, correlation_id: str | None = "", payload_hash: str | None = None) -> Iterator[Turn]:
        """Take the turn for the length of the block: done when it ends well, free again when it raises."""
        turn = run(self.claim_steps(message_id, correlation_id, payload_hash))
        try:
            yield turn
        except BaseException:
            run(self.release_steps(turn))
            raise
        run(self.seal_steps(turn))

    def renew(self, turn: Turn) -> None:
        """The turn lasts `claim_seconds` from now; raises `LeaseLost`."""
        run(self.renew_steps(turn))

    def prune(self) -> int:
        """Remove what is older than `keep_seconds`; how many."""
        return run(self.prune_steps())
