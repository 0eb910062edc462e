"""Suspects: a message runs alone once two workers died or three lost it; only a crash there is its own.

Child processes are real; here their place is taken by something that says who was asked to run what, so that
the rule can be tested in virtual time.
"""

import asyncio
from typing import Any

from tenure.clock import Clock
from tenure.errors import ConfigurationError
from tenure.message import MessageState
from tenure.runtime.delivery import Delivery
from tenure.runtime.path.handling import CHILD_FAILED_SECONDS
from tenure.runtime.path.repeated_returns import GIVE_UP_SECONDS
from tenure.runtime.processes.pool import ChildDied
from tenure.tasks.context import ContextLink
from tenure.testing.harness import Harness
from tenure.testing.workers import Stage
from tenure.verdict import Completed

SIGSEGV = 11


class _Pool:
    """Replaces a pool of child processes."""

    #: What ran in a child: the name of the pool, and the message.
    ran: list[tuple[str, str]]
    deadly: set[str]
    #: Why no process can be started.
    broken: str
    #: How many ran at once, by the name of the pool.
    most: dict[str, int]

    def __init__(self, _locate: object, *, clock: Clock, name: str, most: int, reuse: bool = True) -> None:
        self._slots = asyncio.Semaphore(most)
        self._running = 0
        self._name = name
        self._alone = not reuse
        self._clock = clock

    async def run(self, delivery: Delivery, _link: ContextLink) -> Completed:
        if self.broken:
            raise ConfigurationError(self.broken)
        async with self._slots:
            self._running += 1
            self.most[self._name] = max(self._running, self.most.get(self._name, 0))
            await asyncio.sleep(1)
            self._running -= 1
        self.ran.append((self._name if self._alone else "not alone", delivery.id))
        if delivery.id in self.deadly:
            raise ChildDied(-SIGSEGV, alone=True)
        return Completed(b'"alone"')

    async def close(self) -> None: ...


def _pool() -> type[_Pool]:
    """A class of its own for each test."""

    class Pool(_Pool):
        ran: list[tuple[str, str]] = []  # noqa: RUF012 - made again by each call
        deadly: set[str] = set()  # noqa: RUF012
        broken = ""
        most: dict[str, int] = {}  # noqa: RUF012

    return Pool


class Suspects:
    """Tests that no innocent message is blamed for a crash."""

    async def test_after_two_crashes_it_runs_alone(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            pool = _pool()
            id, runs = await _killed_twice(stage, pool)
            assert len(runs) == 2
            await stage.start(children=pool)
            record = await stage.ended(id)
            assert (record.state, record.result) == (MessageState.COMPLETED, b'"alone"')
            assert pool.ran == [("solo", id)]
            assert len(runs) == 2, "a suspect ran in the worker itself"

    async def test_after_one_crash_it_runs_as_ever(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            pool = _pool()
            id, runs = await _killed_twice(stage, pool, times=1)
            await stage.start(children=pool)
            assert (await stage.ended(id)).state is MessageState.COMPLETED
            assert (len(runs), pool.ran) == (2, [])

    async def test_after_three_losses_it_runs_alone(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            pool = _pool()
            id, runs = await _lost(stage, 3)
            await stage.start(children=pool)
            record = await stage.ended(id)
            assert (record.state, record.result) == (MessageState.COMPLETED, b'"alone"')
            assert (runs, pool.ran) == ([], [("solo", id)])

    async def test_after_two_losses_it_runs_as_ever(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            pool = _pool()
            id, runs = await _lost(stage, 2)
            await stage.start(children=pool)
            assert (await stage.ended(id)).state is MessageState.COMPLETED
            assert (len(runs), pool.ran) == (1, [])

    async def test_twelve_losses_are_nine_alone_and_it_is_tried_again(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            pool = _pool()
            id, _ = await _lost(stage, 12)
            await stage.start(children=pool)
            assert (await stage.ended(id)).state is MessageState.COMPLETED
            assert pool.ran == [("solo", id)]

    async def test_a_crash_alone_ends_with_the_dead_letters_and_names_the_signal(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            pool = _pool()
            id, _ = await _killed_twice(stage, pool)
            pool.deadly.add(id)
            actor = await stage.start(children=pool)
            record = await stage.ended(id)
            assert record.state is MessageState.DEAD
            assert record.reason is not None
            assert record.reason.code == "crashed_alone"
            assert "SIGSEGV" in record.reason.text
            await asyncio.sleep(2 * harness.lease_seconds)
            assert pool.ran == [("solo", id)]
            assert actor.counts["dead"] == 1

    async def test_bystanders_of_a_crash_are_never_blamed(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            pool = _pool()
            id, _ = await _killed_twice(stage, pool, bystanders=5)
            pool.deadly.add(id)
            await stage.start(children=pool)
            await stage.settled()
            depth = await harness.depth()
            assert depth.dead == 1
            assert (await harness.record(id)).state is MessageState.DEAD
            assert len(pool.ran) == 6

    async def test_bystanders_do_not_wait_long_for_each_other(self, harness: Harness) -> None:
        async with Stage(harness) as stage:
            pool = _pool()
            await _killed_twice(stage, pool, bystanders=7)
            await stage.start(children=pool)
            began = harness.clock.monotonic()
            await stage.settled()
            assert len(pool.ran) == 8
            assert pool.most == {"solo": 8}, "as many processes as suspects, up to the bound"
            assert harness.clock.monotonic() - began < 10.0

    async def test_one_that_cannot_be_run_alone_is_put_aside_in_the_end(self, harness: Harness) -> None:
        """No child can import the app, because a function made it: the message must not be retried for ever."""
        async with Stage(harness) as stage:
            pool = _pool()
            id, runs = await _killed_twice(stage, pool)
            pool.broken = "no module holds it"
            await stage.start(children=pool)
            began = harness.clock.monotonic()
            await stage.until(lambda: harness.clock.monotonic() - began > GIVE_UP_SECONDS - CHILD_FAILED_SECONDS)
            assert (await harness.record(id)).state is not MessageState.DEAD, "a deploy can still repair it"
            await stage.until(lambda: harness.clock.monotonic() - began > GIVE_UP_SECONDS + 3 * CHILD_FAILED_SECONDS)
            record = await harness.record(id)
            assert record.state is MessageState.DEAD
            assert record.reason is not None
            assert record.reason.code == "cannot_run_alone"
            assert "no module holds it" in record.reason.text
            assert len(runs) == 2, "a suspect ran in the worker itself"


async def _lost(stage: Stage, times: int) -> tuple[str, list[None]]:
    """A message whose workers lost it so often, and its runs since."""
    harness, runs = stage.harness, list[None]()

    @stage.task(max_attempts=1)
    async def work() -> None:
        runs.append(None)

    id = await stage.submit(work.bind())
    for _ in range(times):
        await harness.lease_one(await harness.owner(), queues=(stage.queue,))
        await harness.lapse()
    return id, runs


async def _killed_twice(stage: Stage, pool: Any, *, bystanders: int = 0, times: int = 2) -> tuple[str, list[None]]:
    """A message whose worker was killed so often while it ran, and its runs so far."""
    runs: list[None] = []

    @stage.task(max_attempts=1)
    async def work() -> None:
        runs.append(None)
        await asyncio.sleep(10)

    id = await stage.submit(work.bind())
    for _ in range(bystanders):
        await stage.submit(work.bind())
    for time in range(1, times + 1):
        doomed = await stage.start(children=pool)
        await stage.until(lambda: len(runs) == time * (bystanders + 1))  # noqa: B023 - awaited within its turn
        await stage.kill(doomed)
    return id, runs
