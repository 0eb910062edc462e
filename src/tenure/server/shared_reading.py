"""A reading of the store that all viewers of a server share: one at a time, and only on request.

What was read is good for a while. A request after that begins the next reading and waits for it for 25 ms at most; if
the reading takes longer, the request gets what was read last, and the reading goes on. So on a store of a million
messages, or on a busy machine, no request waits while messages are counted. Only the first request, and one that comes
after a pause without requests, wait for the whole reading.

Used for snapshots, and for the list of queues.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from tenure.clock import Clock

T = TypeVar("T")

#: Looking takes at most one part in this many of the time.
SHARE = 10
#: From here on a person would notice the wait: no request waits longer for a reading while there is an older one.
LONG_SECONDS = 0.025
#: For this long after it was good, what was read is still shown while the next reading goes on. Longer where reading
#: is.
STALE_SECONDS = 2.0


class SharedReading(Generic[T]):
    """One kind of reading, and its last answer, shared by all who ask."""

    def __init__(self, read: Callable[[], Awaitable[T]], clock: Clock, least_seconds: float = 0.0) -> None:
        """`least_seconds`: for so long what was read is good, however short the reading was."""
        self._read = read
        self._clock = clock
        self._least_seconds = least_seconds
        self._reading: asyncio.Task[T] | None = None
        #: What was read last. None: nothing yet.
        self.newest: T | None = None
        #: How long the last reading took. None: there was none.
        self.took_seconds: float | None = None
        self._good_until = self._usable_until = 0.0
        #: The last reading took so long that it is not worth to wait for the next one.
        self._takes_long = False

    async def current(self) -> T:
        """The last reading, if it is recent enough. Raises what reading raises."""
        newest = self.newest
        if newest is not None and self._clock.monotonic() < self._good_until:
            return newest
        return await asyncio.shield(self._begin())  # a caller that leaves does not end it for the others

    async def recent(self) -> T:
        """Likewise; or, where reading takes long, what was good a while ago. Then the next reading goes on."""
        newest, now = self.newest, self._clock.monotonic()
        if newest is None or not self._good_until <= now < self._usable_until:
            return await self.current()
        reading = self._begin()
        if not self._takes_long:
            await asyncio.wait((reading,), timeout=LONG_SECONDS)
        return reading.result() if reading.done() else newest

    def outdate(self) -> None:
        """Mark what was read as outdated, because something was changed here. Later callers get a new reading."""
        self._good_until = self._usable_until = 0.0
        self._reading = None  # one that goes on may have looked before; who waits for it asked before, too

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
        if self._reading is asyncio.current_task():
            self._keep(found, began, ended)
        return found

    def _keep(self, found: T, began: float, ended: float) -> None:
        took = self.took_seconds = ended - began
        self._takes_long = took >= LONG_SECONDS
        pause = max(self._least_seconds, SHARE * took if self._takes_long else 0.0)
        self.newest = found
        self._good_until = began + pause
        self._usable_until = max(ended, self._good_until) + max(pause, STALE_SECONDS)

    def _forget_reading(self, reading: "asyncio.Task[T]") -> None:
        if self._reading is reading:
            self._reading = None
        if not reading.cancelled():
            reading.exception()  # the waiting callers get it
