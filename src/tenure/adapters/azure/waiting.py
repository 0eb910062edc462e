"""Waiting: look, pause, look again.

These queues cannot call us, so they are looked at, at first soon, then more and more seldom up to `poll_seconds`. What
comes in or back by this process wakes at once.
"""

import asyncio
from collections.abc import Sequence

from tenure.adapters.azure import posting
from tenure.adapters.azure.store import Store

#: The first pause; each next one is so much longer.
_FIRST_SECONDS = 0.05
_LONGER = 1.6


async def wait(store: Store, queues: Sequence[str], seconds: float) -> None:
    """Return when something may have become leasable, or after `seconds`."""
    clock = store.clock
    end = clock.monotonic() + seconds
    pause = _FIRST_SECONDS
    woken = asyncio.Event()
    waiter = store.shared.add_waiter(woken, queues)
    try:
        while True:
            woken.clear()
            shown = await asyncio.gather(*(posting.shows_something(store, queue) for queue in queues))
            left = end - clock.monotonic()
            if any(shown) or left <= 0:
                return
            try:
                async with asyncio.timeout(min(pause, left)):
                    await woken.wait()
            except TimeoutError:
                pause = min(pause * _LONGER, store.options.poll_seconds)
    finally:
        store.shared.drop_waiter(waiter)
