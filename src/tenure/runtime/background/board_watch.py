"""Noticing: reads the board once a second, so that what operators say reaches this worker.

It says three things. Queues are paused: intake leases nothing more from them, and what runs goes on. Leased messages
were cancelled, by their number and the ids of the last ones: the heartbeat asks at once whether our leases on those
still stand. If more were cancelled than the board names, it asks about all of our leases. And somebody asks where the
handler of a message is now: `stacks/answers.py` answers if the message is ours.

The worker takes the first reading itself, before its first lease; after that this runs beside the heartbeat, in the
rhythm of the liveness tick.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.notice import Notices, Pause, Post, PostKind
from tenure.rules.queue_pattern import served_of
from tenure.runtime.backoff import Backoff
from tenure.runtime.sweeper import LIVENESS_SECONDS
from tenure.state import Board

logger = logging.getLogger("tenure.noticing")


class Noticing:
    """What this worker knows of the board."""

    def __init__(
        self, board: Board, clock: Clock, queues: Sequence[str], *,
        on_paused: Callable[[frozenset[str]], None], on_cancelled: Callable[[frozenset[str] | None], None],
        on_asked: Callable[[Sequence[Post]], None] = lambda _: None, every: float = LIVENESS_SECONDS,
    ) -> None:  # fmt: skip
        """Tell `on_paused` which queues are paused, and `on_cancelled` which leased messages were cancelled.

        `on_cancelled(None)`: any may have been. `on_asked` gets what is asked about running handlers, for as long as it
        is asked. Pauses are logged of `queues`, names and patterns.
        """
        self._board = board
        self._clock = clock
        #: What is served. Set from the worker's loop when that changes.
        self.queues = tuple(queues)
        self._on_paused = on_paused
        self._on_cancelled = on_cancelled
        self._on_asked = on_asked
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
        pauses = {pause.queue: pause for pause in notices.paused}
        paused = frozenset(pauses)
        if paused != self._paused:
            self._tell(pauses)
            self._paused = paused
            self._on_paused(paused)
        if self._cancels is not None and notices.cancels != self._cancels:
            # A store that was put back to an earlier state counts anew, and cancels in it count too.
            is_named = 0 < notices.cancels - self._cancels <= len(notices.cancelled)
            self._on_cancelled(frozenset(notices.cancelled) if is_named else None)
        self._cancels = notices.cancels
        if notices.posts:
            asked = [post for post in notices.posts if post.kind is PostKind.STACK]
            if asked:
                self._on_asked(asked)

    def _tell(self, pauses: dict[str, Pause]) -> None:
        for queue in sorted(served_of(pauses.keys() - self._paused, self.queues)):
            by = f" by {pauses[queue].by}" if pauses[queue].by else ""
            logger.warning("queue %s was paused%s: nothing is leased from it until it is resumed", queue, by)
        for queue in sorted(served_of(self._paused - pauses.keys(), self.queues)):
            logger.warning("queue %s was resumed", queue)
