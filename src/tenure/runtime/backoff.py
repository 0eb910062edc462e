"""Waiting for something that is away: growing pauses, and one clear log line a spell."""

import asyncio
import logging
import random

from tenure.clock import Clock

_FIRST = 0.05
_MOST = 2.0


class Backoff:
    """Pauses for one loop that talks to one party."""

    def __init__(self, clock: Clock) -> None:
        """All is well."""
        self._clock = clock
        self._since: float | None = None
        self._seconds = _FIRST

    def failed(self, logger: logging.Logger, what: str, error: Exception) -> None:
        """Note a failure; says so once a spell."""
        if self._since is None:
            self._since = self._clock.monotonic()
            logger.warning("%s: %s; trying again until it works", what, error)

    def succeeded(self, logger: logging.Logger, what: str) -> None:
        """Note a success; says so after a spell of failures."""
        if self._since is not None:
            logger.warning("%s works again after %.1f s", what, self._clock.monotonic() - self._since)
            self._since = None
            self._seconds = _FIRST

    async def pause(self) -> None:
        """Wait a little longer each time."""
        await asyncio.sleep(self._seconds * random.uniform(0.5, 1.0))  # noqa: S311 - jitter, not a secret
        self._seconds = min(_MOST, self._seconds * 2)
