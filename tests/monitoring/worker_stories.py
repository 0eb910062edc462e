"""Messages and workers in every way that they can end: what the catalogue says of it is compared with it.

On stores in memory, in virtual time.
"""

import asyncio
from typing import Any, cast

from tests.monitoring.watched import Watched, events_of, is_running, until_told

from tenure.event import Event, EventKind
from tenure.tasks.call import Options
from tenure.tasks.context import Context
from tenure.testing.harness import Harness
from tenure.testing.operated import operate_on
from tenure.testing.workers import Actor, Stage
from tenure.verdict import Snooze


async def tasks_that_end_in_every_way(harness: Harness, scrapes: list[str]) -> list[Event]:
    async with harness, Watched(harness, scrapes) as stage:
        runs: list[str] = []

        @stage.task(detail=1.0, keep_payload=True)
        async def good(ctx: Context, text: str) -> None:
            await ctx.set_size(2**20)
            await asyncio.sleep(0.9 * harness.lease_seconds)

        @stage.task(max_attempts=2, retry_delay=0.1)
        async def bad() -> None:
            raise LookupError

        @stage.task
        async def later(ctx: Context) -> None:
            runs.append(ctx.message.id)
            if runs.count(ctx.message.id) < 2:
                raise Snooze(after=5.0)

        calls: list[tuple[Any, Options]] = [
            (good.bind("x"), {"correlation_id": "order-7"}), (bad.bind(), {}), (later.bind(), {})
        ]  # fmt: skip
        ids = [await stage.submit(call, **options) for call, options in calls]
        await stage.start(tasks={"good": good, "bad": bad, "later": later})
        for id in ids:
            await stage.ended(id)
        other = await stage.submit(cast("Any", stage.task(name="unknown")(_nothing)).bind())
        await until_told(stage, EventKind.GIVEN_BACK, EventKind.DELETION)
        assert other
        return await events_of(harness)


async def _nothing() -> None: ...


async def leases_that_are_lost(harness: Harness, scrapes: list[str]) -> list[Event]:
    async with harness, Watched(harness, scrapes) as stage:
        operate = operate_on(harness)

        @stage.task
        async def slow() -> None:
            await asyncio.sleep(10 * harness.lease_seconds)

        @stage.task(detail=1.0)
        async def long() -> None:
            await asyncio.sleep(2 * harness.lease_seconds)

        id = await stage.submit(slow.bind())
        first = await stage.start()
        await is_running(stage, first)
        await operate.cancel([id])
        await until_told(stage, EventKind.LEASE_LOST)
        again = await stage.submit(long.bind())
        await is_running(stage, first)
        first.wire.away("broker.touch")
        await until_told(stage, EventKind.HEARTBEAT_FAILED)
        first.wire.back()
        await stage.ended(again)
        first.worker._path.facts.on_blocked(0.5, "a line")
        await stage.submit(long.bind())
        await is_running(stage, first)
        first.wire.freeze()
        second = await stage.start()
        await is_running(stage, second)
        await stage.until(lambda: not first.worker._path.handling.running)
        first.wire.thaw()
        await until_told(stage, EventKind.LATE_SETTLE)
        await stage.stop(second)
        await _taken_over(stage, first, await stage.submit(slow.bind()))
        cancelled = await stage.submit(long.bind())
        await stage.until(lambda: cancelled in first.worker._path.handling.running_ids)
        first.wire.freeze()
        await operate.cancel([cancelled])
        await stage.until(lambda: cancelled not in first.worker._path.handling.running_ids)
        first.wire.thaw()
        await stage.until(lambda: first.counts.get("late_settle") == 2)
        await stage.stop(first)
        return await events_of(harness)


async def _taken_over(stage: Stage, first: Actor, id: str) -> None:
    """A worker is silent while it runs a message, and finds that another one has it."""
    await stage.until(lambda: id in first.worker._path.handling.running_ids)
    first.wire.freeze()
    second = await stage.start()
    await stage.until(lambda: id in second.worker._path.handling.running_ids)
    first.wire.thaw()
    await stage.until(lambda: id not in first.worker._path.handling.running_ids)
    await operate_on(stage.harness).cancel([id])
    await stage.until(lambda: id not in second.worker._path.handling.running_ids)
    await stage.stop(second)


async def deletes_that_fail(harness: Harness, scrapes: list[str]) -> list[Event]:
    async with harness, Watched(harness, scrapes) as stage:

        @stage.task
        async def work() -> None: ...

        id = await stage.submit(work.bind(), correlation_id="order-8")
        wire = stage.wire()
        wire.away("broker.ack")
        first = await stage.start(wire=wire)
        await stage.until(lambda: "broker.ack" in wire.said)
        await stage.kill(first)
        second = await stage.start()
        await until_told(stage, EventKind.DUPLICATE)
        second.wire.away("broker.ack", "broker.touch")
        await stage.submit(work.bind())
        await stage.until(lambda: "broker.ack" in second.wire.said)
        wire = stage.wire()
        wire.away("broker.ack")
        third = await stage.start(wire=wire)
        await stage.until(lambda: "broker.ack" in third.wire.said)
        second.wire.back()
        await until_told(stage, EventKind.COMPLETED)
        assert id
        third.wire.back()
        await stage.stop(second)
        return await events_of(harness)


async def workers_that_come_and_go(harness: Harness, scrapes: list[str]) -> list[Event]:
    async with harness, Watched(harness, scrapes) as stage:

        @stage.task(max_attempts=1)
        async def work() -> None:
            await asyncio.sleep(3600.0)

        await stage.submit(work.bind())
        first = await stage.start()
        await is_running(stage, first)
        await stage.kill(first)
        second = await stage.start()
        await until_told(stage, EventKind.OWNER_RETIRED, EventKind.REQUEUE)
        await operate_on(harness, tasks=stage.tasks).stop_worker(second.worker.owner_id)
        await until_told(stage, EventKind.OWNER_LEFT)
        return await events_of(harness)


async def sweeps(harness: Harness, scrapes: list[str]) -> list[Event]:
    async with harness, Watched(harness, scrapes) as stage:

        @stage.task
        async def work() -> None: ...

        holder = harness.stranger()
        await harness.sweep()
        await harness.leased(holder, queue="other")
        await asyncio.sleep(100.0)
        await stage.start()
        await until_told(stage, EventKind.SWEEP_GRACE, EventKind.REQUEUE)
        for _ in range(harness.max_attempts):
            await asyncio.sleep(3 * harness.lease_seconds)
            await harness.lease(holder, queues=("other",))
        await until_told(stage, EventKind.MOVE_TO_DLQ)
        return await events_of(harness)
