"""Waiting until something can be leased, or an event is appended.

Before: a worker found nothing to lease. After: it asks again. Who is woken by what is in `sleepers.py`.
"""

import asyncio
from collections.abc import Mapping, Sequence

from tenure.adapters.memory import limiting
from tenure.adapters.memory.sleepers import EARLY, Sleeper
from tenure.adapters.memory.store import MemoryDatabase
from tenure.limit import Limit
from tenure.rules.queue_pattern import has_pattern, served_of


async def wait(
    store: MemoryDatabase, queues: Sequence[str], seconds: float, excluded: Sequence[str], limits: Mapping[str, Limit]
) -> None:
    """Return at once if something can be leased; else when something moves, falls due, or after `seconds`."""
    async with store.step() as now:
        if has_pattern(queues):
            names = served_of(store.busy, queues, excluded)
        else:
            names = [queue for queue in queues if queue in store.busy and queue not in excluded]
        pause = min([seconds, *(_until_leasable(store, queue, limits.get(queue), now) for queue in names)])
        if pause <= EARLY:
            return
        sleeper = Sleeper(queues, excluded)
        store.sleepers.add(sleeper)
    try:
        await asyncio.wait({sleeper.woken}, timeout=pause)
    finally:
        with store.lock:
            store.sleepers.discard(sleeper)


def _until_leasable(store: MemoryDatabase, queue: str, limit: Limit | None, now: float) -> float:
    """Seconds until something is ready and its limit allows a lease. Infinite: that is not known."""
    ready_in = store.busy[queue].seconds_until_ready(now)
    return ready_in if limit is None else max(ready_in, limiting.open_in(store, queue, limit, now))


async def wait_for_event(store: MemoryDatabase, after: int, seconds: float) -> None:
    """Return at once if there is an event behind place `after`; else when one is appended, or after `seconds`."""
    async with store.step():
        if store.last_event > after:
            return
        sleeper = Sleeper()
        store.readers[sleeper] = None
    try:
        await asyncio.wait({sleeper.woken}, timeout=seconds)
    finally:
        with store.lock:
            store.readers.pop(sleeper, None)
