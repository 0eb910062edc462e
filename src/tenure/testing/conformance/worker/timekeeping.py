"""Timekeeping: the clocks of senders and workers may be wrong by an hour, and a machine may sleep."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from tenure.client.client import Client
from tenure.message import MessageState
from tenure.tasks.context import Context
from tenure.tasks.schedule import schedule_from
from tenure.testing.harness import Harness
from tenure.testing.virtual import SkewedClock
from tenure.testing.workers import Stage

HOUR = 3600.0
WRONG = (HOUR, -HOUR)


class Timekeeping:
    """Ticks and `expires` go by the store's clock alone."""

    async def test_workers_with_wrong_clocks_run_what_is_fresh(self, harness: Harness) -> None:
        for ahead in WRONG:
            async with Stage(harness) as stage:

                @stage.task
                async def work() -> None: ...

                id = await stage.submit(work.bind(), expires=600.0)
                await stage.start(clock=SkewedClock(harness.clock, ahead))
                assert (await stage.ended(id)).state is MessageState.COMPLETED

    async def test_workers_with_wrong_clocks_put_aside_what_has_expired(self, harness: Harness) -> None:
        for ahead in WRONG:
            async with Stage(harness) as stage:

                @stage.task
                async def work() -> None: ...

                id = await stage.submit(work.bind(), expires=20.0)
                await harness.advance(30.0)
                await stage.start(clock=SkewedClock(harness.clock, ahead))
                record = await stage.ended(id)
                assert (record.state, record.reason and record.reason.code) == (MessageState.DEAD, "expired")

    async def test_what_senders_with_wrong_clocks_send_expires_in_time(self, harness: Harness) -> None:
        for ahead in WRONG:
            async with Stage(harness) as stage, _client(harness, ahead) as client:

                @stage.task
                async def work() -> None: ...

                handles = [await client.submit(work.bind(), {"expires": seconds}) for seconds in (20.0, 600.0)]
                handles += await client.submit_many([work.bind(), work.bind().having(expires=20.0)], {})
                await harness.advance(30.0)
                await stage.start()
                states = [(await stage.ended(handle.id)).state for handle in handles]
                assert states == [MessageState.DEAD, MessageState.COMPLETED, MessageState.COMPLETED, MessageState.DEAD]

    async def test_a_moment_is_one_of_the_stores_clock(self, harness: Harness) -> None:
        for ahead in WRONG:
            async with Stage(harness) as stage, _client(harness, ahead) as client:

                @stage.task
                async def work() -> None: ...

                moment = datetime.fromtimestamp(harness.state.wall() + 300.0, UTC)
                handle = await client.submit(work.bind(), {"at": moment})
                assert (await harness.record(handle.id)).due_in == pytest.approx(300.0, abs=2.0)

    async def test_what_is_handed_on_expires_by_the_stores_clock(self, harness: Harness) -> None:
        for ahead in WRONG:
            async with Stage(harness) as stage:
                children: list[str] = []

                @stage.task
                async def child() -> None: ...

                @stage.task
                async def parent(ctx: Context) -> None:
                    children.append(ctx.submit(child.bind(), expires=600.0))  # noqa: B023 - of this round

                id = await stage.submit(parent.bind())
                actor = await stage.start(clock=SkewedClock(harness.clock, ahead), tasks={"parent": parent})
                assert (await stage.ended(id)).state is MessageState.COMPLETED
                await stage.end(actor)
                await stage.start()
                assert (await stage.ended(children[0])).state is MessageState.COMPLETED

    async def test_workers_with_wrong_clocks_send_ticks_on_time(self, harness: Harness) -> None:
        for ahead in WRONG:
            async with Stage(harness) as stage:
                late: list[float] = []

                @stage.task
                async def work(ctx: Context) -> None:
                    assert ctx.scheduled_for is not None
                    late.append(harness.state.wall() - ctx.scheduled_for.timestamp())  # noqa: B023 - of this round

                line = schedule_from(f"by {ahead}", work.bind(), every=60)
                await stage.start(clock=SkewedClock(harness.clock, ahead), schedules=[line])
                await asyncio.sleep(150)
                assert len(late) in (2, 3), late
                assert all(-1.0 < one < 15.0 for one in late), late

    async def test_a_worker_whose_machine_slept_renews_its_leases_at_once(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def work() -> None:
                await asyncio.sleep(10)

            for _ in range(3):
                await stage.submit(work.bind())
            actor = await stage.start()
            await stage.until(lambda: actor.worker.in_flight == 3)
            touched: list[int] = []
            actor.wire.spy = lambda name, given: touched.append(len(given[0])) if name == "broker.touch" else None
            harness.clock.suspend(HOUR)
            await asyncio.sleep(1.5)
            assert sum(touched) == 3, touched


@asynccontextmanager
async def _client(harness: Harness, ahead: float) -> AsyncIterator[Client]:
    """Make the client of a sender whose machine's clock is that far ahead."""
    client = Client(harness.broker, harness.state, SkewedClock(harness.clock, ahead), client="test", namespace=None)
    await client.open()
    try:
        yield client
    finally:
        await client.close()
