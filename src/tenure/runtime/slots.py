"""Slots: how many messages may be in flight, and when it is worth fetching more.

A slot is free again when its handler ended; the settle may still be under way. So that a slow broker
cannot pile up finished work, what is not settled yet is bounded too, at twice the slots.
"""

import asyncio
import contextlib

#: Wait for half the slots, but no longer than this: batches stay full, and nobody waits for long.
GATHER_SECONDS = 0.02


class Slots:
    """Bounded concurrency for one worker."""

    def __init__(self, total: int) -> None:
        """All `total` slots are free."""
        self.total = total
        self._free = total
        self._unsettled = 0
        #: Of those that are taken, how many wait in the room (`room.py`): no more than half of all.
        self.waiting = 0
        self._changed: asyncio.Future[None] | None = None
        self._empty: asyncio.Future[None] | None = None

    @property
    def running(self) -> int:
        """Handlers under way."""
        return self.total - self._free

    @property
    def unsettled(self) -> int:
        """Messages taken and not yet settled."""
        return self._unsettled

    def take(self, count: int) -> None:
        """`count` messages were leased."""
        self._free -= count
        self._unsettled += count

    def finish(self) -> None:
        """One handler ended."""
        self._free += 1
        self._wake()

    def settle(self, count: int) -> None:
        """`count` messages are settled, or will never be."""
        self._unsettled -= count
        self._wake()
        if self._unsettled == 0 and self._empty is not None:
            self._empty.set_result(None)
            self._empty = None

    async def room(self) -> int:
        """Wait until it is worth fetching, and say how many."""
        while self._room() <= 0:
            await self._change()
        if not self._is_worth_it():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GATHER_SECONDS):
                    while not self._is_worth_it():
                        await self._change()
        return self._room()

    async def all_settled(self) -> None:
        """Wait until nothing is in flight."""
        while self._unsettled:
            if self._empty is None:
                self._empty = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._empty)

    def _is_worth_it(self) -> bool:
        """Half of the slots are free, not counting those in which messages only wait: they may do so for long."""
        return self._room() * 2 >= self.total - self.waiting

    def _room(self) -> int:
        return min(self._free, 2 * self.total - self._unsettled)

    def _wake(self) -> None:
        if self._changed is not None:
            if not self._changed.done():
                self._changed.set_result(None)
            self._changed = None

    async def _change(self) -> None:
        # Only the intake waits here, so one future is enough.
        self._changed = asyncio.get_running_loop().create_future()
        await self._changed
