"""A reading of the store that all viewers of a server share: one at a time, and only while somebody asks.

What was read is good for a while. If reading takes long, whoever asks after that gets what was read last once more, and
the next reading goes on meanwhile: on a store of a million messages nobody waits while they are counted. What nobody
has asked for lately is read anew first.

Used for snapshots, and for the list of queues.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from tenure.clock import Clock

T = TypeVar("T")

#: Looking takes at most one part in so many of the time.
SHARE = 10
#: From here on somebody would notice that they wait.
LONG_SECONDS = 0.025


class SharedReading(Generic[T]):
    """What one kind of reading answered last."""

    def __init__(self, read: Callable[[], Awaitable[T]], clock: Clock, least_seconds: float = 0.0) -> None:
        """`least_seconds`: for so long what was read is good, however short the reading was."""
        self._read = read
        self._clock = clock
        self._least_seconds = least_seconds
        self._reading: asyncio.Task[T] | None = None
        #: What was read last. None: nothing yet.
        self.newest: T | None = None
        self._good_until = self._usable_until = 0.0

    async def current(self) -> T:
        """What was read so lately that it is good. Raises what reading raises."""
        newest = self.newest
        if newest is not None and self._clock.monotonic() < self._good_until:
            return newest
        return await asyncio.shield(self._begin())  # whoever leaves does not end what the others wait for

    async def recent(self) -> T:
        """Likewise; or, where reading takes long, what was good a while ago. Then the next reading begins."""
        newest, now = self.newest, self._clock.monotonic()
        if newest is not None and self._good_until <= now < self._usable_until:
            self._begin()
            return newest
        return await self.current()

    def next_in(self) -> float:
        """Seconds until something newer can be had."""
        if self.newest is None:
            return 0.0
        least = LONG_SECONDS if self._reading is not None else 0.0
        return max(least, self._good_until - self._clock.monotonic())

    def _begin(self) -> "asyncio.Task[T]":
        if self._reading is None:
            self._reading = asyncio.create_task(self._look())
            self._reading.add_done_callback(self._forget_reading)
        return self._reading

    async def _look(self) -> T:
        began = self._clock.monotonic()
        found = await self._read()
        ended = self._clock.monotonic()
        took = ended - began
        pause = max(self._least_seconds, SHARE * took if took >= LONG_SECONDS else 0.0)
        self.newest = found
        self._good_until = began + pause
        self._usable_until = self._good_until + (pause if took >= LONG_SECONDS else 0.0)
        return found

    def _forget_reading(self, reading: "asyncio.Task[T]") -> None:
        self._reading = None
        if not reading.cancelled():
            reading.exception()  # whoever waits for it gets it
