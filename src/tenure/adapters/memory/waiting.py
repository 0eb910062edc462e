"""Waiting: sleepers on any thread's event loop, woken when something moves in their queues.

Also the pause until the next delayed message is due. Before: a worker found nothing to lease. After: it asks
again.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenure.adapters.memory.store import Store

#: A timer may fire a hair before its time; what is due within a microsecond is due.
EARLY = 1e-6


class Sleeper:
    """One waiting call, on one loop."""

    def __init__(self, queues: Sequence[str]) -> None:
        """Belongs to the loop that makes it."""
        self.queues = tuple(queues)
        self.loop = asyncio.get_running_loop()
        self.woken: asyncio.Future[None] = self.loop.create_future()

    def wake(self) -> None:
        """From any thread. A loop that was closed with a sleeper in it has nobody left to wake."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._set)

    def _set(self) -> None:
        if not self.woken.done():
            self.woken.set_result(None)


class Sleepers:
    """Who waits for which queue. Used under the store's lock."""

    def __init__(self) -> None:
        """Nobody waits yet."""
        #: Dicts, because they keep the order in which sleepers came: a run in virtual time is the same every time.
        self._by_queue: dict[str, dict[Sleeper, None]] = {}

    def add(self, sleeper: Sleeper) -> None:
        """Wake it when one of its queues stirs."""
        for queue in sleeper.queues:
            self._by_queue.setdefault(queue, {})[sleeper] = None

    def discard(self, sleeper: Sleeper) -> None:
        """It no longer waits."""
        for queue in sleeper.queues:
            sleepers = self._by_queue.get(queue, {})
            sleepers.pop(sleeper, None)
            if not sleepers:
                self._by_queue.pop(queue, None)

    def wake(self, queues: Iterable[str]) -> None:
        """Wake everybody who waits for one of `queues`, once."""
        for sleeper in {sleeper: None for queue in queues for sleeper in self._by_queue.get(queue, ())}:
            self.discard(sleeper)
            sleeper.wake()


async def wait(store: "Store", queues: Sequence[str], seconds: float) -> None:
    """Return at once if something can be leased; else when something moves, falls due, or after `seconds`."""
    async with store.step() as now:
        pause = min([seconds, *(store.line(queue).seconds_until_ready(now) for queue in queues)])
        if pause <= EARLY:
            return
        sleeper = Sleeper(queues)
        store.sleepers.add(sleeper)
    try:
        await asyncio.wait({sleeper.woken}, timeout=pause)
    finally:
        with store.lock:
            store.sleepers.discard(sleeper)
