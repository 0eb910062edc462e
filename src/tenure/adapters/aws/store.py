"""The store: one delivery queue, one table, and what stands on them; shared by a broker and its state.

Opened by whichever is opened first, closed by whichever is closed last. A twin has connections of its own, for another
event loop; what this process was lent (`Lent`) all twins share.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Coroutine
from typing import Any, TypeVar

from tenure.adapters.aws.acts import AwsActLog
from tenure.adapters.aws.board import AwsBoard
from tenure.adapters.aws.desk import Desk
from tenure.adapters.aws.journal import AwsJournal
from tenure.adapters.aws.key_values import AwsKeyValues
from tenure.adapters.aws.ledger import AwsLedger
from tenure.adapters.aws.lent import Lent
from tenure.adapters.aws.listing import Names
from tenure.adapters.aws.records import AwsRecords
from tenure.adapters.aws.roster import AwsRoster
from tenure.adapters.aws.settings import Settings
from tenure.adapters.aws.stash import Stash
from tenure.adapters.aws.traits import MIN_LEASE, longest_lease
from tenure.clock import Clock
from tenure.delivery_queue import DeliveryQueue, PhysicalQueue
from tenure.table import Table

T = TypeVar("T")

#: Makes the queue and the table of one store; both belong to one event loop.
Connect = Callable[[], tuple[DeliveryQueue, Table]]


class Store:
    """Everything a broker and its state share."""

    def __init__(self, connect: Connect, clock: Clock, settings: Settings, lent: Lent | None = None) -> None:
        """Nothing is opened yet."""
        self.clock = clock
        self.settings = settings
        self.queue, self.table = connect()
        self.lent = Lent() if lent is None else lent
        self.desk = Desk(self.table, clock, settings.keep_seconds, self.lent.wrote)
        #: The queues there are, and those of them that have dead letters.
        self.names = Names(self.desk, "queues", self.lent.noted["queues"])
        self.shelves = Names(self.desk, "shelves", self.lent.noted["shelves"])
        #: The list of queues as it was last read for patterns, and when; and when it was last tidied (`queue_list.py`).
        self.served: set[str] = set()
        self.served_at = self.tidied_at = float("-inf")
        self.roster = AwsRoster(self.desk)
        self.ledger = AwsLedger(self.desk, self.roster, self.lent)
        self.records = AwsRecords(self.desk)
        self.journal = AwsJournal(self.desk)
        self.board = AwsBoard(self.desk)
        self.acts = AwsActLog(self.desk)
        self.key_values = AwsKeyValues(self.desk)
        self.stash = Stash(self.queue, clock)
        #: Messages whose copy is known to lie in its queue; the last so many.
        self.confirmed: dict[str, None] = {}
        self.rotation = 0
        #: The physical queues of a worker on many, as they were last worked out (`receiving.py`).
        self.many: tuple[list[str], dict[PhysicalQueue, None]] | None = None
        #: How often each queue was asked; fairness counts by it.
        self.turns: dict[str, int] = {}
        #: When owners listed themselves.
        self.listed: dict[str, float] = {}
        self._connect = connect
        self._opened = 0
        self._acts: set[asyncio.Task[Any]] = set()

    def twin(self) -> "Store":
        """For another event loop."""
        return Store(self._connect, self.clock, self.settings, self.lent)

    async def open(self) -> None:
        """Connect, once."""
        self._opened += 1
        if self._opened == 1:
            try:
                await self.queue.open()
                await self.table.open()
            except BaseException:
                self._opened = 0
                await self.queue.close()
                raise

    async def close(self) -> None:
        """Finish what is under way, and let go, once."""
        if self._opened == 0:
            return
        self._opened -= 1
        if self._opened == 0:
            if self._acts:
                await asyncio.gather(*self._acts, return_exceptions=True)
            self.lent.hearers.pop(id(self), None)
            await self.stash.close()
            await self.table.close()
            await self.queue.close()

    def clamped(self, seconds: float) -> float:
        """As long as a lease may be."""
        return min(max(seconds, MIN_LEASE), longest_lease(self.settings, self.queue.traits))

    def heard(self, physicals: Collection[PhysicalQueue], delay: float = 0.0) -> None:
        """Copies were put into these, to be seen after `delay` seconds: whoever waits in this process is told."""
        self.stash.heard(physicals, delay)
        if self.lent.hearers:
            for number, tell in list(self.lent.hearers.items()):
                if number != id(self):
                    tell(physicals, delay)

    def listen(self) -> None:
        """From now on be told what twins put into queues."""
        if id(self) in self.lent.hearers:
            return
        loop = asyncio.get_running_loop()

        def tell(physicals: Collection[PhysicalQueue], delay: float) -> None:
            with contextlib.suppress(RuntimeError):  # its loop has ended meanwhile, and nobody waits there
                loop.call_soon_threadsafe(self._hear, physicals, delay)

        self.lent.hearers[id(self)] = tell

    def _hear(self, physicals: Collection[PhysicalQueue], delay: float) -> None:
        self.served.update(physical.queue for physical in physicals)
        self.stash.heard(physicals, delay)

    async def act(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something that takes several calls, to its end even if whoever asked goes away meanwhile."""
        task = asyncio.ensure_future(work)
        self._acts.add(task)
        task.add_done_callback(self._acted)
        return await asyncio.shield(task)

    def _acted(self, task: "asyncio.Task[Any]") -> None:
        self._acts.discard(task)
        if not task.cancelled():
            task.exception()  # whoever asked has gone; nobody else is to be told
