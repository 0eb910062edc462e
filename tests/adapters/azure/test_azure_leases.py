"""Leases as they are listed and found: from the rows, with what each look costs."""

from typing import Any

import msgspec
import pytest
from tests.adapters.azure.test_azure_calls import WatchedHarness
from tests.conformance.azure_harness import AzureHarness, RedisStateHarness

from tenure.broker import SweepRequest
from tenure.lease import LeaseState
from tenure.message import Outgoing
from tenure.settlement import Ack, Outcome
from tenure.testing.harness import QUEUE, TASK, Harness


@pytest.fixture(params=[AzureHarness, RedisStateHarness], ids=["tables", "redis"])
def harness(request: pytest.FixtureRequest) -> Harness:
    """Wherever the rows lie."""
    made: Harness = request.param()
    return made


@pytest.fixture
def watched() -> WatchedHarness:
    """Every request is written down."""
    return WatchedHarness()


async def test_a_lease_tells_its_beats_and_what_its_holder_said(harness: Harness) -> None:
    lease = await harness.leased(harness.stranger())
    (held,) = (await harness.broker.leases()).leases
    assert (held.id, held.queue, held.task, held.owner, held.fence) == (lease.id, QUEUE, TASK, lease.owner, lease.fence)
    assert (held.beats, held.last_beat_at, held.size, held.predicted_seconds, held.attempt) == (0, None, None, None, 1)
    begun = held.leased_at
    assert begun is not None
    for beat in (1, 2):
        await harness.advance(5)
        said = msgspec.structs.replace(lease, size=7.0, predicted_seconds=40.0)
        (lease,) = await harness.broker.touch([said])
        told = await harness.broker.leases()
        (held,) = told.leases
        assert (held.beats, held.size, held.predicted_seconds) == (beat, 7.0, 40.0)
        assert held.leased_at == pytest.approx(begun, abs=0.01)
        assert held.last_beat_at == pytest.approx(told.now, abs=0.01)
        assert held.deadline - told.now == pytest.approx(held.deadline_in)
        assert held.deadline_in == pytest.approx(lease.seconds, abs=0.01)


async def test_a_touch_that_says_nothing_keeps_what_was_said(harness: Harness) -> None:
    lease = await harness.leased(harness.stranger())
    await harness.broker.touch([msgspec.structs.replace(lease, size=3.0)])
    await harness.broker.touch([lease])
    (held,) = (await harness.broker.leases()).leases
    assert (held.beats, held.size) == (2, 3.0)


async def test_leases_are_cut_at_the_limit_and_told_by_queue(harness: Harness) -> None:
    await harness.put_many(3)
    await harness.broker.send([Outgoing(harness.message(queue=queue)) for queue in ("acme-tasks", "other")])
    await harness.broker.lease(harness.request(harness.stranger(), 3))
    queues = (QUEUE, "acme-tasks", "other")
    await harness.broker.lease(msgspec.structs.replace(harness.request(harness.stranger(), 9), queues=queues))
    every = await harness.broker.leases()
    assert (len(every.leases), every.is_cut) == (5, False)
    some = await harness.broker.leases(limit=4)
    assert (some.leases, some.is_cut) == (every.leases[:4], True)
    for asked, count in ((["*-tasks"], 1), (["other"], 1), ([QUEUE, "*-tasks"], 4), (["none"], 0)):
        assert len((await harness.broker.leases(asked)).leases) == count


async def test_the_sweeps_are_told_and_cost_no_write_of_their_own(watched: WatchedHarness) -> None:
    told = await watched.broker.leases(limit=0)
    assert (told.last_sweep_at, told.next_sweep_at, told.leases) == (None, None, ())
    await watched.broker.sweep(SweepRequest(interval_seconds=5.0))
    await watched.advance(2, sweeping=False)
    watched.requests.clear()
    told = await watched.broker.leases(limit=0)
    assert len(watched.requests) == 1
    assert told.last_sweep_at == pytest.approx(told.now - 2, abs=0.01)
    assert told.next_sweep_at == pytest.approx(told.now + 3, abs=0.01)
    watched.requests.clear()
    await watched.broker.sweep(SweepRequest(interval_seconds=5.0))
    assert [method for method, _, _ in watched.requests if method != "GET"] == ["PUT"]


async def test_a_list_of_leases_is_two_requests_whatever_waits(watched: WatchedHarness) -> None:
    await watched.put_many(40)
    await watched.broker.lease(watched.request(watched.stranger(), 20))
    watched.requests.clear()
    assert len((await watched.broker.leases()).leases) == 20
    assert len(watched.requests) == 2


async def test_a_lease_is_found_by_its_name_and_can_be_settled(harness: Harness) -> None:
    lease = await harness.leased(harness.stranger())
    second = await harness.second()
    found = await second.find(lease.id, lease.owner, lease.fence, "a wrong hint")
    assert found is not None
    assert (found.id, found.envelope, found.receipt) == (lease.id, lease.envelope, lease.receipt)
    (touched,) = await second.touch([found])
    assert touched.state == LeaseState.HELD
    for wrong in ((lease.id, lease.owner, lease.fence + 1), (lease.id, "x", lease.fence), ("x", lease.owner, 1)):
        assert await second.find(*wrong) is None
    (settlement,) = await second.ack([Ack(touched)])
    assert settlement.outcome == Outcome.DELETED
    assert await harness.broker.find(lease.id, lease.owner, lease.fence) is None


async def test_a_sweep_names_the_queues_of_what_it_moved(harness: Harness) -> None:
    lease = await harness.leased(harness.stranger())
    swept: Any = await harness.lapse()
    assert (swept.returned, swept.queues) == ((lease.id,), {lease.id: QUEUE})
    again = await harness.lease_one(harness.stranger())
    retired = await harness.broker.retire(again.owner, crashed=True)
    assert (retired.returned, retired.queues) == ((lease.id,), {lease.id: QUEUE})
