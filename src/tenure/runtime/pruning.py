"""Pruning: the journal forgets what is old, so that it does not grow for ever. Runs beside the heartbeat."""

import asyncio
import logging

from tenure.errors import BrokerError
from tenure.state import Journal

logger = logging.getLogger("tenure.pruning")

#: How often to look. Often enough that one look has little to do.
PRUNE_SECONDS = 600.0


class Pruner:
    """Keeps one journal to its window."""

    def __init__(self, journal: Journal, keep_seconds: float) -> None:
        """Keep events for `keep_seconds`."""
        self._journal = journal
        self._keep_seconds = keep_seconds

    async def run(self) -> None:
        """Prune for ever."""
        while True:
            await asyncio.sleep(PRUNE_SECONDS)
            try:
                gone = await self._journal.prune(self._keep_seconds)
            except BrokerError as error:
                logger.warning("the journal was not pruned, next time then: %s", error)
            else:
                logger.debug("%d old events forgotten", gone)
