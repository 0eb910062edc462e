"""The stash: copies that came while nobody had asked to lease them yet.

Waiting for work is a long poll, and a long poll brings the work. What it brings lies here, hidden in its queue, until
`lease` takes it a moment later; it counts as lent only then. What nobody takes within seconds (the work of another
queue came first, and there is no room for more) is put back for others. A poll is never broken off, because the copies
that it would bring would be nobody's until their visibility ends. Before: `broker.wait`. After: `receiving.py`.
"""

import asyncio
import contextlib
import logging
import math
import random
from collections.abc import Sequence

from tenure.adapters.aws.copy import Copy, Receipt, Spot
from tenure.adapters.aws.link import POLL_SECONDS
from tenure.adapters.aws.queues import BATCH, Queues
from tenure.clock import Clock, SystemClock
from tenure.errors import BrokerUnavailable, TenureError

logger = logging.getLogger("tenure.aws")

#: Where time is virtual a long poll would take real seconds: there is a pause between two looks, of at most so long.
#: It differs each time, because delays are whole seconds, and those in step with them would be the first for ever.
_LOOK_SECONDS = 0.5
#: What nobody took for so long is put back.
_FRESH_SECONDS = 2.0
#: No poll is shorter: whoever waits next waits for the same one, and each is paid for. Nor much longer, because `close`
#: waits for it.
_POLLED_SECONDS = 5.0
#: A lease call that has nothing else to ask waits so long: short enough to stop soon.
_GLANCE_SECONDS = 1.0
#: A poll may answer so much later than it was asked to.
_LATE_SECONDS = 2.0
#: So long after a poll that found nothing there is no need to look.
_KNOWN_SECONDS = 0.5


class Stash:
    """Copies by physical queue, and the polls under way."""

    def __init__(self, queues: Queues, clock: Clock) -> None:
        """Nothing is polled yet."""
        self._queues = queues
        self._clock = clock
        self._is_virtual = not isinstance(clock, SystemClock)
        self._copies: dict[Spot, list[Copy]] = {}
        self._returns: set[asyncio.Task[None]] = set()
        #: Until when a poll answers for its queue, and there is no need to ask it otherwise.
        self._answers_until: dict[Spot, float] = {}
        self._polls: dict[Spot, asyncio.Task[None]] = {}
        #: As the last lease call asked: how many, and hidden for how long.
        self.want, self.visibility = BATCH, 40

    @property
    def glance_seconds(self) -> float:
        """How long a lease call may wait at a queue: SQS then asks all of its servers, and not only some."""
        return 0.0 if self._is_virtual else _GLANCE_SECONDS

    def take(self, spot: Spot) -> list[Copy]:
        """The copies of one physical queue."""
        return self._copies.pop(spot, [])

    def is_polled(self, spot: Spot) -> bool:
        """Whether a poll is under way that will bring what there is, or has just found nothing."""
        return self._clock.monotonic() < self._answers_until.get(spot, 0.0)

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
                await asyncio.sleep(min(_LOOK_SECONDS * random.uniform(0.6, 1.0), left))  # noqa: S311 - no secret

    async def close(self) -> None:
        """Wait for the polls under way, and put everything back."""
        if self._polls:
            await asyncio.gather(*self._polls.values(), return_exceptions=True)
        if self._returns:
            for task in self._returns:
                task.cancel()
            await asyncio.gather(*self._returns, return_exceptions=True)
        copies = [copy for some in self._copies.values() for copy in some]
        self._copies.clear()
        await self._put_back(copies)

    async def _put_back(self, copies: Sequence[Copy]) -> None:
        with contextlib.suppress(TenureError):  # they come back by themselves
            await self._queues.hide([Receipt(copy.spot, copy.receipt) for copy in copies])

    async def _return(self, spot: Spot, copies: Sequence[Copy]) -> None:
        """Put back what is still here after a while."""
        await asyncio.sleep(_FRESH_SECONDS)
        here = self._copies.get(spot, [])
        left = [copy for copy in copies if copy in here]
        if left:
            self._copies[spot] = [copy for copy in here if copy not in left]
            await self._put_back(left)

    def _poll(self, spot: Spot, seconds: float) -> "asyncio.Task[None]":
        known = self._polls.get(spot)
        if known is not None:
            return known
        poll = self._polls[spot] = asyncio.ensure_future(self._receive(spot, seconds))
        poll.add_done_callback(lambda _: self._polls.pop(spot, None))
        return poll

    async def _receive(self, spot: Spot, seconds: float) -> None:
        wait = 0.0 if self._is_virtual else min(max(_POLLED_SECONDS, math.ceil(seconds)), POLL_SECONDS)
        self._answers_until[spot] = self._clock.monotonic() + wait + _LATE_SECONDS if wait else 0.0
        is_empty = False
        try:
            # The time until the first one comes is not to be taken from its visibility.
            copies = await self._queues.receive(spot, self.want, self.visibility + math.ceil(wait), wait)
            is_empty = bool(wait) and not copies
        finally:
            self._answers_until[spot] = self._clock.monotonic() + _KNOWN_SECONDS if is_empty else 0.0
        if copies:
            self._copies.setdefault(spot, []).extend(copies)
            task = asyncio.ensure_future(self._return(spot, copies))
            self._returns.add(task)
            task.add_done_callback(self._returns.discard)
