"""A row store in memory: the core that SQS stands on, with no server under it."""

from tenure import rowstore
from tenure.broker import Broker
from tenure.clock import Clock
from tenure.delivery_queue import DeliveryQueue
from tenure.rowstore.memory_queue import BODY_LIMIT, MemoryQueue, MemoryQueues
from tenure.rowstore.memory_table import MemoryTable
from tenure.state import State
from tenure.table import Table
from tenure.testing.harness import FaultWrapper, Harness

_DAMAGED = '{"tenure": damaged'


class OwnClockTable(MemoryTable):
    """A table whose service has a clock of its own, as DynamoDB has."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, has_etags=True)
        self._began = clock.wall() - clock.monotonic()

    def wall(self) -> float:
        return self._clock.monotonic() + self._began


class RowStoreHarness(Harness):
    """Rows with etags, and receipts that each hide renews, as on Azure.

    So no part of the core can take a text for a version, or rely on an old receipt. SQS has neither.
    """

    has_own_clock = True
    finds_ids = False
    finds_envelopes = False
    settings = rowstore.Settings(body_limit=BODY_LIMIT, hold_seconds=400.0, state_place="a table in memory")

    def __init__(self, fault: FaultWrapper | None = None) -> None:
        """Nothing is there yet."""
        super().__init__(fault)
        self._table = OwnClockTable(self.clock)
        self._service = MemoryQueues()

    async def connect(self) -> tuple[Broker, State]:
        """Open broker and state over one store."""
        broker, state = rowstore.connect(self._services, settings=self.settings, clock=self.clock)
        await broker.open()
        await state.open()
        return broker, state

    def _services(self) -> tuple[DeliveryQueue, Table]:
        queue = MemoryQueue(self._service, self.clock, renews_receipts=True)
        return queue, self._table

    async def damage(self, id: str) -> bytes:
        """Put another body in the place of the stored one."""
        for copies in self._service.copies.values():
            for copy in copies:
                if copy.sent.id == id:
                    copy.spoil(_DAMAGED)
        return _DAMAGED.encode()

    async def reopen(self) -> None:
        """The table and the queue outlive their connections."""
        await self._reopen()
