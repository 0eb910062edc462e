"""Deleting a message so that it is known how that ended.

`delete_message_with_retry` retries temporary errors, with growing, jittered pauses, and gives up at once on others:
no permission, no such message, a receipt that is not the latest one. `delete_message` returns more: one of the four
outcomes of a delete. `MessageDeletionTracker` counts them.

This module is async, for an async client, or a sync one, which is then called in a thread. The same names without
`await` are in `tenure.standalone.sync`.
"""

from typing import Any

from tenure.clock import SYSTEM_CLOCK
from tenure.standalone.deleting import (
    Deletion,
    DeletionCounts,
    delete_steps,
    verify_steps,
)
from tenure.standalone.queue import queue_of
from tenure.standalone.receipt import Receipt
from tenure.standalone.releasing import Release, release_steps
from tenure.standalone.steps import run_async
from tenure.standalone.trying import DEFAULT_DELAY_SECONDS, DEFAULT_TRIES, Trying

__all__ = [
    "Deletion",
    "MessageDeletionTracker",
    "Release",
    "delete_message",
    "delete_message_with_retry",
    "delete_queue_message_safe",
    "release_message",
    "verify_message_deletion",
]


async def delete_message(
    queue_client: Any,
    message: Any,
    max_retries: int = DEFAULT_TRIES,
    retry_delay: float = DEFAULT_DELAY_SECONDS,
    *,
    queue_url: str | None = None,
) -> Deletion:
    """Delete a message, and return how that ended. Raises nothing that the client raises.

    `message` is one as it was received, or the receipt that a heartbeat handed over. `queue_url` is for clients of SQS.
    """
    trying = Trying(max_retries, retry_delay, SYSTEM_CLOCK)
    return await run_async(delete_steps(queue_of(queue_client, queue_url), message, trying))


async def delete_message_with_retry(
    queue_client: Any,
    message: Any,
    max_retries: int = DEFAULT_TRIES,
    retry_delay: float = DEFAULT_DELAY_SECONDS,
    *,
    queue_url: str | None = None,
) -> tuple[bool, str | None]:
    """Whether the message was deleted, and if not, why: (True, None) or (False, sentence)."""
    deletion = await delete_message(queue_client, message, max_retries, retry_delay, queue_url=queue_url)
    return deletion.ok, deletion.error


async def delete_queue_message_safe(
    queue_client: Any,
    message_id: str,
    pop_receipt: str,
    max_retries: int = DEFAULT_TRIES,
    *,
    queue_url: str | None = None,
) -> tuple[bool, str | None]:
    """Delete a message by id and receipt, as `delete_message_with_retry` does."""
    return await delete_message_with_retry(
        queue_client, Receipt(message_id, pop_receipt), max_retries, queue_url=queue_url
    )


async def release_message(
    queue_client: Any,
    message: Any,
    after: float = 0.0,
    max_retries: int = DEFAULT_TRIES,
    retry_delay: float = DEFAULT_DELAY_SECONDS,
    *,
    queue_url: str | None = None,
) -> Release:
    """Give a message back to its queue, to be received `after` seconds from now, and return how that ended.

    For work that failed: without it the message comes back when its visibility timeout ends. Raises nothing that the
    client raises.
    """
    queue = queue_of(queue_client, queue_url)
    trying = Trying(max_retries, retry_delay, SYSTEM_CLOCK)
    return await run_async(release_steps(queue, message, after, trying, SYSTEM_CLOCK.monotonic()))


async def verify_message_deletion(
    queue_client: Any, message_id: str, container_name: str = "", *, queue_url: str | None = None
) -> bool | None:
    """True: it is gone. False: it is there. None: that cannot be known, as always on SQS and mostly on a busy queue."""
    return await run_async(verify_steps(queue_of(queue_client, queue_url), message_id, container_name))


class MessageDeletionTracker(DeletionCounts):
    """Deletes messages, and keeps count of how that ended."""

    async def delete_and_track(
        self,
        queue_client: Any,
        message: Any,
        max_retries: int = DEFAULT_TRIES,
        *,
        queue_url: str | None = None,
        verify: bool = False,
    ) -> bool:
        """Whether the message was deleted. `verify` looks whether it is gone, at two more calls on Azure."""
        return await run_async(self.track_steps(queue_of(queue_client, queue_url), message, max_retries, verify=verify))
