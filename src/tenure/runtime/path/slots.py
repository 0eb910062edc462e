"""Slots: how many messages may be in flight, and when it is worth leasing more.

A slot is free again when its handler ended; the settle may still be under way. Messages that are not settled yet are
limited too, to twice the slots, so that a slow broker cannot pile up finished work.
"""

import asyncio

#: This many free slots are worth a call, whatever part of all they are.
FULL_BATCH = 50
#: Otherwise wait for half of them, but no longer than this: batches stay full, and no message waits for long.
GATHER_SECONDS = 0.005
#: Nor for longer than this if none became free in it: handlers that end together do so within a moment.
QUIET_SECONDS = 0.001


class Slots:
    """Bounded concurrency for one worker."""

    def __init__(self, total: int) -> None:
        """Start with all `total` slots free."""
        self.total = total
        self._free = total
        self._unsettled = 0
        #: Of those that are taken, how many wait (`waiting_room.py`): no more than half of all.
        self.waiting = 0
        self._changed: asyncio.Future[None] | None = None
        #: Set when enough are free that it is worth fetching at once.
        self._worth: asyncio.Future[None] | None = None
        self._empty: asyncio.Future[None] | None = None

    @property
    def running(self) -> int:
        """The number of handlers under way."""
        return self.total - self._free

    @property
    def unsettled(self) -> int:
        """Messages taken and not yet settled."""
        return self._unsettled

    def take(self, count: int) -> None:
        """Count `count` leased messages."""
        self._free -= count
        self._unsettled += count

    def finish(self) -> None:
        """Free the slot of a handler that ended."""
        self._free += 1
        self._wake()

    def settle(self, count: int) -> None:
        """Count `count` messages as settled; some may never be."""
        self._unsettled -= count
        self._wake()
        if self._unsettled == 0 and self._empty is not None:
            self._empty.set_result(None)
            self._empty = None

    async def room(self) -> int:
        """Wait until it is worth leasing, and return how many."""
        while self._room() <= 0:
            await self._change()
        if not self._is_worth_it():
            await self._gather()
        return self._room()

    async def _gather(self) -> None:
        """Wait while more become free, for a moment at most."""
        for _ in range(round(GATHER_SECONDS / QUIET_SECONDS)):
            before = self._room()
            self._worth = asyncio.get_running_loop().create_future()
            await asyncio.wait((self._worth,), timeout=QUIET_SECONDS)
            self._worth = None
            if self._is_worth_it() or self._room() <= before:
                return

    async def all_settled(self) -> None:
        """Wait until nothing is in flight."""
        while self._unsettled:
            if self._empty is None:
                self._empty = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._empty)

    def _is_worth_it(self) -> bool:
        """Whether many slots are free, or half of those that run. Slots of messages that only wait do not count."""
        room = self._room()
        return room >= FULL_BATCH or room * 2 >= self.total - self.waiting

    def _room(self) -> int:
        return min(self._free, 2 * self.total - self._unsettled)

    def _wake(self) -> None:
        if self._changed is not None:
            if not self._changed.done():
                self._changed.set_result(None)
            self._changed = None
        if self._worth is not None and not self._worth.done() and self._is_worth_it():
            self._worth.set_result(None)

    async def _change(self) -> None:
        # Only the intake waits here, so one future is enough.
        self._changed = asyncio.get_running_loop().create_future()
        await self._changed
