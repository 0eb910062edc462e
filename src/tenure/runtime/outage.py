"""Waiting for a store that is away: growing pauses, and one log line for an outage.

All loops of a worker meet the same outage. The first to meet it logs a WARNING, the last to recover logs that it is
over. The other loops log at DEBUG, and never more than one line for each logger.
"""

import asyncio
import logging
import random
import threading
import weakref

from tenure.clock import Clock

_FIRST = 0.05
_MOST = 2.0

#: Those that are in trouble now. Loops of several threads look at it.
_IN_TROUBLE: "weakref.WeakSet[Backoff]" = weakref.WeakSet()
_LOCK = threading.Lock()
#: Another loop in the same outage: since when, its logger, and what the first line named.
_Other = tuple[float, logging.Logger | None, str]


class Backoff:
    """Pauses for one loop that talks to one party."""

    def __init__(self, clock: Clock) -> None:
        """All is well."""
        self._clock = clock
        #: When the trouble began, here or for another loop. None: there is none here.
        self._since: float | None = None
        self._logger: logging.Logger | None = None
        #: What the first line of the outage said does not work. The last line says the same.
        self._named = ""
        self._seconds = _FIRST

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
            self._seconds = _FIRST

    def gave_up(self) -> None:
        """Nobody waits here any more, and whether it works again is not known: nothing is logged."""
        with _LOCK:
            _IN_TROUBLE.discard(self)
        self._since = None

    def _others(self) -> list[_Other]:
        """Since when other loops with the same clock are in trouble. Another clock belongs to another worker."""
        return [
            (one._since, one._logger, one._named)  # noqa: SLF001 - of its own class
            for one in _IN_TROUBLE
            if one is not self and one._clock is self._clock and one._since is not None  # noqa: SLF001
        ]

    async def pause(self) -> None:
        """Wait a little longer each time."""
        await asyncio.sleep(self._seconds * random.uniform(0.5, 1.0))  # noqa: S311 - jitter, not a secret
        self._seconds = min(_MOST, self._seconds * 2)


def _say(others: list[_Other], logger: logging.Logger, level: int, text: str, *arguments: object) -> None:
    """`level` for the first and the last of an outage; one line of each other logger at DEBUG."""
    if any(other is logger for _, other, _ in others):
        return
    logger.log(logging.DEBUG if others else level, text, *arguments)
