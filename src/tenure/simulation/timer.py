"""The timer of the queue: a lease that ended unseen brings its message back, as a visibility timeout does.

The in-memory broker returns what is overdue when it is swept. Here one sweeper does that for all workers, whenever a
lease could have ended and at most once a second, which is how exactly SQS counts. Called by `billing.py`.
"""

import asyncio
import contextlib
import heapq
import math

from tenure.runtime.background.sweeper import Sweeper
from tenure.testing.virtual import VirtualClock

_STEP_SECONDS = 1.0
#: A lease is over when its moment has passed.
_PAST = 1e-3


class Timer:
    """Moments at which leases may end."""

    def __init__(self, clock: VirtualClock) -> None:
        """Take the clock; begin with no moments."""
        self._clock = clock
        self._moments: list[float] = []
        self._sooner = asyncio.Event()
        self._looks_at = math.inf

    def expect(self, moment: float) -> None:
        """Some lease ends then, unless it is renewed or settled before."""
        heapq.heappush(self._moments, moment)
        if moment < self._looks_at:
            self._sooner.set()

    async def run(self, sweeper: Sweeper) -> None:
        """Sweep when there may be something to return, for ever."""
        while True:
            await asyncio.sleep(_STEP_SECONDS)
            await self._until_next()
            while self._moments and self._moments[0] < self._clock.now:
                heapq.heappop(self._moments)
            await sweeper.sweep()

    async def _until_next(self) -> None:
        """Until the first lease that may end has ended; of those lent meanwhile some may end before."""
        while True:
            self._sooner.clear()
            self._looks_at = self._moments[0] + _PAST if self._moments else math.inf
            if self._looks_at <= self._clock.now:
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(None if self._looks_at == math.inf else self._looks_at):
                    await self._sooner.wait()
