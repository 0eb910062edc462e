"""Clock skew: logs when this machine's wall clock differs too much from the store's, and when it is right again.

Checked once a second, because a clock may be set at any time. `rules/skew.py` says how much is too much. Runs beside
the heartbeat (`background.py`); `Broker.check` gives the same finding on request.
"""

import asyncio
import logging
from collections.abc import Callable

from tenure.clock import Clock
from tenure.rules.skew import MOST_SKEW_SECONDS, find_skew

logger = logging.getLogger("tenure.clocks")


class ClockSkewWatch:
    """Compares two wall clocks."""

    def __init__(self, subject: str, clock: Clock, wall: Callable[[], float], every: float) -> None:
        """`wall` is the store's."""
        self._subject = subject
        self._clock = clock
        self._wall = wall
        self._every = every
        self._is_told = False

    async def run(self) -> None:
        """Check the clock until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(self._every)

    def look(self) -> None:
        """Log what changed since the last look."""
        own, store = self._clock.wall(), self._wall()
        found = find_skew(self._subject, own=own, store=store)
        if found and not self._is_told:
            self._is_told = True
            for one in found:
                logger.warning("%s: %s. %s [%s]", one.subject, one.evidence, one.remedy, one.id)
        elif self._is_told and abs(own - store) < MOST_SKEW_SECONDS / 2:  # not at the bound: that would log for ever
            self._is_told = False
            logger.info("%s: this machine's wall clock agrees with the store's again", self._subject)
