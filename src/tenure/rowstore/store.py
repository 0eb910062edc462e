"""The store: one delivery queue, one table, and what stands on them; shared by a broker and its state.

Opened by whichever is opened first, closed by whichever is closed last. A twin has connections of its own, for another
event loop; what this process was lent (`ProcessMemory`) all twins share.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any, TypeVar

from tenure.clock import Clock
from tenure.delivery_queue import DeliveryQueue, EventLog, PhysicalQueue
from tenure.errors import StoreMissing
from tenure.rowstore.act_log import RowStoreActLog
from tenure.rowstore.board import RowStoreBoard
from tenure.rowstore.journal import RowStoreJournal
from tenure.rowstore.key_values import RowStoreKeyValues
from tenure.rowstore.ledger import RowStoreLedger
from tenure.rowstore.name_list import NameList
from tenure.rowstore.prefetch import Prefetch
from tenure.rowstore.process_memory import ProcessMemory
from tenure.rowstore.records import RowStoreRecords
from tenure.rowstore.roster import RowStoreRoster
from tenure.rowstore.row_changes import RowChanges
from tenure.rowstore.settings import Settings
from tenure.rowstore.traits import MIN_LEASE, longest_lease
from tenure.table import Table

T = TypeVar("T")

#: Thirty years.
_FOR_EVER = 1e9

#: Makes the queue and the table of one store; both belong to one event loop.
Connect = Callable[[], tuple[DeliveryQueue, Table]]
#: Looks at a table that was just opened (None: it is not there); raises where nothing must work with it.
Check = Callable[[RowChanges | None], Awaitable[None]]


class Store:
    """Everything a broker and its state share."""

    def __init__(
        self,
        connect: Connect,
        clock: Clock,
        settings: Settings,
        memory: ProcessMemory | None = None,
        *,
        check: Check | None = None,
    ) -> None:
        """Nothing is opened yet."""
        self.clock = clock
        self.settings = settings
        self.queue, self.table = connect()
        self.memory = ProcessMemory() if memory is None else memory
        self.rows = RowChanges(self.table, clock, settings.keep_seconds, self.memory.wrote)
        #: The queues there are, and those of them that have dead letters.
        self.names = NameList(self.rows, "queues", self.memory.noted["queues"])
        self.dead_letter_queues = NameList(self.rows, "shelves", self.memory.noted["shelves"])
        #: The list of queues as it was last read for patterns, and when; and when it was last tidied (`queue_list.py`).
        self.served: set[str] = set()
        self.served_at = self.tidied_at = float("-inf")
        #: When it was last asked whether an owner is banned.
        self.asked_ban_at = float("-inf")
        self.roster = RowStoreRoster(self.rows)
        self.ledger = RowStoreLedger(self.rows, self.roster, self.memory)
        self.records = RowStoreRecords(self.rows)
        self.journal = RowStoreJournal(self.rows, self.queue if isinstance(self.queue, EventLog) else None)
        self.board = RowStoreBoard(self.rows)
        self.acts = RowStoreActLog(self.rows)
        self.key_values = RowStoreKeyValues(self.rows)
        self.prefetch = Prefetch(self.queue, clock)
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
        self._check = check
        self._opened = 0
        self._acts: set[asyncio.Task[Any]] = set()

    def twin(self) -> "Store":
        """For another event loop."""
        return Store(self._connect, self.clock, self.settings, self.memory, check=self._check)

    async def open(self) -> None:
        """Connect, once."""
        self._opened += 1
        if self._opened == 1:
            try:
                await self.queue.open()
                await self.table.open()
            except BaseException as error:
                self._opened = 0
                await self.queue.close()
                if isinstance(error, StoreMissing) and self._check is not None:
                    await self._check(None)
                raise
            if self._check is not None:
                try:
                    await self._check(self.rows)
                except BaseException:
                    await self.close()
                    raise

    async def close(self) -> None:
        """Finish what is under way, and let go, once."""
        if self._opened == 0:
            return
        self._opened -= 1
        if self._opened == 0:
            if self._acts:
                await asyncio.gather(*self._acts, return_exceptions=True)
            self.memory.hearers.pop(id(self), None)
            await self.prefetch.close()
            await self.table.close()
            await self.queue.close()

    def clamped(self, seconds: float) -> float:
        """As long as a lease may be."""
        return min(max(seconds, MIN_LEASE), longest_lease(self.settings, self.queue.traits))

    @property
    def hold_seconds(self) -> float:
        """How long one delivery may be held; for ever is a long time."""
        return _FOR_EVER if self.settings.hold_seconds is None else self.settings.hold_seconds

    def heard(self, physicals: Collection[PhysicalQueue], delay: float = 0.0) -> None:
        """Copies were put into these, to be seen after `delay` seconds: whoever waits in this process is told."""
        self.prefetch.heard(physicals, delay)
        if self.memory.hearers:
            for number, tell in list(self.memory.hearers.items()):
                if number != id(self):
                    tell(physicals, delay)

    def listen(self) -> None:
        """From now on be told what twins put into queues."""
        if id(self) in self.memory.hearers:
            return
        loop = asyncio.get_running_loop()

        def tell(physicals: Collection[PhysicalQueue], delay: float) -> None:
            with contextlib.suppress(RuntimeError):  # its loop has ended meanwhile, and nobody waits there
                loop.call_soon_threadsafe(self._hear, physicals, delay)

        self.memory.hearers[id(self)] = tell

    def _hear(self, physicals: Collection[PhysicalQueue], delay: float) -> None:
        self.served.update(physical.queue for physical in physicals)
        self.prefetch.heard(physicals, delay)

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
