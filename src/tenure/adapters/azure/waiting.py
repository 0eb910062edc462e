"""Waiting: look, pause, look again.

These queues cannot call us, so they are looked at, at first soon, then more and more seldom up to `poll_seconds`; from
one wait to the next as seldom as before, until something is lent. What comes in or back by this process wakes at once.
"""

import asyncio
from collections.abc import Sequence

from tenure.adapters.azure import posting
from tenure.adapters.azure.store import FIRST_PAUSE, Store

#: Each pause is so much longer than the one before.
_LONGER = 1.6


async def wait(store: Store, queues: Sequence[str], seconds: float) -> None:
    """Return when something may have become leasable, or after `seconds`."""
    clock, stirs, known = store.clock, store.shared.stirs, frozenset(queues)
    end = clock.monotonic() + seconds
    pause, heard = store.pauses.get(known, (FIRST_PAUSE, None))
    store.pauses[known] = pause, stirs
    if heard is not None and heard != stirs:
        return  # it came while whoever waits was looking
    # If nothing has stirred, whoever waits has just received nothing: that was a look, too.
    is_looked_at = heard is not None
    woken = asyncio.Event()
    waiter = store.shared.add_waiter(woken, queues)
    try:
        while True:
            if not is_looked_at:
                shown = await asyncio.gather(*(posting.shows_something(store, queue) for queue in queues))
                if any(shown):
                    break
            left = end - clock.monotonic()
            if left <= 0:
                break
            try:
                async with asyncio.timeout(min(pause, left)):
                    await woken.wait()
                stirs = store.shared.stirs
                break
            except TimeoutError:
                is_looked_at = pause >= left  # the receive that follows looks
                pause = min(pause * _LONGER, store.options.poll_seconds)
        store.pauses[known] = pause, stirs
    finally:
        store.shared.drop_waiter(waiter)
