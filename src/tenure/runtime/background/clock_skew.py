"""Skewing: says in the log when this machine's wall clock is too far from the store's, and when it is right again.

Looked at once a second, because a clock may be set at any time. What is too far is `rules/skew.py`. Runs beside the
heartbeat (`beside.py`); `Broker.check` gives the same finding to whoever asks.
"""

import asyncio
import logging
from collections.abc import Callable

from tenure.clock import Clock
from tenure.rules.skew import MOST_SKEW_SECONDS, find_skew

logger = logging.getLogger("tenure.clocks")


class Skewing:
    """Compares two wall clocks."""

    def __init__(self, subject: str, clock: Clock, wall: Callable[[], float], every: float) -> None:
        """`wall` is the store's."""
        self._subject = subject
        self._clock = clock
        self._wall = wall
        self._every = every
        self._is_told = False

    async def run(self) -> None:
        """Look for ever."""
        while True:
            self.look()
            await asyncio.sleep(self._every)

    def look(self) -> None:
        """Tell what changed since the last look."""
        own, store = self._clock.wall(), self._wall()
        found = find_skew(self._subject, own=own, store=store)
        if found and not self._is_told:
            self._is_told = True
            for one in found:
                logger.warning("%s: %s. %s [%s]", one.subject, one.evidence, one.remedy, one.id)
        elif self._is_told and abs(own - store) < MOST_SKEW_SECONDS / 2:  # not at the bound: it would be told for ever
            self._is_told = False
            logger.info("%s: this machine's wall clock agrees with the store's again", self._subject)
