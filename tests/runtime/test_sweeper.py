"""The sweeper: returns what others left behind, and tells."""

import asyncio
from collections.abc import Sequence

import pytest

from tenure import BrokerUnavailable, Event
from tenure.broker import SweepRequest
from tenure.event import EventKind
from tenure.message import MessageState
from tenure.runtime.sweeper import Sweeper
from tenure.testing.harness import Harness
from tenure.testing.wire import Wire


class Bench:
    """A sweeper, and what it told."""

    def __init__(self, harness: Harness, *, limit: int = 100) -> None:
        self.wire = Wire(harness.broker, harness.state)
        self.events: list[Event] = []
        request = SweepRequest(limit=limit, interval_seconds=5.0, max_attempts=2, lease_seconds=30.0)
        self.sweeper = Sweeper(
            self.wire.broker, self.wire.state.roster, harness.clock, self._publish,
            request=request, triggered_by="somebody",
        )  # fmt: skip

    def _publish(self, events: Sequence[Event]) -> None:
        self.events += events

    def of_kind(self, kind: EventKind) -> list[Event]:
        return [event for event in self.events if event.kind is kind]


async def overdue(harness: Harness, count: int) -> list[str]:
    """Messages whose holders, without presence, let their leases lapse; nobody swept since."""
    await harness.sweep()
    await harness.put_many(count)
    leases = await harness.lease_all(harness.stranger(), seconds=6.0)
    await asyncio.sleep(7)
    return [lease.id for lease in leases]


async def test_one_sweep_takes_batches_while_there_is_more(harness: Harness) -> None:
    bench = Bench(harness, limit=4)
    ids = await overdue(harness, 10)
    swept = await bench.sweeper.sweep()
    assert sorted(swept.returned) == sorted(ids)
    assert bench.wire.said.count("broker.sweep") == 3


async def test_a_sweep_is_told_as_one_event_with_figures(harness: Harness) -> None:
    bench = Bench(harness)
    ids = await overdue(harness, 3)
    await bench.sweeper.sweep()
    (event,) = bench.events
    assert event.kind is EventKind.REQUEUE
    assert event.data == {"count": 3, "dlq_count": 0, "ids": ids, "triggered_by": "somebody"}


async def test_what_goes_to_the_dead_letters_is_told_too(harness: Harness) -> None:
    bench = Bench(harness)
    await overdue(harness, 1)
    await bench.sweeper.sweep()
    await harness.put_many(1)
    leases = await harness.lease_all(harness.stranger(), seconds=6.0)
    await asyncio.sleep(7)
    bench.events.clear()
    swept = await bench.sweeper.sweep()
    assert (len(swept.returned), len(swept.dead)) == (1, 1)
    (requeue,), (dlq,) = bench.of_kind(EventKind.REQUEUE), bench.of_kind(EventKind.MOVE_TO_DLQ)
    assert (requeue.data["count"], requeue.data["dlq_count"]) == (1, 1)
    assert dlq.data == {"count": 1, "ids": list(swept.dead), "triggered_by": "somebody"}
    assert swept.dead[0] in [lease.id for lease in leases]


async def test_a_sweep_that_moves_nothing_tells_nothing(harness: Harness) -> None:
    bench = Bench(harness)
    assert (await bench.sweeper.sweep()).moved == 0
    assert bench.events == []


async def test_what_was_moved_is_told_though_the_next_batch_fails(harness: Harness) -> None:
    bench = Bench(harness, limit=2)
    await overdue(harness, 4)
    bench.wire.spy = lambda *_: bench.wire.away()
    with pytest.raises(BrokerUnavailable):
        await bench.sweeper.sweep()
    (event,) = bench.events
    assert event.data["count"] == 2


async def test_after_an_outage_everybody_gets_a_fresh_window_and_that_is_told(harness: Harness) -> None:
    bench = Bench(harness)
    await harness.sweep()
    await harness.leased(harness.stranger())
    await asyncio.sleep(100)
    swept = await bench.sweeper.sweep()
    assert (swept.grace, swept.moved) == (True, 0)
    assert [event.kind for event in bench.events] == [EventKind.SWEEP_GRACE]


async def test_it_sweeps_at_its_interval_and_over_outages(harness: Harness) -> None:
    bench = Bench(harness)
    task = asyncio.create_task(bench.sweeper.run())
    await asyncio.sleep(21)
    assert bench.wire.said.count("broker.sweep") == 5
    bench.wire.away()
    await asyncio.sleep(60)
    bench.wire.back()
    assert not task.done()
    said = len(bench.wire.said)
    await asyncio.sleep(21)
    assert len(bench.wire.said) - said == 4
    task.cancel()


async def test_the_dead_are_buried_within_seconds_at_any_lease(harness: Harness) -> None:
    bench = Bench(harness)
    me, victim = await harness.owner("me"), await harness.owner("victim")
    lease = await harness.leased(victim, seconds=600)
    task = asyncio.create_task(bench.sweeper.watch(lambda: me))
    await asyncio.sleep(10)
    assert bench.events == []
    await harness.kill(victim)
    await asyncio.sleep(1.5)
    record = await harness.record(lease.id)
    assert (record.state, record.counters.crashes) == (MessageState.READY, 1)
    (retired,) = bench.of_kind(EventKind.OWNER_RETIRED)
    assert retired.owner == victim.id
    assert (retired.data["count"], retired.data["left"]) == (1, False)
    assert retired.data["proof"]
    (requeue,) = bench.of_kind(EventKind.REQUEUE)
    assert requeue.data["triggered_by"] == "liveness"
    task.cancel()


async def test_whoever_said_goodbye_crashed_nothing(harness: Harness) -> None:
    bench = Bench(harness)
    leaver = await harness.owner()
    lease = await harness.leased(leaver)
    await harness.state.roster.leave(leaver)
    assert await bench.sweeper.bury() == [leaver.id]
    assert (await harness.record(lease.id)).counters.crashes == 0
    (retired,) = bench.of_kind(EventKind.OWNER_RETIRED)
    assert retired.data["left"] is True


async def test_watching_says_that_we_live_and_goes_on_over_outages(harness: Harness) -> None:
    bench = Bench(harness)
    me = await harness.owner()
    task = asyncio.create_task(bench.sweeper.watch(lambda: me))
    await asyncio.sleep(3.5)
    assert bench.wire.said.count("roster.beat") == 4
    bench.wire.away()
    await asyncio.sleep(30)
    bench.wire.back()
    victim = await harness.owner()
    await harness.kill(victim)
    await asyncio.sleep(1.5)
    assert len(bench.of_kind(EventKind.OWNER_RETIRED)) == 1
    task.cancel()
