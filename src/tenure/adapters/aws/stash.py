"""The stash: copies that came while nobody had asked to lease them yet.

Waiting for work is a long poll, and a long poll brings the work. What it brings lies here, hidden in its queue, until
`lease` takes it a moment later; it counts as lent only then. A poll is never broken off, because the copies that it
would bring would be nobody's until their visibility ends. Before: `broker.wait`. After: `lending.py`.
"""

import asyncio
import contextlib
import itertools
import logging
import math
from collections.abc import Sequence

from tenure.adapters.aws.queues import BATCH, Copy, Queues, Receipt, Spot
from tenure.clock import Clock, SystemClock
from tenure.errors import BrokerUnavailable, TenureError

logger = logging.getLogger("tenure.aws")

#: The pauses between two looks where time is virtual, and a long poll would take real seconds. Not the same for
#: everybody, or the first would be the first for ever.
_LOOK_SECONDS = itertools.cycle((0.5, 0.43, 0.47, 0.41, 0.37))
#: What lies here for longer is left to its queue.
_FRESH_SECONDS = 5.0


class Stash:
    """Copies by physical queue, and the polls under way."""

    def __init__(self, queues: Queues, clock: Clock) -> None:
        """Nothing is polled yet."""
        self._queues = queues
        self._clock = clock
        self._is_virtual = not isinstance(clock, SystemClock)
        self._copies: dict[Spot, list[tuple[float, Copy]]] = {}
        self._polls: dict[Spot, asyncio.Task[None]] = {}
        self._look_seconds = next(_LOOK_SECONDS)
        #: As the last lease call asked: how many, and hidden for how long.
        self.want, self.visibility = BATCH, 40

    def take(self, spot: Spot) -> list[Copy]:
        """The copies of one physical queue that are still safely hidden."""
        oldest = self._clock.monotonic() - _FRESH_SECONDS
        return [copy for at, copy in self._copies.pop(spot, []) if at >= oldest]

    async def wait(self, spots: Sequence[Spot], seconds: float) -> None:
        """Return when something came, or after `seconds`."""
        until = self._clock.monotonic() + seconds
        while not any(self._copies.get(spot) for spot in spots):
            left = until - self._clock.monotonic()
            if left <= 0:
                return
            polls = [self._poll(spot, left) for spot in spots]
            await asyncio.wait(
                polls, timeout=left if not self._is_virtual else None, return_when=asyncio.FIRST_COMPLETED
            )
            for poll in polls:
                if poll.done() and poll.exception() is not None:
                    raise poll.exception() or BrokerUnavailable("")
            if self._is_virtual and not any(self._copies.get(spot) for spot in spots):
                await asyncio.sleep(min(self._look_seconds, left))

    async def close(self) -> None:
        """Wait for the polls under way, and put everything back."""
        if self._polls:
            await asyncio.gather(*self._polls.values(), return_exceptions=True)
        receipts = [Receipt(copy.spot, copy.receipt) for some in self._copies.values() for _, copy in some]
        self._copies.clear()
        with contextlib.suppress(TenureError):  # they come back by themselves
            await self._queues.hide(receipts)

    def _poll(self, spot: Spot, seconds: float) -> "asyncio.Task[None]":
        known = self._polls.get(spot)
        if known is not None:
            return known
        poll = self._polls[spot] = asyncio.ensure_future(self._receive(spot, seconds))
        poll.add_done_callback(lambda _: self._polls.pop(spot, None))
        return poll

    async def _receive(self, spot: Spot, seconds: float) -> None:
        wait = 0.0 if self._is_virtual else max(1.0, seconds)
        # The time until the first one comes is not to be taken from its visibility.
        copies = await self._queues.receive(spot, self.want, self.visibility + math.ceil(wait), wait)
        now = self._clock.monotonic()
        if copies:
            self._copies.setdefault(spot, []).extend((now, copy) for copy in copies)
