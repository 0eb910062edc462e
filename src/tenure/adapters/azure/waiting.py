"""Waiting: look, pause, look again.

These queues cannot call us, so they are looked at, at first soon, then more and more seldom up to `poll_seconds`; from
one wait to the next as seldom as before, until something is lent. What comes in or back by this process wakes at once.
Of several queues each has turns of its own (`polling.py`).
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from tenure.adapters.azure import posting
from tenure.adapters.azure.known_queues import REFRESH_SECONDS
from tenure.adapters.azure.polling import FIRST_PAUSE, LONGER, longest_pause
from tenure.adapters.azure.store import Store
from tenure.rules.queue_pattern import has_pattern

#: So many queues are looked at side by side.
_AT_ONCE = 8


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
        while not woken.is_set():
            served = await store.known_queues.served(queues, excluded)
            now = clock.monotonic()
            if now >= end or await _shows_something(store, served, polling.due(served, now)):
                break
            due = polling.next_due(served)
            until = min(end, end if due is None else due, now + REFRESH_SECONDS if has_pattern(queues) else end)
            # Until something stirs; or it is time to look, to read the list again, or to go back.
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, until - clock.monotonic())):
                    await woken.wait()
        store.waited_at = clock.monotonic()
    finally:
        store.shared.drop_waiter(waiter)


async def _shows_something(store: Store, served: Sequence[str], due: Sequence[str]) -> bool:
    """Look at those whose turn it is, some side by side, until one has something."""
    longest = longest_pause(store.options.poll_seconds, len(served))
    for start in range(0, len(due), _AT_ONCE):
        acts = [partial(_look, store, queue, longest) for queue in due[start : start + _AT_ONCE]]
        told = await store.each(acts)
        for one in told:
            if isinstance(one, BaseException):
                raise one
        if any(told):
            return True
    return False


async def _look(store: Store, queue: str, longest: float) -> bool:
    polling, clock = store.shared.polling, store.clock
    stirs, shows = polling.ask(queue, clock.monotonic()), False
    try:
        shows = await posting.shows_something(store, queue, may_lack=True)
    finally:
        polling.looked(queue, stirs, clock.monotonic(), shows=shows, longest=longest)
    return shows


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
