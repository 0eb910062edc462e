"""The small ports under a row store: what works in memory passes its suite, and each deliberate fault fails it."""

import pytest

from tenure.delivery_queue import DeliveryQueue
from tenure.rowstore.memory_queue import MemoryQueue, MemoryQueues
from tenure.rowstore.memory_table import MemoryTable
from tenure.table import Table
from tenure.testing.conformance import run_suites
from tenure.testing.conformance.delivery_queues import DeliveryQueues
from tenure.testing.conformance.tables import Tables
from tenure.testing.faulty.delivery_queues import QUEUE_FAULTS, HonestQueue
from tenure.testing.faulty.tables import TABLE_FAULTS, HonestTable
from tenure.testing.row_harness import QueueHarness, TableHarness


class MemoryTables(TableHarness):
    """A table in memory, perhaps with a fault."""

    def __init__(self, fault: type[HonestTable] = HonestTable, *, has_etags: bool = True) -> None:
        super().__init__()
        self._fault = fault
        self._has_etags = has_etags

    async def connect(self) -> Table:
        return self._fault(MemoryTable(self.clock, has_etags=self._has_etags))


class MemoryDelivery(QueueHarness):
    """A queue in memory, perhaps with a fault."""

    def __init__(self, fault: type[HonestQueue] = HonestQueue, *, renews_receipts: bool = True) -> None:
        super().__init__()
        self._fault = fault
        self._renews_receipts = renews_receipts

    async def connect(self) -> DeliveryQueue:
        queue = MemoryQueue(MemoryQueues(), self.clock, priorities=3, renews_receipts=self._renews_receipts)
        return self._fault(queue)


@pytest.mark.parametrize("has_etags", [True, False], ids=["etags", "texts"])
def test_a_table_that_works_passes(has_etags: bool) -> None:
    failures = run_suites(Tables, lambda: MemoryTables(has_etags=has_etags))
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize("renews", [True, False], ids=["new-receipts", "same-receipts"])
def test_a_queue_that_works_passes(renews: bool) -> None:
    failures = run_suites(DeliveryQueues, lambda: MemoryDelivery(renews_receipts=renews))
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize("fault", TABLE_FAULTS, ids=lambda fault: fault.__name__)
def test_the_suite_catches_a_faulty_table(fault: type[HonestTable]) -> None:
    assert run_suites(Tables, lambda: MemoryTables(fault), stop_at_first=True), f"nothing caught {fault.__name__}"


@pytest.mark.parametrize("fault", QUEUE_FAULTS, ids=lambda fault: fault.__name__)
def test_the_suite_catches_a_faulty_queue(fault: type[HonestQueue]) -> None:
    caught = run_suites(DeliveryQueues, lambda: MemoryDelivery(fault), stop_at_first=True)
    assert caught, f"nothing caught {fault.__name__}"
