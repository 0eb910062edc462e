"""Noticing: reads the board once a second, so that what operators say reaches this worker.

Two things are told there. A paused queue: intake leases nothing more from it, and what runs goes on. The number of
leased messages that were ever cancelled: when it rises, one of ours may be among them, and the heartbeat asks at once
which leases still stand.

The worker takes the first reading itself, before its first lease; after that this runs beside the heartbeat, in the
rhythm of the liveness tick.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.notice import Notices, Pause
from tenure.runtime.backoff import Backoff
from tenure.runtime.sweeper import LIVENESS_SECONDS
from tenure.state import Board

logger = logging.getLogger("tenure.noticing")


class Noticing:
    """What this worker knows of the board."""

    def __init__(
        self, board: Board, clock: Clock, queues: Sequence[str], *,
        on_paused: Callable[[frozenset[str]], None], on_cancelled: Callable[[], None],
        every: float = LIVENESS_SECONDS,
    ) -> None:  # fmt: skip
        """Tell `on_paused` which of `queues` are paused, and `on_cancelled` when a leased message was cancelled."""
        self._board = board
        self._clock = clock
        self._queues = frozenset(queues)
        self._on_paused = on_paused
        self._on_cancelled = on_cancelled
        self._every = every
        self._paused: frozenset[str] = frozenset()
        #: None: nothing was read yet, and nothing is held that could have been cancelled.
        self._cancels: int | None = None

    async def run(self) -> None:
        """Look for ever."""
        backoff = Backoff(self._clock)
        while True:
            try:
                self.take(await self._board.read())
                backoff.succeeded(logger, "reading the board")
            except BrokerUnavailable as error:
                backoff.failed(logger, "reading the board", error)
            await asyncio.sleep(self._every)

    def take(self, notices: Notices) -> None:
        """Act on what changed since the last reading."""
        pauses = {pause.queue: pause for pause in notices.paused if pause.queue in self._queues}
        paused = frozenset(pauses)
        if paused != self._paused:
            self._tell(pauses)
            self._paused = paused
            self._on_paused(paused)
        # Not "risen": a store that was put back to an earlier state counts anew, and cancels in it count too.
        if self._cancels is not None and notices.cancels != self._cancels:
            self._on_cancelled()
        self._cancels = notices.cancels

    def _tell(self, pauses: dict[str, Pause]) -> None:
        for queue in sorted(pauses.keys() - self._paused):
            by = f" by {pauses[queue].by}" if pauses[queue].by else ""
            logger.warning("queue %s was paused%s: nothing is leased from it until it is resumed", queue, by)
        for queue in sorted(self._paused - pauses.keys()):
            logger.warning("queue %s was resumed", queue)
