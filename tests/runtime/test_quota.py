"""Quotas: at most so many of one task at once in one worker."""

import asyncio
import threading
from typing import Any

import pytest

from tenure import SyncContext, Tenure
from tenure.lease import Lease
from tenure.message import Counters, MessageState
from tenure.runtime.delivery import Delivery
from tenure.runtime.path.quota import LONGEST_GUESS_SECONDS, LONGEST_SECONDS, SHORTEST_SECONDS, Quotas
from tenure.tasks.task import Task
from tenure.testing.harness import Harness
from tenure.testing.virtual import VirtualClock
from tenure.testing.workers import Stage

# --- the line -------------------------------------------------------------------------------------------


class Bench:
    """Quotas, and deliveries of one task with a limit."""

    def __init__(self, limit: int | None) -> None:
        self.clock = VirtualClock()
        self.quotas = Quotas(self.clock)
        self.task: Task[..., Any] = Tenure("memory://").task(name="t", concurrency=limit)(_work)
        self._count = 0

    def enter(self) -> tuple[Delivery, float | None]:
        self._count += 1
        delivery = Delivery(Lease(f"m{self._count}", "q", b"", "o/1", 1, 1, 30.0, 0.0, Counters()))
        delivery.task = self.task
        if self.quotas.enter(delivery, self.task):
            delivery.started = self.clock.now
            return delivery, None
        return delivery, self.quotas.turn_seconds(self.task, 0)

    def run(self, seconds: float) -> None:
        """One run that lasted so long."""
        delivery, surplus = self.enter()
        assert surplus is None
        self.clock.now += seconds
        self.quotas.leave(delivery)


async def _work() -> None: ...


def test_a_task_without_a_limit_is_never_surplus() -> None:
    bench = Bench(None)
    assert [bench.enter()[1] for _ in range(1000)] == [None] * 1000


def test_up_to_the_limit_may_run_and_a_place_is_free_again_when_one_ends() -> None:
    bench = Bench(2)
    (first, _), (_, second) = bench.enter(), bench.enter()
    assert second is None
    assert bench.enter()[1] is not None
    bench.quotas.leave(first)
    assert bench.enter()[1] is None
    assert bench.enter()[1] is not None


def test_who_is_told_twice_that_it_ended_frees_one_place() -> None:
    bench = Bench(1)
    first, _ = bench.enter()
    bench.quotas.leave(first)
    bench.quotas.leave(first)
    second, _ = bench.enter()
    assert bench.enter()[1] is not None
    bench.quotas.leave(first)
    assert bench.enter()[1] is not None, f"{second.id} still runs"


def test_who_is_told_twice_that_it_ended_is_measured_once() -> None:
    bench = Bench(1)
    first, _ = bench.enter()
    bench.clock.now += 8.0
    bench.quotas.leave(first)
    bench.clock.now += 1000.0
    bench.quotas.leave(first)
    bench.enter()
    assert bench.enter()[1] == pytest.approx(8.0)


def test_the_surplus_comes_back_one_after_the_other_as_its_turns_come() -> None:
    bench = Bench(2)
    bench.run(0.25)
    for _ in range(2):
        bench.enter()
    waits = [bench.enter()[1] for _ in range(8)]
    turn = 0.25 / 2
    assert waits == pytest.approx([max(SHORTEST_SECONDS, turn * place) for place in range(1, 9)])
    bench.clock.now += 2 * turn
    assert bench.enter()[1] == pytest.approx(7 * turn), "two turns have passed"
    bench.clock.now += 100.0
    assert bench.enter()[1] == pytest.approx(SHORTEST_SECONDS), "the line is empty by now"


def test_whoever_waits_in_the_worker_is_before_those_that_are_sent_away() -> None:
    bench = Bench(2)
    bench.run(1.0)
    assert bench.quotas.turn_seconds(bench.task, 6) == pytest.approx(6 * 0.5 + 0.5)


def test_turns_are_as_far_apart_as_runs_last_here() -> None:
    bench = Bench(1)
    bench.run(8.0)
    bench.enter()
    assert bench.enter()[1] == pytest.approx(8.0)


def test_the_newest_runs_weigh_most() -> None:
    bench = Bench(1)
    for seconds in (100.0, *[2.0] * 30):
        bench.run(seconds)
    bench.enter()
    wait = bench.enter()[1]
    assert wait is not None
    assert 2.0 < wait < 3.0


def test_nobody_comes_back_at_once_and_nobody_is_kept_long() -> None:
    quick = Bench(1)
    quick.run(0.001)
    quick.enter()
    assert [quick.enter()[1] for _ in range(5)] == [SHORTEST_SECONDS] * 5
    slow = Bench(1)
    slow.run(1000.0)
    slow.enter()
    assert [slow.enter()[1] for _ in range(5)] == [LONGEST_SECONDS] * 5


def test_a_flood_does_not_keep_those_away_that_come_when_it_is_over() -> None:
    """The line never grows beyond the longest wait, else whoever returns from it would be sent away again."""
    bench = Bench(1)
    bench.run(2.0)
    bench.enter()
    waits = [bench.enter()[1] for _ in range(100_000)]
    assert waits[-1] == LONGEST_SECONDS
    bench.clock.now += LONGEST_SECONDS
    assert bench.enter()[1] == pytest.approx(2.0)


def test_before_a_run_has_ended_they_are_taken_to_last_as_long_as_the_first_lasts_already() -> None:
    """A flood that meets a new worker would otherwise be sent away for long from a task that takes milliseconds."""
    bench = Bench(1)
    bench.enter()
    assert [bench.enter()[1] for _ in range(1000)] == [SHORTEST_SECONDS] * 1000
    bench.clock.now += 2.0
    assert [bench.enter()[1] for _ in range(1000)] == [2.0] * 1000
    bench.clock.now += 1000.0
    assert [bench.enter()[1] for _ in range(1000)] == [LONGEST_GUESS_SECONDS] * 1000


@pytest.mark.parametrize(("lasted", "size"), [(None, 3), (100.0, 0), (1.0, 3), (0.1, 8), (0.008, 94), (0.0, 750_000)])
def test_as_many_wait_in_the_worker_as_run_before_others_could_be_back(lasted: float | None, size: int) -> None:
    bench = Bench(3)
    if lasted is not None:
        bench.run(lasted)
    assert bench.quotas.most_waiting(bench.task) == size


# --- in a worker ----------------------------------------------------------------------------------------


async def test_a_flood_of_a_limited_task_leaves_room_for_the_others(harness: Harness) -> None:
    async with Stage(harness) as stage:
        running = most = 0
        free_done: list[float] = []

        @stage.task(concurrency=3)
        async def limited() -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(1.0)
            running -= 1

        @stage.task
        async def free() -> None:
            await asyncio.sleep(0.1)
            free_done.append(harness.clock.monotonic())

        flood = [await stage.submit(limited.bind()) for _ in range(500)]
        for _ in range(50):
            await stage.submit(free.bind())
        started = harness.clock.monotonic()
        actor = await stage.start(concurrency=10)
        await stage.until(lambda: len(free_done) == 50)
        assert max(free_done) - started < 3.0, "they waited behind the flood"
        await stage.settled(within=1000)
        took = harness.clock.monotonic() - started
        assert most == 3
        states = {(await harness.record(id)).state for id in flood}
        assert states == {MessageState.COMPLETED}
        assert took < 2 * 500 / 3, "places stood empty"
        assert actor.counts["given_back"] < 6 * len(flood), "messages came back again and again before their turn"


async def test_two_workers_keep_to_the_limit_each(harness: Harness) -> None:
    async with Stage(harness) as stage:
        running = most = 0

        @stage.task(concurrency=2)
        async def limited() -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(1.0)
            running -= 1

        for _ in range(60):
            await stage.submit(limited.bind())
        await stage.start(), await stage.start()
        await stage.settled()
        assert most == 4


async def test_a_give_back_at_the_limit_leaves_no_trace_on_the_message(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(concurrency=1, max_attempts=1)
        async def limited() -> None:
            await asyncio.sleep(5.0)

        ids = [await stage.submit(limited.bind()) for _ in range(4)]
        await stage.start()
        await stage.settled()
        for id in ids:
            record = await harness.record(id)
            assert (record.state, record.counters.attempts, record.reason) == (MessageState.COMPLETED, 0, None)
            assert record.history == ()


async def test_a_thread_that_was_left_counts_until_it_ends(harness: Harness) -> None:
    """Its lease is lost, but its code runs on."""
    go_on, entered = threading.Event(), threading.Event()
    async with Stage(harness) as stage:
        started: list[str] = []

        @stage.task(concurrency=1)
        def limited(ctx: SyncContext) -> None:
            started.append(ctx.message.id)
            if len(started) == 1:
                entered.set()
                go_on.wait(10)

        id = await stage.submit(limited.bind())
        actor = await stage.start()
        while not entered.is_set():  # noqa: ASYNC110 - virtual time stands still while a thread runs
            await asyncio.sleep(0)
        (delivery,) = actor.worker._path.handling.running
        delivery.lease_lost = True
        actor.worker._path.holding.on_lost(delivery)
        other = await stage.submit(limited.bind())
        for _ in range(1000):
            await asyncio.sleep(0)
        assert started == [id], "two ran at once"
        go_on.set()
        await stage.ended(other)
        assert started[:2] == [id, other]
