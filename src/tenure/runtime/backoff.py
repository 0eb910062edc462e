"""Waiting for something that is away: growing pauses, and one clear log line a spell.

The loops of a worker all meet the same outage. The first to meet it says so, the last to get over it says that it is
over; what the others have to say is for those who look closer.
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


class Backoff:
    """Pauses for one loop that talks to one party."""

    def __init__(self, clock: Clock) -> None:
        """All is well."""
        self._clock = clock
        #: When the trouble began, here or for another loop. None: there is none here.
        self._since: float | None = None
        self._seconds = _FIRST

    def failed(self, logger: logging.Logger, what: str, error: Exception, level: int = logging.WARNING) -> None:
        """Note a failure; says so once a spell."""
        if self._since is None:
            now = self._clock.monotonic()
            with _LOCK:
                others = self._others()
                self._since = min([now, *others])
                _IN_TROUBLE.add(self)
            level = logging.DEBUG if others else level
            logger.log(level, "%s: %s; trying again until it works", what, error)

    def succeeded(self, logger: logging.Logger, what: str) -> None:
        """Note a success; says so after a spell of failures."""
        if self._since is not None:
            with _LOCK:
                _IN_TROUBLE.discard(self)
                level = logging.DEBUG if self._others() else logging.WARNING
            logger.log(level, "%s works again after %.1f s", what, self._clock.monotonic() - self._since)
            self._since = None
            self._seconds = _FIRST

    def _others(self) -> list[float]:
        """Since when others are in trouble, by the same clock: with another one they are no part of this worker."""
        return [
            one._since  # noqa: SLF001 - of its own class
            for one in _IN_TROUBLE
            if one is not self and one._clock is self._clock and one._since is not None  # noqa: SLF001
        ]

    async def pause(self) -> None:
        """Wait a little longer each time."""
        await asyncio.sleep(self._seconds * random.uniform(0.5, 1.0))  # noqa: S311 - jitter, not a secret
        self._seconds = min(_MOST, self._seconds * 2)
