"""The gate of each host: one slow receiver must not take every slot.

At most `PER_HOST` requests to one host run at once in a process. The next one waits within its slot only if a place is
free soon, judged by how long requests to this host take and whether any ends; else its delivery goes back, and another
host gets the slot. So a host that does not answer holds a quarter of the slots (`runtime/deliveries.py`).
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tenure.clock import Clock

PER_HOST = 16
#: A delivery waits in its slot for at most this long.
MOST_WAIT_SECONDS = 0.2
_LEAST_BACK_SECONDS, _MOST_BACK_SECONDS = 1.0, 60.0
#: Weight of the newest request in the average.
_NEWEST = 0.2
#: The averages of so many hosts are kept.
_MOST_HOSTS = 1_024


class Crowded(Exception):
    """The host is busy; come back in `after` seconds."""

    def __init__(self, after: float) -> None:
        """Say when."""
        super().__init__(f"busy for {after:.1f} s")
        self.after = after


class _Host:
    """One host: how many requests run, who waits, and how long they take."""

    __slots__ = ("average", "moved", "running", "waiting")

    def __init__(self) -> None:
        self.running = 0
        #: When a request last began or ended.
        self.moved = 0.0
        self.waiting: deque[asyncio.Future[None]] = deque()
        #: Seconds. 0.0: not known.
        self.average = 0.0


class HostGate:
    """Counts the requests to each host."""

    def __init__(self, clock: Clock, limit: int = PER_HOST) -> None:
        """At most `limit` at once to one host."""
        self._clock = clock
        self._limit = limit
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    @asynccontextmanager
    async def enter(self, host: str) -> AsyncGenerator[None]:
        """Hold a place at this host. Raises `Crowded`."""
        one = self._host(host)
        if one.running >= self._limit:
            await self._wait(one)
        else:
            one.running += 1
        one.moved = began = self._clock.monotonic()
        try:
            yield
        finally:
            one.moved = self._clock.monotonic()
            took = one.moved - began
            one.average = took if one.average == 0.0 else one.average + _NEWEST * (took - one.average)
            self._leave(one)

    async def _wait(self, one: _Host) -> None:
        # Requests that do not end say more than the average, which only knows those that did.
        stalled = self._clock.monotonic() - one.moved
        expected = max(one.average * (len(one.waiting) + 1) / self._limit, stalled)
        if expected > MOST_WAIT_SECONDS or len(one.waiting) >= self._limit * 4:
            raise Crowded(_back(expected))
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        one.waiting.append(place)
        try:
            async with asyncio.timeout(MOST_WAIT_SECONDS):
                await place
        except TimeoutError:
            if place.done() and not place.cancelled():
                return  # handed over at the last moment
            raise Crowded(_back(max(expected, MOST_WAIT_SECONDS))) from None
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave(one)
            raise
        finally:
            if place in one.waiting:
                one.waiting.remove(place)

    def _leave(self, one: _Host) -> None:
        """Hand the place to who waits longest, or give it up."""
        while one.waiting:
            place = one.waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
        one.running -= 1

    def _host(self, host: str) -> _Host:
        one = self._hosts.get(host)
        if one is None:
            one = self._hosts[host] = _Host()
            idle = [name for name, other in self._hosts.items() if not other.running and other is not one]
            for name in idle[: max(0, len(self._hosts) - _MOST_HOSTS)]:
                del self._hosts[name]
        self._hosts.move_to_end(host)
        return one


def _back(expected: float) -> float:
    return min(_MOST_BACK_SECONDS, max(_LEAST_BACK_SECONDS, expected))
