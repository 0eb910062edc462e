"""Tallying: stores what this worker counted every few seconds, so that the counts of all workers can be summed.

A row gets its bucket by the store's time when it is first written, and keeps it when the write is repeated: the repeat
replaces the row and counts nothing twice. Nothing is stored when nothing was counted. While the journal is away a
bounded number of rows wait; beyond that everything is added up into one row.

Before: `statistics.py`. After: `rollup.py` makes minutes and hours of the rows, `client/tallies.py` reads them.
"""

import asyncio
import logging
from collections.abc import Callable

from tenure.errors import BrokerError
from tenure.runtime.background.statistics import Statistics
from tenure.state import Journal
from tenure.tally import TEN_SECONDS, Tally
from tenure.timing import tallied
from tenure.timing.tallied import Sum

logger = logging.getLogger("tenure.tallying")

#: This many rows wait while the journal is away: five minutes of them, where they are stored every 5 s.
MOST_WAITING = 60
#: This many are stored in one call.
_AT_ONCE = 20


class Tallying:
    """Stores the figures of one worker."""

    def __init__(
        self,
        statistics: Statistics,
        journal: Journal,
        wall: Callable[[], float],
        *,
        nonce: str,
        every_seconds: float,
    ) -> None:
        """Store under `nonce`, which no other process has; `wall` is the store's time."""
        self._statistics = statistics
        self._journal = journal
        self._wall = wall
        self._nonce = nonce
        self._every = every_seconds
        self._number = 0
        #: Rows that have their bucket and are not known to be stored.
        self._waiting: list[Tally] = []
        #: What is counted and not a row yet.
        self._change = Sum()

    async def run(self) -> None:
        """Store what changed, every few seconds."""
        while True:
            await asyncio.sleep(self._every)
            try:
                await self.flush()
            except BrokerError as error:
                logger.debug("statistics were not stored; the next try is in %g s: %s", self._every, error)

    async def flush(self) -> None:
        """Store the counts so far. Raises what the journal raises; then nothing is lost, and it is tried again."""
        self._change.add(self._statistics.take())
        if self._change.series and len(self._waiting) < MOST_WAITING:
            change, self._change = self._change, Sum()
            bucket = int(self._wall() // TEN_SECONDS) * TEN_SECONDS
            for data in tallied.encode(change.series.values()):
                self._waiting.append(Tally(TEN_SECONDS, bucket, self._nonce, self._number, data))
                self._number += 1
        while self._waiting:
            some = self._waiting[:_AT_ONCE]
            await self._journal.tally(some)
            del self._waiting[: len(some)]

    async def close(self) -> None:
        """Store the last figures, if the journal is there."""
        try:
            await self.flush()
        except BrokerError as error:
            logger.warning("the figures of the last seconds were not stored: %s", error)
