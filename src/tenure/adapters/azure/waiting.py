"""Waiting: look, pause, look again.

These queues cannot call us, so they are looked at, at first soon, then more and more seldom up to `poll_seconds`; from
one wait to the next as seldom as before, until something is lent. What comes in or back by this process wakes at once.
Several queues are not looked at here: whoever waits is woken when one of them is to be asked (`polling.py`), and the
receive that follows is the look.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from tenure.adapters.azure import posting
from tenure.adapters.azure.known_queues import REFRESH_SECONDS
from tenure.adapters.azure.polling import FIRST_PAUSE, LONGER
from tenure.adapters.azure.store import Store
from tenure.rules.queue_pattern import has_pattern


async def wait(store: Store, queues: Sequence[str], seconds: float, excluded: Sequence[str] = ()) -> None:
    """Return when something may have become leasable, or after `seconds`."""
    if len(queues) == 1 and not has_pattern(queues) and not excluded:
        await _wait_for_one(store, queues[0], seconds)
    else:
        await _wait_for_many(store, queues, seconds, excluded)


async def _wait_for_many(store: Store, queues: Sequence[str], seconds: float, excluded: Sequence[str]) -> None:
    clock, polling = store.clock, store.shared.polling
    end = clock.monotonic() + seconds
    woken = asyncio.Event()
    waiter = store.shared.add_waiter(woken, queues, excluded)
    try:
        while True:
            due = polling.next_due(await store.known_queues.served(queues, excluded))
            now = clock.monotonic()
            if now >= end or (due is not None and due <= now):
                return
            pause = min(end, due or end, now + REFRESH_SECONDS if has_pattern(queues) else end) - now
            # Until something stirs; or it is time to ask, to read the list again, or to go back.
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await woken.wait()
            if woken.is_set():
                return
    finally:
        store.shared.drop_waiter(waiter)


async def _wait_for_one(store: Store, queue: str, seconds: float) -> None:
    clock, stirs, known = store.clock, store.shared.stirs, frozenset((queue,))
    end = clock.monotonic() + seconds
    pause, heard = store.pauses.get(known, (FIRST_PAUSE, None))
    store.pauses[known] = pause, stirs
    if heard is not None and heard != stirs:
        return  # it came while whoever waits was looking
    # If nothing has stirred, whoever waits has just received nothing: that was a look, too.
    is_looked_at = heard is not None
    woken = asyncio.Event()
    waiter = store.shared.add_waiter(woken, known)
    try:
        while True:
            if not is_looked_at and await posting.shows_something(store, queue):
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
                pause = min(pause * LONGER, store.options.poll_seconds)
        store.pauses[known] = pause, stirs
    finally:
        store.shared.drop_waiter(waiter)
