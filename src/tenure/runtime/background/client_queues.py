"""Client queues: which queues of clients there are, for a worker that serves patterns and keeps a default quota.

A quota that holds for every client becomes a limit of each client's queue, and limits go by name. So the names are
read as often as the board is: a new client is limited within a second or so. Without a default quota nothing is read.

Tells `queue_limits.py`.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.rules.queue_pattern import is_pattern, served_of
from tenure.runtime.outage import OutageBackoff

logger = logging.getLogger("tenure.board")


class ClientQueues:
    """The queues that a worker serves, by name."""

    def __init__(
        self,
        broker: Broker,
        clock: Clock,
        queues: Sequence[str],
        *,
        every: float,
        on_names: Callable[[Sequence[str]], None],
    ) -> None:
        """`queues`: names and patterns that are served; `on_names` gets the names."""
        self._broker = broker
        self._clock = clock
        #: Set from the worker's loop when that changes.
        self.queues = tuple(queues)
        self._every = every
        self._on_names = on_names

    async def run(self) -> None:
        """Read the names until cancelled."""
        backoff = OutageBackoff(self._clock)
        while True:
            try:
                await self.look()
                backoff.succeeded(logger, "listing the queues of clients")
            except BrokerUnavailable as error:
                backoff.failed(logger, "listing the queues of clients", error)
            await asyncio.sleep(self._every)

    async def look(self) -> None:
        """Read the names, where a pattern is served."""
        self.take(await self._broker.queues() if any(map(is_pattern, self.queues)) else ())

    def take(self, queues: Sequence[str]) -> None:
        """Tell the names of those that are served, of all `queues` there are."""
        named = [queue for queue in self.queues if not is_pattern(queue)]
        patterns = [queue for queue in self.queues if is_pattern(queue)]
        self._on_names([*named, *(served_of(queues, patterns) if patterns else ())])
