"""The board watch: reads the board once a second, so that pauses, cancels and posts reach this worker.

The board has three things. Paused queues: intake leases nothing more from them, and running messages go on. Cancelled
leased messages, as a count and the ids of the last ones: the heartbeat checks at once whether our leases on those are
still valid; if more were cancelled than the board names, it checks all our leases. Posts: requests to workers, for a
stack (`stacks/answers.py`) or to leave.

The worker itself takes the first reading, before its first lease. After that this runs beside the heartbeat, as often
as the liveness tick.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.notice import Notices, Pause, Post
from tenure.rules.queue_pattern import served_of
from tenure.runtime.background.sweeper import LIVENESS_SECONDS
from tenure.runtime.outage import OutageBackoff
from tenure.state import Board

logger = logging.getLogger("tenure.noticing")


class BoardWatch:
    """The worker's view of the board."""

    def __init__(
        self,
        board: Board,
        clock: Clock,
        queues: Sequence[str],
        *,
        on_paused: Callable[[frozenset[str]], None],
        on_cancelled: Callable[[frozenset[str] | None], None],
        on_posts: Callable[[Sequence[Post]], None] = lambda _: None,
        on_read: Callable[[Sequence[Post]], None] = lambda _: None,
        every: float = LIVENESS_SECONDS,
    ) -> None:
        """Call `on_paused` with the paused queues, and `on_cancelled` with the cancelled leases.

        `on_cancelled(None)`: any may have been. `on_posts` gets the posts that stand, at each reading while there
        are some, and `on_read` at each reading. Pauses are logged of `queues`, names and patterns.
        """
        self._board = board
        self._clock = clock
        #: What is served. Set from the worker's loop when that changes.
        self.queues = tuple(queues)
        self._on_paused = on_paused
        self._on_cancelled = on_cancelled
        self._on_posts = on_posts
        self._on_read = on_read
        self._every = every
        self._paused: frozenset[str] = frozenset()
        #: None: nothing was read yet, and nothing is held that could have been cancelled.
        self._cancels: int | None = None

    async def run(self) -> None:
        """Read the board until cancelled."""
        backoff = OutageBackoff(self._clock)
        while True:
            try:
                self.take(await self._board.read())
                backoff.succeeded(logger, "reading the board")
            except BrokerUnavailable as error:
                backoff.failed(logger, "reading the board", error)
            await asyncio.sleep(self._every)

    def take(self, notices: Notices) -> None:
        """Act on what changed since the last reading."""
        pauses = {pause.queue: pause for pause in notices.paused}
        paused = frozenset(pauses)
        if paused != self._paused:
            self._tell(pauses)
            self._paused = paused
            self._on_paused(paused)
        if self._cancels is not None and notices.cancels != self._cancels:
            # A store that was restored to an earlier state starts counting from there, and cancels in it count too.
            is_named = 0 < notices.cancels - self._cancels <= len(notices.cancelled)
            self._on_cancelled(frozenset(notices.cancelled) if is_named else None)
        self._cancels = notices.cancels
        self._on_read(notices.posts)
        if notices.posts:
            self._on_posts(notices.posts)

    def _tell(self, pauses: dict[str, Pause]) -> None:
        for queue in sorted(served_of(pauses.keys() - self._paused, self.queues)):
            by = f" by {pauses[queue].by}" if pauses[queue].by else ""
            logger.warning("queue %s was paused%s: nothing is leased from it until it is resumed", queue, by)
        for queue in sorted(served_of(self._paused - pauses.keys(), self.queues)):
            logger.warning("queue %s was resumed", queue)
