"""Stopping: how long a worker waits for what it has begun.

First the handlers, for the length of the grace; then the outbox, however long the broker is away. Asked a
second time it hurries through both. Used by `worker.py` alone.
"""

import asyncio
import logging

from tenure.runtime.handling import Handling
from tenure.runtime.sideloop import cancel
from tenure.runtime.slots import Slots

logger = logging.getLogger("tenure.worker")

#: Asked to stop a second time: how long the outbox may still try.
HURRY_SECONDS = 5.0


async def let_finish(handling: Handling, asked_again: asyncio.Event, grace_seconds: float) -> None:
    """Wait for the handlers within the grace; those that remain are for the caller to end."""
    hurry = asyncio.ensure_future(asked_again.wait())
    try:
        async with asyncio.timeout(grace_seconds):
            while handling.running and not asked_again.is_set():
                runners = [delivery.runner for delivery in handling.running if delivery.runner is not None]
                await asyncio.wait([*runners, hurry], return_when=asyncio.FIRST_COMPLETED)
    except TimeoutError:
        left = len(handling.running)
        what = "1 handler" if left == 1 else f"{left} handlers"
        logger.warning("%s did not finish within the grace; what they ran is given back", what)
    finally:
        hurry.cancel()


async def let_settle(slots: Slots, asked_again: asyncio.Event) -> None:
    """Wait for the outbox, however long the broker is away; asked a second time, only a little longer."""
    settled, hurry = asyncio.ensure_future(slots.all_settled()), asyncio.ensure_future(asked_again.wait())
    await asyncio.wait([settled, hurry], return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait([settled], timeout=HURRY_SECONDS)
    if not settled.done():
        logger.error("%d messages could not be settled; they will be run again", slots.unsettled)
    await cancel([settled, hurry])
