"""The room: a few of a task at its limit wait inside the worker, and start the moment a place is free."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tenure import Tenure
from tenure.client.operator import Operator
from tenure.event import Event
from tenure.lease import Lease
from tenure.message import Counters, MessageState
from tenure.runtime.delivery import Delivery
from tenure.runtime.path.quota import ROOM_SECONDS
from tenure.runtime.path.slots import Slots
from tenure.runtime.path.waiting_room import WaitingRoom
from tenure.tasks.task import Task
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.virtual import VirtualClock
from tenure.testing.workers import Actor, Stage
from tenure.verdict import Returned

# --- the room -------------------------------------------------------------------------------------------


class Bench:
    """A room, and deliveries of tasks with a limit."""

    def __init__(self, clock: VirtualClock, slots: int) -> None:
        self.clock = clock
        self.slots = Slots(slots)
        self.room = WaitingRoom(clock, self.slots)
        self.free: list[Delivery] = []
        self.tired: list[tuple[Delivery, Returned]] = []
        self.room.on_free = self.free.append
        self.room.on_tired = lambda delivery, verdict: self.tired.append((delivery, verdict))
        app = Tenure("memory://")
        self.tasks = {name: app.task(name=name, concurrency=1)(_work) for name in "ab"}

    def enter(self, name: str = "a") -> tuple[Delivery, str]:
        """One more, and what becomes of it."""
        task: Task[..., Any] = self.tasks[name]
        delivery = Delivery(Lease(os.urandom(4).hex(), "q", b"", "o/1", 1, 1, 30.0, 0.0, Counters()))
        delivery.task = task
        if self.room.may_run(delivery, task):
            delivery.started = self.clock.now
            return delivery, "runs"
        return delivery, "waits" if self.room.may_wait(delivery, task) else "goes"

    def run(self, seconds: float, name: str = "a") -> None:
        delivery, how = self.enter(name)
        assert how == "runs"
        delivery.started = self.clock.now - seconds
        self.room.leave(delivery)


async def _work() -> None: ...


async def test_whoever_waited_longest_has_the_place_that_is_free(harness: Harness) -> None:
    bench = Bench(harness.clock, 10)
    bench.run(0.1)
    running, waiting = bench.enter()[0], [bench.enter()[0] for _ in range(3)]
    bench.room.leave(running)
    assert bench.free == waiting[:1]
    assert bench.enter()[1] != "runs", "the place was given away"
    bench.room.leave(waiting[0])
    assert bench.free == waiting[:2]


async def test_half_the_slots_stay_for_others_however_many_tasks_are_at_their_limit(harness: Harness) -> None:
    bench = Bench(harness.clock, 10)
    for name in "ab":
        bench.run(0.0, name)
        bench.enter(name)
    assert [bench.enter("ab"[place % 2])[1] for place in range(8)] == ["waits"] * 5 + ["goes"] * 3
    assert (len(bench.room), bench.slots.waiting) == (5, 5)


async def test_in_a_worker_with_one_slot_nobody_waits(harness: Harness) -> None:
    bench = Bench(harness.clock, 1)
    bench.enter()
    assert bench.enter()[1] == "goes"


async def test_whoever_left_waits_no_more(harness: Harness) -> None:
    bench = Bench(harness.clock, 10)
    running, gone = bench.enter()[0], bench.enter()[0]
    assert gone.id in bench.room
    assert bench.room.drop(gone)
    assert not bench.room.drop(gone)
    assert gone.id not in bench.room
    bench.room.leave(running)
    assert (bench.free, bench.slots.waiting) == ([], 0)


async def test_whoever_waits_too_long_is_sent_away(harness: Harness) -> None:
    """Another worker may have a place for it."""
    bench = Bench(harness.clock, 10)
    bench.run(1.0)
    running, first = bench.enter()[0], bench.enter()[0]
    await asyncio.sleep(ROOM_SECONDS - 1)
    assert bench.tired == []
    await asyncio.sleep(1.1)
    ((tired, verdict),) = bench.tired
    assert (tired, verdict.reason.code, verdict.after_seconds) == (first, "concurrency", 1.0)
    second = bench.enter()[0]
    await asyncio.sleep(ROOM_SECONDS + 0.1)
    assert bench.tired[-1][0] is second
    bench.room.leave(running)
    assert bench.free == []


async def test_an_empty_room_tells_nobody_anything(harness: Harness) -> None:
    bench = Bench(harness.clock, 10)
    running, waiting = bench.enter()[0], bench.enter()[0]
    assert bench.room.empty() == [waiting]
    bench.room.leave(running)
    await asyncio.sleep(2 * ROOM_SECONDS)
    assert (bench.free, bench.tired, bench.slots.waiting) == ([], [], 0)


# --- in a worker ----------------------------------------------------------------------------------------


@asynccontextmanager
async def one_waits(harness: Harness, **options: Any) -> AsyncIterator[tuple[Stage, Actor, list[str], str]]:
    """A worker that runs one of a task with `concurrency=1`, with a second one in its room. The trace of runs."""
    async with Stage(harness) as stage:
        began: list[str] = []

        @stage.task(concurrency=1, **options)
        async def limited(seconds: float) -> None:
            began.append(f"{seconds}")
            await asyncio.sleep(seconds)

        await stage.submit(limited.bind(3.0))
        actor = await stage.start()
        await stage.until(lambda: began == ["3.0"])
        id = await stage.submit(limited.bind(1.0))
        await stage.until(lambda: actor.worker.in_flight == 2)
        yield stage, actor, began, id


async def test_a_place_that_is_free_is_taken_at_once(harness: Harness) -> None:
    async with Stage(harness) as stage:
        running = most = 0

        @stage.task(concurrency=2)
        async def limited() -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.1)
            running -= 1

        for _ in range(100):
            await stage.submit(limited.bind())
        started = harness.clock.monotonic()
        await stage.start(concurrency=10)
        await stage.settled()
        assert most == 2
        assert harness.clock.monotonic() - started < 6.0, "5 s are the least"


async def test_work_of_no_length_is_not_held_up_by_its_limit(harness: Harness) -> None:
    async with Stage(harness) as stage:
        done = 0

        @stage.task(concurrency=1)
        async def limited() -> None:
            nonlocal done
            done += 1

        for _ in range(500):
            await stage.submit(limited.bind())
        started = harness.clock.monotonic()
        await stage.start(concurrency=10)
        await stage.until(lambda: done == 500)
        assert harness.clock.monotonic() - started < 5.0


async def test_one_that_waits_is_held_and_not_begun(harness: Harness) -> None:
    async with one_waits(harness) as (stage, _, began, id):
        record = await harness.record(id)
        assert (record.state, began) == (MessageState.LEASED, ["3.0"])
        assert (await stage.ended(id)).state is MessageState.COMPLETED
        assert began == ["3.0", "1.0"]


async def test_its_max_hold_begins_with_its_handler(harness: Harness) -> None:
    async with one_waits(harness, max_hold=3.5, max_attempts=1) as (stage, _, _, id):
        assert (await stage.ended(id)).state is MessageState.COMPLETED, "it ran for 1 s"


async def test_one_that_waited_is_ended_by_max_hold_too(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(concurrency=1, max_hold=2, max_attempts=1)
        async def limited(seconds: float) -> None:
            await asyncio.sleep(seconds)

        first, second = await stage.submit(limited.bind(1.0)), await stage.submit(limited.bind(1000.0))
        await stage.start()
        assert (await stage.ended(first)).state is MessageState.COMPLETED
        started = harness.clock.monotonic()
        assert (await stage.ended(second)).state is MessageState.DEAD
        assert harness.clock.monotonic() - started < 2.5


async def test_when_the_worker_stops_it_goes_back_at_once(harness: Harness) -> None:
    async with one_waits(harness) as (stage, actor, began, id):
        stopping = asyncio.create_task(stage.stop(actor))
        await asyncio.sleep(0.5)
        record = await harness.record(id)
        assert (record.state, record.counters.attempts, record.counters.lost) == (MessageState.READY, 0, 0)
        await stopping
        assert began == ["3.0"], "a place that is free while the worker stops is for nobody"
        assert not actor.worker.has_stuck_handlers


async def test_one_that_is_cancelled_while_it_waits_never_runs(harness: Harness) -> None:
    async with one_waits(harness) as (stage, actor, began, id):
        await Operator(harness.broker, harness.state, harness.clock, by="ada").cancel([id])
        await asyncio.sleep(2)
        assert actor.worker.in_flight == 1, "it is still held"
        await asyncio.sleep(10)
        assert (began, (await harness.record(id)).state) == (["3.0"], MessageState.CANCELLED)
        await stage.stop(actor)
        assert not actor.worker.has_stuck_handlers


async def test_after_its_worker_is_killed_it_does_not_run_there(harness: Harness) -> None:
    async with one_waits(harness) as (stage, actor, began, _):
        await stage.kill(actor)
        await asyncio.sleep(20)
        assert began == ["3.0"]


async def test_a_second_delivery_of_one_that_waits_is_not_run_beside_it(harness: Harness) -> None:
    async with one_waits(harness) as (_, actor, _, id):
        assert actor.worker._path.holding.is_running(id)


@pytest.mark.parametrize("slots", [4, 10])
async def test_comings_and_goings_at_the_limit_are_counted_and_not_told(harness: Harness, slots: int) -> None:
    async with Stage(harness) as stage:

        @stage.task(concurrency=1)
        async def limited() -> None:
            await asyncio.sleep(1.0)

        for _ in range(20):
            await stage.submit(limited.bind())
        actor = await stage.start(concurrency=slots)
        await stage.settled()
        await asyncio.sleep(2)
        assert actor.counts["given_back"] > 0
        kinds = {event.kind for event in await _told(harness)}
        assert "given_back" not in kinds
        assert "completed" in kinds


async def _told(harness: Harness) -> list[Event]:
    return [stored.event for stored in await harness.state.journal.read(limit=1000) if stored.event.queue == QUEUE]
