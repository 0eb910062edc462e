"""A lease that is learned: with the heartbeat off nobody renews it, and it ends the run when it ends."""

import asyncio
from typing import Any

import msgspec
import pytest

from tenure import Context
from tenure.claim import ClaimRequest, Running, Scope, digest
from tenure.envelope import decode
from tenure.event import EventKind
from tenure.message import MessageState
from tenure.runtime.delivery import Plan
from tenure.sample import Ended
from tenure.tasks.task import Task
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.workers import Stage
from tenure.timing.learned import LEAST_SECONDS
from tenure.timing.profile import Profile, SizeEstimate, SizeTable

from .taught import LEASE, a_task, delivery_of, learning_for, taught, touches


async def test_a_profile_is_taken_by_name_by_value_or_by_the_task_s_own_name(harness: Harness) -> None:
    for options in ({"profile": "content-processor"}, {"profile": Profile(10, 45, 90, 120)}):
        learning = learning_for(harness, a_task(harness, heartbeat=False, **options))
        assert learning.seconds_by_task() == {"work": 158.0}
    named: Task[..., Any] = Stage(harness).task(name="content-processor", heartbeat=False)(_nothing)
    assert learning_for(harness, named).seconds_by_task() == {"content-processor": 158.0}


async def _nothing() -> None: ...


async def test_who_says_how_long_is_not_corrected(harness: Harness) -> None:
    await taught(harness, 100.0)
    task = a_task(harness, heartbeat=False, lease=45.0)
    learning = learning_for(harness, task)
    await learning.open()
    assert learning.seconds_by_task() == {"work": 45.0}
    delivery = delivery_of(harness, task, seconds=45.0, lost=2)
    assert delivery.message is not None
    assert learning.plan(delivery.lease, delivery.message, task) == Plan(is_renewed=False)
    task = a_task(harness, heartbeat=False)
    delivery = delivery_of(harness, task)
    assert delivery.message is not None
    own = msgspec.structs.replace(delivery.message.overrides, lease_seconds=LEASE)
    message = msgspec.structs.replace(delivery.message, overrides=own)
    assert learning_for(harness, task).plan(delivery.lease, message, task).lease_seconds is None


async def test_the_shortest_work_has_a_lease_that_outlasts_a_hiccup(harness: Harness) -> None:
    await taught(harness, 0.01)
    learning = learning_for(harness, a_task(harness, heartbeat=False))
    await learning.open()
    assert learning.seconds_by_task() == {"work": LEAST_SECONDS}


async def test_a_message_whose_lease_ended_unseen_gets_four_times_as_much_each_time(harness: Harness) -> None:
    await taught(harness, 10.0)
    task = a_task(harness, heartbeat=False)
    learning = learning_for(harness, task)
    await learning.open()
    asked = []
    for lost in range(4):
        delivery = delivery_of(harness, task, lost=lost, seconds=18.0)
        assert delivery.message is not None
        asked.append(learning.plan(delivery.lease, delivery.message, task).lease_seconds)
    assert asked == [None, 72.0, 288.0, 1152.0]


async def test_what_was_lent_for_longer_is_not_made_shorter(harness: Harness) -> None:
    await taught(harness, 1.0)
    task = a_task(harness, heartbeat=False)
    learning = learning_for(harness, task)
    await learning.open()
    delivery = delivery_of(harness, task, seconds=600.0)
    assert delivery.message is not None
    assert learning.plan(delivery.lease, delivery.message, task).lease_seconds is None


async def test_nobody_renews_it_and_it_costs_no_touch(harness: Harness) -> None:
    await taught(harness, 100.0)
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False)
        async def work(ctx: Context) -> float:
            began = harness.clock.monotonic()
            await asyncio.sleep(100)
            return ctx.deadline - began

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()))
        assert msgspec.json.decode(record.result or b"null") == pytest.approx(175.0, abs=1.0)
        assert touches(actor) == 0


async def test_a_broker_that_lends_alike_costs_one_touch_on_arrival(alike: Harness) -> None:
    await taught(alike, 100.0)
    async with Stage(alike) as stage:

        @stage.task(heartbeat=False)
        async def work(ctx: Context) -> float:
            began = alike.clock.monotonic()
            await asyncio.sleep(100)
            return ctx.deadline - began

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()))
        assert msgspec.json.decode(record.result or b"null") == pytest.approx(175.0, abs=1.0)
        assert touches(actor) == 1


@pytest.mark.parametrize("trouble", ["away", "reply lost"])
async def test_a_touch_on_arrival_that_fails_is_tried_again_within_what_was_lent(alike: Harness, trouble: str) -> None:
    """It was lent for 30 s and needs 525: the next try must not wait for as long as the longer lease would allow."""
    await taught(alike, 300.0)
    began: list[float] = []
    async with Stage(alike) as stage:

        @stage.task(heartbeat=False)
        async def work() -> None:
            began.append(alike.clock.monotonic())
            await asyncio.sleep(300)

        actor = await stage.start()
        if trouble == "away":
            actor.wire.away("broker.touch", "ledger.renew")
        else:
            actor.wire.lose_replies("broker.touch", 3)
        id = await stage.submit(work.bind())
        await asyncio.sleep(25)
        actor.wire.back()
        assert (await stage.ended(id)).counters.lost == 0
        assert len(began) == 1


async def test_a_size_is_touched_for_on_arrival_however_often_that_fails_at_first(harness: Harness) -> None:
    began: list[float] = []
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False, size="n", profile=SizeTable((SizeEstimate(100, 300, 500),)))
        async def work(n: int) -> None:
            began.append(harness.clock.monotonic())
            await asyncio.sleep(3 * n)

        actor = await stage.start()
        actor.wire.away("broker.touch")
        id = await stage.submit(work.bind(100))
        await asyncio.sleep(25)
        actor.wire.back()
        assert (await stage.ended(id)).counters.lost == 0
        assert len(began) == 1


async def test_where_it_is_claimed_the_claim_is_the_lease_whether_the_broker_can_be_reached_or_not(
    alike: Harness,
) -> None:
    """It was claimed for 525 s: that nobody could tell the broker so ends no run."""
    await taught(alike, 300.0)
    began: list[float] = []
    async with Stage(alike) as stage:

        @stage.task(heartbeat=False)
        async def work() -> None:
            began.append(alike.clock.monotonic())
            await asyncio.sleep(300)

        actor = await stage.start()
        actor.wire.away("broker.touch")
        id = await stage.submit(work.bind())
        await asyncio.sleep(250)
        actor.wire.back()
        record = await stage.ended(id)
        assert len(began) == 1
        assert record.result == b"null"


async def test_a_handler_that_outlives_its_lease_loses_it_and_settles_nothing(harness: Harness) -> None:
    ended: list[str] = []
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False, lease=10.0)
        async def work(ctx: Context) -> str:
            if len(ended):
                return "second"
            try:
                await asyncio.sleep(3600)
            finally:
                ended.append(f"{harness.clock.monotonic() - ctx.deadline:.1f} {ctx.lease_lost}")
            return "first"

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()))
        assert record.result == b'"second"'
        assert record.counters.lost == 1
        assert ended == ["0.0 True"], "it ends with its lease, and is told why"
        assert actor.counts[EventKind.LEASE_LOST] == 1
        await asyncio.sleep(2)
        kept = [one.sample for one in await harness.state.journal.samples(QUEUE, work.name)]
        assert [one.ended for one in kept] == [Ended.KILLED, Ended.COMPLETED]


async def test_a_handler_may_still_touch_and_then_has_that_long(harness: Harness) -> None:
    async with Stage(harness) as stage:

        @stage.task(heartbeat=False, lease=10.0)
        async def work(ctx: Context) -> str:
            await asyncio.sleep(8)
            await ctx.touch(60)
            await asyncio.sleep(50)
            return "done"

        actor = await stage.start()
        record = await stage.ended(await stage.submit(work.bind()))
        assert (record.result, record.counters.lost) == (b'"done"', 0)
        assert touches(actor) == 1


@pytest.mark.parametrize("touching", [False, True])
async def test_a_claim_lasts_as_long_as_the_lease_also_where_that_was_lent_for_longer_than_it_needs(
    alike: Harness, touching: bool
) -> None:
    await taught(alike, 1.0)
    runs: list[float] = []
    async with Stage(alike) as stage:

        @stage.task(heartbeat=False)
        async def work(ctx: Context) -> None:
            runs.append(ctx.deadline)
            if touching:
                await ctx.touch(1)
            await asyncio.sleep(20)
            runs.append(ctx.deadline)

        actor = await stage.start()
        id = await stage.submit(work.bind(), key="one")
        await asyncio.sleep(10)
        (mine,) = await alike.broker.held(actor.worker.owner_id)
        message = decode(mine.envelope)
        request = ClaimRequest(Scope.of(message), id, alike.stranger(), LEASE, digest(message))
        (other,) = await alike.state.ledger.claim([request])
        assert isinstance(other, Running), "another copy of it was let in"
        assert (await stage.ended(id)).counters.lost == 0
        assert runs[0] == pytest.approx(runs[1], abs=0.1)
        assert touches(actor) == touching


async def test_a_cancel_reaches_it_though_nobody_renews_and_renews_nothing(harness: Harness) -> None:
    async with Stage(harness) as stage:
        deadlines: list[float] = []

        @stage.task(heartbeat=False, lease=1000.0)
        async def work(ctx: Context, name: str) -> None:
            try:
                await asyncio.sleep(900)
            finally:
                deadlines.append(ctx.deadline)

        actor = await stage.start()
        first, second = [await stage.submit(work.bind(name)) for name in ("first", "second")]
        await asyncio.sleep(10)
        lent = {lease.id: lease.deadline for lease in await harness.broker.held(actor.worker.owner_id)}
        assert await harness.broker.cancel([first]) == [MessageState.LEASED]
        await asyncio.sleep(10)
        assert len(deadlines) == 1
        now = {lease.id: lease.deadline for lease in await harness.broker.held(actor.worker.owner_id)}
        assert now[second] == pytest.approx(lent[second], abs=1.5)


async def test_while_it_waits_for_a_place_its_lease_is_renewed_and_then_it_has_all_of_it(harness: Harness) -> None:
    async with Stage(harness) as stage:
        left: list[float] = []

        @stage.task(heartbeat=False, lease=12.0, concurrency=1)
        async def work(ctx: Context) -> None:
            await asyncio.sleep(0.5)
            left.append(round(ctx.deadline - harness.clock.monotonic(), 1))
            await asyncio.sleep(7.5)

        await stage.start(concurrency=4)
        ids = [await stage.submit(work.bind()) for _ in range(3)]
        for id in ids:
            assert (await stage.ended(id)).counters.lost == 0
        assert left == [11.5, 11.5, 11.5]
