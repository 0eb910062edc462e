"""Waits while a store is away: growing pauses, and one log line for each outage.

All loops of a worker meet the same outage. The first one to meet it logs a WARNING, and the last one to recover logs
that it is over. The other loops log at DEBUG, at most one line for each logger.
"""

import asyncio
import logging
import random
import threading
import weakref

from tenure.clock import Clock
from tenure.retry import RetryPolicy

#: Half to all of 50 ms at first, then twice as long each time.
_PAUSES = RetryPolicy(first_delay_seconds=0.05, max_delay_seconds=2.0)

#: Those that are in trouble now. Loops of several threads look at it.
_IN_TROUBLE: "weakref.WeakSet[OutageBackoff]" = weakref.WeakSet()
_LOCK = threading.Lock()
#: Another loop in the same outage: since when, its logger, and what the first line named.
_Other = tuple[float, logging.Logger | None, str]


def is_away(clock: Clock) -> bool:
    """Whether a loop with this clock waits now for its store."""
    with _LOCK:
        return any(one._clock is clock and one._since is not None for one in _IN_TROUBLE)  # noqa: SLF001 - of this file


class OutageBackoff:
    """Pauses for one loop that calls one store."""

    def __init__(self, clock: Clock) -> None:
        """Start without an outage."""
        self._clock = clock
        #: When the outage began, here or for another loop. None: no outage here.
        self._since: float | None = None
        self._logger: logging.Logger | None = None
        #: What the first line of the outage said does not work. The last line says the same.
        self._named = ""
        #: Pauses since it last worked.
        self._pauses = 0

    def failed(self, logger: logging.Logger, what: str, error: Exception, level: int = logging.WARNING) -> None:
        """Note a failure; logged once an outage."""
        if self._since is None:
            now = self._clock.monotonic()
            with _LOCK:
                others = self._others()
                self._since = min([now, *(since for since, *_ in others)])
                self._logger = logger
                self._named = others[0][2] if others else what
                _IN_TROUBLE.add(self)
            _say(others, logger, level, "%s: %s; trying again until it works", what, error)

    def succeeded(self, logger: logging.Logger, what: str) -> None:
        """Note a success; logged after an outage."""
        if self._since is not None:
            with _LOCK:
                _IN_TROUBLE.discard(self)
                others = self._others()
            _say(
                others,
                logger,
                logging.WARNING,
                "%s works again after %.1f s",
                what if others else self._named,
                self._clock.monotonic() - self._since,
            )
            self._since = None
            self._pauses = 0

    def gave_up(self) -> None:
        """Stop waiting before it is known whether the store works again. Nothing is logged."""
        with _LOCK:
            _IN_TROUBLE.discard(self)
        self._since = None

    def _others(self) -> list[_Other]:
        """When other loops with the same clock met the outage. Another clock belongs to another worker."""
        return [
            (one._since, one._logger, one._named)  # noqa: SLF001 - of its own class
            for one in _IN_TROUBLE
            if one is not self and one._clock is self._clock and one._since is not None  # noqa: SLF001
        ]

    async def pause(self) -> None:
        """Wait, a little longer each time."""
        self._pauses += 1
        await asyncio.sleep(_PAUSES.delay_seconds(self._pauses, random.random))


def _say(others: list[_Other], logger: logging.Logger, level: int, text: str, *arguments: object) -> None:
    """`level` for the first and the last of an outage; one line of each other logger at DEBUG."""
    if any(other is logger for _, other, _ in others):
        return
    logger.log(logging.DEBUG if others else level, text, *arguments)
