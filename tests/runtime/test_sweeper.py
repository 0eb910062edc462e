"""The sweeper: returns what others left behind, and tells."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import cast

import pytest

from tenure import BrokerUnavailable, Event
from tenure.adapters import memory
from tenure.broker import Broker, SweepRequest, Swept
from tenure.event import EventKind
from tenure.message import MessageState
from tenure.runtime.background.sweeper import Sweeper, events_of_return
from tenure.testing.harness import Harness
from tenure.testing.wire import Wire


class Bench:
    """A sweeper, and what it told."""

    def __init__(self, harness: Harness, *, limit: int = 100, in_turn: bool = False) -> None:
        self.wire = Wire(harness.broker, harness.state)
        self.events: list[Event] = []
        request = SweepRequest(limit=limit, interval_seconds=5.0, max_attempts=2, lease_seconds=30.0)
        self.sweeper = Sweeper(
            self.wire.broker, self.wire.state.roster, harness.clock, self._publish,
            request=request, triggered_by="somebody", board=self.wire.state.board if in_turn else None,
            probe=harness.probe,
        )  # fmt: skip

    @property
    def sweeps(self) -> int:
        """How many batches it asked for."""
        return self.wire.said.count("broker.sweep")

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
    assert dlq.data == {"count": 1, "dlq_count": 1, "ids": list(swept.dead), "triggered_by": "somebody"}
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


# --- proof, and what is none ------------------------------------------------------------------------------


async def test_a_silent_worker_that_holds_something_is_left_alone_however_long(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(harness)
    me, silent = await harness.owner("me"), await harness.owner("silent")
    lease = await harness.leased(silent, seconds=600)
    task = asyncio.create_task(bench.sweeper.watch(lambda: me))
    await asyncio.sleep(300)
    assert (await harness.record(lease.id)).owner == silent.id
    assert (bench.events, caplog.messages) == ([], [])
    assert bench.wire.said.count("roster.remove") <= 10, "it is asked again and again"
    task.cancel()


async def test_a_silent_worker_that_holds_nothing_is_taken_off_and_told_of_as_silent(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "tenure.sweeper")
    bench = Bench(harness)
    me, silent = await harness.owner("me"), await harness.owner("silent")
    task = asyncio.create_task(bench.sweeper.watch(lambda: me))
    await asyncio.sleep(62)
    assert await harness.living() == [me.id]
    (told,) = caplog.messages
    assert f"{silent.id} has been silent for 60 s and holds nothing" in told
    assert bench.events == []
    task.cancel()


async def test_the_proof_stands_in_event_and_log(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(harness)
    victim = await harness.owner("victim")
    harness.probe.end(victim.pid)
    await bench.sweeper.bury()
    (retired,) = bench.of_kind(EventKind.OWNER_RETIRED)
    assert retired.data["proof"] == f"its process (pid {victim.pid}) has ended"
    assert caplog.messages == [f"{victim.id} is gone: its process (pid {victim.pid}) has ended; 0 messages returned"]


async def test_of_many_who_see_a_death_one_tells_it(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    benches = [Bench(harness) for _ in range(5)]
    victim = await harness.owner("victim")
    lease = await harness.leased(victim)
    await harness.kill(victim)
    await asyncio.gather(*(bench.sweeper.bury() for bench in benches))
    told = [event for bench in benches for event in bench.of_kind(EventKind.OWNER_RETIRED)]
    assert [event.data["count"] for event in told] == [1]
    assert len(caplog.messages) == 1
    assert (await harness.record(lease.id)).counters.crashes == 1


async def test_a_retirement_that_was_cut_short_is_told_as_far_as_it_went_and_finished_by_another(
    harness: Harness,
) -> None:
    first, second = Bench(harness), Bench(harness)
    victim = await harness.owner("victim")
    await harness.put_many(2_500)
    held = await harness.lease_all(victim)
    await harness.kill(victim)

    def stop_at_the_second(name: str, _arguments: tuple[object, ...]) -> None:
        if name == "broker.retire" and first.wire.said.count(name) > 1:
            raise BrokerUnavailable("away")

    first.wire.spy = stop_at_the_second
    with pytest.raises(BrokerUnavailable):
        await first.sweeper.bury()
    assert [event.data["count"] for event in first.of_kind(EventKind.REQUEUE)] == [1_000]
    assert await second.sweeper.bury() == [victim.id]
    (retired,) = second.of_kind(EventKind.OWNER_RETIRED)
    assert (retired.data["count"], retired.data["left"]) == (1_500, False)
    told = [id for bench in (first, second) for event in bench.of_kind(EventKind.REQUEUE) for id in event.data["ids"]]
    assert sorted(told) == sorted(lease.id for lease in held)
    assert await harness.state.roster.members() == []


@pytest.mark.parametrize(("seconds", "looks"), [(1.0, 30), (5.0, 6)])
async def test_the_roster_is_read_as_often_as_the_store_says(harness: Harness, seconds: float, looks: int) -> None:
    harness.broker, harness.state = memory.connect(clock=harness.clock, roster_seconds=seconds)
    bench = Bench(harness)
    me = await harness.owner("me")
    task = asyncio.create_task(bench.sweeper.watch(lambda: me))
    await asyncio.sleep(29.5)
    assert bench.wire.said.count("roster.members") == looks
    assert bench.wire.said.count("roster.beat") == 30
    task.cancel()


async def test_where_there_are_many_workers_each_looks_half_as_often(harness: Harness) -> None:
    bench = Bench(harness)
    for _ in range(51):
        me = await harness.owner("me")
    task = asyncio.create_task(bench.sweeper.watch(lambda: me))
    await asyncio.sleep(29.5)
    assert bench.wire.said.count("roster.members") == 15
    task.cancel()


# --- events are bounded -----------------------------------------------------------------------------------


async def test_a_large_sweep_is_told_batch_by_batch_and_its_figures_add_up(harness: Harness) -> None:
    bench = Bench(harness, limit=10)
    ids = await overdue(harness, 25)
    swept = await bench.sweeper.sweep()
    assert sorted(swept.returned) == sorted(ids)
    told = bench.of_kind(EventKind.REQUEUE)
    assert [event.data["count"] for event in told] == [10, 10, 5]
    assert sorted(id for event in told for id in event.data["ids"]) == sorted(ids)


async def test_no_event_names_more_than_a_thousand_messages(harness: Harness) -> None:
    bench = Bench(harness)
    leaver = await harness.owner()
    await harness.put_many(2_500)
    held = await harness.lease_all(leaver)
    await harness.state.roster.leave(leaver)
    await bench.sweeper.bury()
    (retired,) = bench.of_kind(EventKind.OWNER_RETIRED)
    assert retired.data["count"] == 2_500
    told = bench.of_kind(EventKind.REQUEUE)
    assert [(event.data["count"], len(event.data["ids"])) for event in told] == [(1_000, 1_000)] * 2 + [(500, 500)]
    assert {id for event in told for id in event.data["ids"]} == {lease.id for lease in held}


# --- one sweeps, the others skip it -----------------------------------------------------------------------


class Sweepings:
    """When whom of several sweepers asked for a batch."""

    def __init__(self, harness: Harness, benches: Sequence[Bench]) -> None:
        self.at: list[float] = []
        self._harness = harness
        for bench in benches:
            bench.wire.spy = self._note

    def _note(self, name: str, arguments: tuple[object, ...]) -> None:
        del arguments
        if name == "broker.sweep":
            self.at.append(self._harness.clock.monotonic())

    @property
    def longest_pause(self) -> float:
        return max(later - sooner for sooner, later in pairwise(self.at))


@asynccontextmanager
async def sweeping(benches: Sequence[Bench]) -> AsyncIterator[list["asyncio.Task[None]"]]:
    """All of them at work, begun at different moments."""
    tasks = []
    try:
        for bench in benches:
            tasks.append(asyncio.create_task(bench.sweeper.run()))
            await asyncio.sleep(0.7)
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_of_many_sweepers_one_sweeps_an_interval(harness: Harness) -> None:
    benches = [Bench(harness, in_turn=True) for _ in range(6)]
    seen = Sweepings(harness, benches)
    async with sweeping(benches):
        await asyncio.sleep(60)
    assert 8 <= len(seen.at) <= 13, "six sweepers that know nothing of each other would sweep 72 times"
    assert seen.longest_pause < 7


async def test_when_its_holder_dies_the_turn_lapses_before_an_outage_is_assumed(harness: Harness) -> None:
    benches = [Bench(harness, in_turn=True) for _ in range(3)]
    seen = Sweepings(harness, benches)
    async with sweeping(benches):
        await asyncio.sleep(22)
        ids = await overdue(harness, 3)
        benches[0].wire.cut()
        cut_at = harness.clock.monotonic()
        await asyncio.sleep(21)
    assert benches[0].sweeps > 0
    assert benches[1].sweeps + benches[2].sweeps > 0
    assert min(at for at in seen.at if at > cut_at) - cut_at < 7
    events = [event for bench in benches for event in bench.events]
    assert [event.kind for event in events] == [EventKind.REQUEUE]
    assert sorted(events[0].data["ids"]) == sorted(ids)


async def test_a_sweep_that_takes_longer_than_its_turn_keeps_it(harness: Harness) -> None:
    first, second = Bench(harness, limit=1, in_turn=True), Bench(harness, limit=1, in_turn=True)
    ids = await overdue(harness, 12)
    slow_down(first, seconds=1.0)
    async with sweeping([first, second]):
        await asyncio.sleep(14)
        assert second.sweeps == 0
        assert sum(event.data["count"] for event in first.of_kind(EventKind.REQUEUE)) == len(ids)


async def test_whoever_loses_the_turn_ends_after_the_batch_and_the_other_does_the_rest(harness: Harness) -> None:
    first, second = Bench(harness, limit=1, in_turn=True), Bench(harness, limit=1, in_turn=True)
    ids = await overdue(harness, 6)
    slow_down(first, seconds=6.0)  # longer than a turn, so that it lapses during a batch
    async with sweeping([first, second]):
        await asyncio.sleep(13)
    assert first.sweeps == 1
    told = [event for bench in (first, second) for event in bench.of_kind(EventKind.REQUEUE)]
    assert sorted(id for event in told for id in event.data["ids"]) == sorted(ids)


async def test_whoever_cannot_sweep_gives_its_turn_up(harness: Harness) -> None:
    first, second = Bench(harness, in_turn=True), Bench(harness, in_turn=True)
    first.wire.away("broker.sweep")
    async with sweeping([first, second]):
        await asyncio.sleep(60)
    assert second.sweeps >= 7
    assert not second.of_kind(EventKind.SWEEP_GRACE)


async def test_a_sweep_by_hand_asks_for_no_turn(harness: Harness) -> None:
    by_hand = Bench(harness)
    ids = await overdue(harness, 3)
    assert await harness.state.board.take_turn("sweep", "somebody else", 5.0)
    assert sorted((await by_hand.sweeper.sweep()).returned) == sorted(ids)


async def test_the_dead_are_found_by_whoever_has_no_turn(harness: Harness) -> None:
    bench = Bench(harness, in_turn=True)
    assert await harness.state.board.take_turn("sweep", "somebody else", 5.0)
    me, victim = await harness.owner("me"), await harness.owner("victim")
    lease = await harness.leased(victim, seconds=600)
    task = asyncio.create_task(bench.sweeper.watch(lambda: me))
    await asyncio.sleep(0.5)
    await harness.kill(victim)
    await asyncio.sleep(1.5)
    assert await harness.state_of(lease.id) == MessageState.READY
    task.cancel()


def slow_down(bench: Bench, *, seconds: float) -> None:
    """Each of its batches takes so long."""
    broker = bench.sweeper._broker

    class Slow:
        async def sweep(self, request: SweepRequest) -> Swept:
            swept = await broker.sweep(request)
            await asyncio.sleep(seconds)
            return swept

    bench.sweeper._broker = cast("Broker", Slow())


def test_what_was_returned_is_told_queue_by_queue() -> None:
    swept = Swept(
        ("a", "b", "c"), ("d", "e"), queues={"a": "mail", "b": "other", "c": "mail", "d": "mail", "e": "last"}
    )
    events = events_of_return(swept, 7.0, "scheduler")
    assert [(event.kind.value, event.queue, event.data["ids"], event.data["dlq_count"]) for event in events] == [
        ("requeue", "mail", ["a", "c"], 1),
        ("requeue", "other", ["b"], 0),
        ("move_to_dlq", "mail", ["d"], 1),
        ("move_to_dlq", "last", ["e"], 1),
    ]
    assert sum(event.data["count"] for event in events) == 5
