"""The guard: a manager hears of a change at once, of nothing else often, and its silence stops no worker."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

from tenure.platforms.calls import Unanswered
from tenure.platforms.guard import AGAIN_SECONDS, CALM_SECONDS, Guard
from tenure.testing.virtual import VirtualClock


class Manager:
    """Keeps what it hears; away while `is_away`."""

    name = "the manager"
    renew_seconds = 600.0

    def __init__(self, clock: Any) -> None:
        self.heard: list[tuple[float, int]] = []
        self.is_away = False
        self.asked = 0
        self._clock = clock
        self._began = clock.monotonic()

    async def tell(self, held: int) -> None:
        self.asked += 1
        if self.is_away:
            raise Unanswered("no answer")
        self.heard.append((round(self._clock.monotonic() - self._began), held))


class Holder:
    def __init__(self) -> None:
        self.held = 0


@contextlib.asynccontextmanager
async def guarded(clock: VirtualClock) -> AsyncIterator[tuple[Manager, Holder]]:
    manager, holder = Manager(clock), Holder()
    job = asyncio.create_task(Guard(manager, lambda: holder.held, clock).run())
    try:
        yield manager, holder
    finally:
        job.cancel()
        await asyncio.gather(job, return_exceptions=True)


async def test_a_manager_hears_of_the_first_lease_within_a_second_and_of_calm_after_five(
    virtual_clock: VirtualClock,
) -> None:
    async with guarded(virtual_clock) as (manager, holder):
        await asyncio.sleep(10.5)
        holder.held = 3
        await asyncio.sleep(1.0)
        assert manager.heard == [(0, 0), (11, 3)]
        holder.held = 0
        await asyncio.sleep(CALM_SECONDS + 1)
        assert manager.heard == [(0, 0), (11, 3), (16, 0)]


async def test_a_gap_between_two_messages_is_no_calm(virtual_clock: VirtualClock) -> None:
    async with guarded(virtual_clock) as (manager, holder):
        for _ in range(20):
            holder.held = 1
            await asyncio.sleep(2)
            holder.held = 0
            await asyncio.sleep(2)
        assert [held for _, held in manager.heard] == [1]


async def test_a_long_run_is_renewed_before_the_manager_forgets(virtual_clock: VirtualClock) -> None:
    async with guarded(virtual_clock) as (manager, holder):
        await asyncio.sleep(0.5)
        holder.held = 1
        await asyncio.sleep(3600)
        times = [at for at, held in manager.heard if held]
        assert all(later - at <= manager.renew_seconds + 1 for at, later in pairwise(times))
        assert len(times) == 6


async def test_a_manager_that_is_away_is_asked_again_and_then_knows(virtual_clock: VirtualClock) -> None:
    async with guarded(virtual_clock) as (manager, holder):
        manager.is_away, holder.held = True, 2
        await asyncio.sleep(60)
        assert manager.asked <= 60 / AGAIN_SECONDS + 1
        manager.is_away = False
        await asyncio.sleep(AGAIN_SECONDS + 1)
        assert [held for _, held in manager.heard] == [2]


async def test_at_the_end_nothing_is_held(virtual_clock: VirtualClock) -> None:
    async with guarded(virtual_clock) as (manager, holder):
        holder.held = 1
        await asyncio.sleep(2)
    assert [held for _, held in manager.heard] == [1, 0]
