"""Posting: the single calls about one message in its queue.

Each takes the service's id and receipt, never the message itself: that would send its body again. A receipt that is not
the latest is told as `Stale`; so is a message that the service will not hide. After a call whose reply was lost the
receipt that we know may be dead, and nobody can tell: that is `BrokerUnavailable` with its outcome unknown. A queue
that was there before, and is not now, is an outage for who receives from it.
"""

import logging
import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from azure.core.exceptions import HttpResponseError

from tenure.adapters.azure import faults
from tenure.adapters.azure.naming import POISON
from tenure.adapters.azure.session import Session
from tenure.errors import BrokerError, BrokerUnavailable, StoreMissing

T = TypeVar("T")

logger = logging.getLogger("tenure.azure")

#: The longest time for which the service hides a message.
LONGEST = 7 * 86_400
#: A message never expires by itself: it could do so while it is leased.
_NEVER = -1


class Stale(Exception):
    """The receipt is not the latest, or the message is not there, or cannot be hidden any more."""


def whole(seconds: float) -> int:
    """Seconds as the service takes them: whole, never sooner, never too long."""
    return min(LONGEST, max(0, math.ceil(seconds - 1e-6)))


async def put(store: Session, queue: str, text: str, delay: float = 0.0, *, ending: str = "") -> tuple[str, str]:
    """Put a message into a queue; the service's id and receipt for it."""
    sent: Any = await store.on_queue(
        "sending",
        queue,
        lambda client: client.send_message(text, visibility_timeout=whole(delay), time_to_live=_NEVER),
        ending,
    )
    return str(sent.id), str(sent.pop_receipt)


async def hide(store: Session, queue: str, message_id: str, receipt: str, seconds: float) -> str:
    """Let a message be shown again after so many seconds (0: now); its new receipt."""
    try:
        told: Any = await store.on_queue(
            "renewing",
            queue,
            # The timeout always: without one it would be shown at once.
            lambda client: client.update_message(message_id, receipt, visibility_timeout=whole(seconds)),
        )
    except HttpResponseError as error:
        raise _stale(error) from error
    except BrokerUnavailable:
        raise
    except BrokerError as error:
        # Others send messages that expire, and until past that moment the service hides nothing. Whose the message is,
        # its life says: that one message must not end the work on all the others.
        logger.warning("%s of %s cannot be hidden for %g s: %s", message_id, queue, seconds, error)
        raise Stale(error.code) from error
    return str(told.pop_receipt)


async def remove(store: Session, queue: str, message_id: str, receipt: str, ending: str = "") -> None:
    """Delete a message for good."""
    try:
        await store.on_queue("deleting", queue, lambda client: client.delete_message(message_id, receipt), ending)
    except HttpResponseError as error:
        raise _stale(error) from error


async def bury(store: Session, queue: str, text: str) -> tuple[str, str]:
    """Put a dead letter into the poison queue."""
    return await put(store, queue, text, ending=POISON)


async def receive(store: Session, queue: str, want: int, seconds: float, *, may_lack: bool = False) -> list[Any]:
    """Up to `want` messages, hidden from others for so many seconds; in exactly one call.

    `may_lack`: a queue that is not there is an empty one. So it is for whoever serves a pattern.
    """

    async def act(client: Any) -> list[Any]:
        pages = client.receive_messages(
            messages_per_page=want, max_messages=want, visibility_timeout=max(1, whole(seconds))
        ).by_page()
        try:
            page = await pages.__anext__()
        except StopAsyncIteration:
            return []
        return [message async for message in page]

    return await _served(store, "receiving", queue, act, may_lack=may_lack)


async def shows_something(store: Session, queue: str, *, may_lack: bool = False) -> bool:
    """Whether a message can be received now."""

    async def act(client: Any) -> list[Any]:
        found: list[Any] = await client.peek_messages(max_messages=1)
        return found

    return bool(await _served(store, "looking", queue, act, may_lack=may_lack))


async def _served(
    store: Session, what: str, queue: str, act: Callable[[Any], Awaitable[list[Any]]], *, may_lack: bool
) -> list[Any]:
    """What the queue answers. If it answered before and is missing now, somebody removed it: that ends no worker."""
    try:
        answer = await store.on_queue(what, queue, act)
    except StoreMissing as error:
        if may_lack:
            return []
        raise (faults.outage(error) if queue in store.heard.served else error) from error
    store.heard.served.add(queue)
    return answer


def _stale(error: HttpResponseError) -> Exception:
    return Stale(faults.code_of(error)) if faults.is_stale(error) else error
