"""Sleepers: calls that wait on any thread's event loop, woken when something moves in their queues."""

import asyncio
from collections.abc import Collection, Sequence

from tenure.rules.queue_pattern import has_pattern, matches

#: A timer may fire a hair before its time; what is due within a microsecond is due.
EARLY = 1e-6


class Sleeper:
    """One waiting call, on one loop."""

    def __init__(self, queues: Sequence[str] = (), excluded: Sequence[str] = ()) -> None:
        """Belongs to the loop that makes it. `queues`: names and patterns."""
        self.queues = tuple(queue for queue in queues if queue not in excluded)
        self.excluded = frozenset(excluded)
        self.has_pattern = has_pattern(queues)
        self.loop = asyncio.get_running_loop()
        self.woken: asyncio.Future[None] = self.loop.create_future()

    def wake(self) -> None:
        """Wake the waiter, from any thread. A loop that was closed with a waiter in it has nothing left to wake."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._set)

    def _set(self) -> None:
        if not self.woken.done():
            self.woken.set_result(None)


class Sleepers:
    """Waiting workers by queue. Used under the store's lock."""

    def __init__(self) -> None:
        """Make empty lists of waiters, by queue and by pattern."""
        #: Dicts, because they keep the order in which sleepers came: a run in virtual time is the same every time.
        self._by_queue: dict[str, dict[Sleeper, None]] = {}
        #: Those with patterns: each queue that stirs is compared with them, also one that is new.
        self._by_pattern: dict[Sleeper, None] = {}

    def add(self, sleeper: Sleeper) -> None:
        """Wake it when one of its queues stirs."""
        if sleeper.has_pattern:
            self._by_pattern[sleeper] = None
            return
        for queue in sleeper.queues:
            self._by_queue.setdefault(queue, {})[sleeper] = None

    def discard(self, sleeper: Sleeper) -> None:
        """Remove a waiter."""
        self._by_pattern.pop(sleeper, None)
        for queue in sleeper.queues:
            sleepers = self._by_queue.get(queue, {})
            sleepers.pop(sleeper, None)
            if not sleepers:
                self._by_queue.pop(queue, None)

    def wake(self, queues: Collection[str]) -> None:
        """Wake everybody who waits for one of `queues`, once."""
        woken = {sleeper: None for queue in queues for sleeper in self._by_queue.get(queue, ())}
        for sleeper in self._by_pattern:
            if any(matches(queue, sleeper.queues, sleeper.excluded) for queue in queues):
                woken[sleeper] = None
        for sleeper in woken:
            self.discard(sleeper)
            sleeper.wake()
