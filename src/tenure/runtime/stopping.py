"""Stopping: how long a worker waits for the work it has begun.

First it waits for the handlers, for the grace period. Then it waits for the outbox, however long the broker is away. At
last it waits for the app's lifespan, for the grace period again. A second request to stop shortens all three. Used only
by `worker.py`.
"""

import asyncio
import logging
from contextlib import AsyncExitStack

from tenure.runtime.background.side_thread import cancel
from tenure.runtime.path.handling import Handling
from tenure.runtime.path.slots import Slots
from tenure.text.plural import plural

logger = logging.getLogger("tenure.worker")

#: In a hurry: how long the outbox may still try, and how long the lifespan may take.
HURRY_SECONDS = 5.0
#: A longer wait is logged, with its reason.
_SILENT_SECONDS = 5.0


async def let_finish(handling: Handling, asked_again: asyncio.Event, grace_seconds: float | None) -> None:
    """Wait for the handlers within the grace; the caller ends those that remain.

    None: wait for however long it takes.
    """
    hurry = asyncio.ensure_future(asked_again.wait())
    try:
        async with asyncio.timeout(grace_seconds):
            while handling.running and not asked_again.is_set():
                runners = [delivery.runner for delivery in handling.running if delivery.runner is not None]
                await asyncio.wait([*runners, hurry], return_when=asyncio.FIRST_COMPLETED)
    except TimeoutError:
        left = len(handling.running)
        what, they = plural(left, "handler"), "it" if left == 1 else "they"
        logger.warning("%s did not finish within the grace period; returning what %s ran", what, they)
    finally:
        hurry.cancel()


async def let_settle(slots: Slots, asked_again: asyncio.Event) -> None:
    """Wait for the outbox, however long the broker is away; after a second request to stop, only a little longer."""
    settled, hurry = asyncio.ensure_future(slots.all_settled()), asyncio.ensure_future(asked_again.wait())
    await asyncio.wait([settled, hurry], timeout=_SILENT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    if not settled.done() and not hurry.done():
        logger.warning(
            "%s cannot be settled while the broker is unreachable; waiting for it. A second signal stops this worker "
            "at once, and what it ran will run again",
            plural(slots.unsettled, "message"),
        )
        await asyncio.wait([settled, hurry], return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait([settled], timeout=HURRY_SECONDS)
    if not settled.done():
        they = "it" if slots.unsettled == 1 else "they"
        logger.error("%s could not be settled; %s will be run again", plural(slots.unsettled, "message"), they)
    await cancel([settled, hurry])


async def let_leave(lifespan: AsyncExitStack, asked_again: asyncio.Event, grace_seconds: float) -> None:
    """Leave the app's lifespan, and cancel it if it hangs: a worker must end.

    Done by the caller's own task, because a task group or a cancel scope must be closed by the task that opened it. The
    lifespan always gets some seconds to close what it opened.
    """
    is_hurried = asked_again.is_set()
    seconds = HURRY_SECONDS if is_hurried else max(grace_seconds, HURRY_SECONDS)
    limit = asyncio.timeout(seconds)
    hurry = None if is_hurried else asyncio.ensure_future(_end_when(asked_again, limit))
    try:
        async with limit:
            await lifespan.aclose()
    except TimeoutError:
        if not limit.expired():  # its own
            raise
    finally:
        if hurry is not None:
            await cancel([hurry])
    if limit.expired():
        why = "was cancelled, as asked" if asked_again.is_set() and not is_hurried else f"took more than {seconds:g} s"
        logger.error("the app's lifespan did not end: it %s; what it has opened may be left open", why)


async def _end_when(asked: asyncio.Event, limit: asyncio.Timeout) -> None:
    await asked.wait()
    if not limit.expired():
        limit.reschedule(asyncio.get_running_loop().time())
