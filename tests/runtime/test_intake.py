"""Intake: leases batches while there is room for them."""

import asyncio

import msgspec
import pytest

from tenure.message import Overrides
from tenure.runtime.path.intake import IDLE_SECONDS
from tenure.testing.harness import QUEUE, Harness

from .letting_in import Bench, fetching


async def test_it_takes_as_many_as_there_are_slots(harness: Harness) -> None:
    await harness.put_many(10)
    async with fetching(harness, concurrency=4) as bench:
        await asyncio.sleep(1)
        assert (bench.asked, len(bench.ids)) == ([4], 4)
        assert (bench.slots.running, bench.slots.unsettled) == (4, 4)
        bench.slots.finish()
        bench.slots.finish()
        await asyncio.sleep(1)
        assert (bench.asked, len(bench.ids)) == ([4, 2], 6)


async def test_it_asks_for_no_more_than_the_broker_takes(small: Harness) -> None:
    await small.put_many(7)
    async with fetching(small, concurrency=50) as bench:
        await asyncio.sleep(1)
        assert max(bench.asked) == small.traits.batch_limit
        assert len(bench.ids) == 7


async def test_from_a_store_that_works_beside_it_takes_half_of_the_slots_at_a_time(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it runs the one half while the store hands out the other. Few slots are not split: a call has its price."""
    traits = msgspec.structs.replace(harness.traits, works_beside=True)
    monkeypatch.setattr(type(harness.broker), "traits", property(lambda _: traits))
    await harness.put_many(200)
    async with fetching(harness, concurrency=160) as bench:
        await asyncio.sleep(1)
        assert (bench.asked, len(bench.ids)) == ([80, 80], 160)
    async with fetching(harness, concurrency=30) as bench:
        await asyncio.sleep(1)
        assert bench.asked[0] == 30


async def test_fewer_than_wanted_is_no_reason_to_wait(narrow: Harness) -> None:
    """A lease call is bounded in bytes, so one that answers little may leave much behind."""
    for _ in range(8):
        await narrow.put(body="x" * 4000)
    async with fetching(narrow, concurrency=50) as bench:
        await asyncio.sleep(0.1)
        assert len(bench.asked) >= 4, "two fit into one call"
        assert len(bench.ids) == 8, "it waited though more was ready"


@pytest.mark.parametrize(("of_message", "expected"), [(None, 90.0), (45.0, 45.0)])
async def test_a_lease_of_its_own_counts_also_where_the_broker_lends_all_alike(
    alike: Harness, of_message: float | None, expected: float
) -> None:
    """Lent before anybody could read it: from its first touch on it is held for as long as it should be."""
    await alike.put(overrides=Overrides(lease_seconds=of_message))
    async with fetching(alike, lease=90.0) as bench:
        await asyncio.sleep(1)
        assert [delivery.lease.seconds for delivery in bench.stages.admitted] == [expected]


async def test_an_idle_intake_is_woken_by_a_message(harness: Harness) -> None:
    async with fetching(harness) as bench:
        await asyncio.sleep(IDLE_SECONDS * 1.5)
        message = await harness.put()
        await asyncio.sleep(0.1)
        assert bench.ids == [message.id]


async def test_an_idle_intake_asks_rarely(harness: Harness) -> None:
    async with fetching(harness) as bench:
        await asyncio.sleep(IDLE_SECONDS * 10)
        assert len(bench.asked) <= 12


async def test_stopping_ends_the_wait_at_once_and_leases_no_more(harness: Harness) -> None:
    bench = Bench(harness, await harness.owner(), 1)
    task = asyncio.create_task(bench.intake.run())
    await asyncio.sleep(1)
    bench.intake.stop()
    async with asyncio.timeout(0.01):
        await task
    await harness.put()
    await asyncio.sleep(10)
    assert bench.ids == []


async def test_what_a_lease_call_under_way_lends_is_let_in_while_stopping(harness: Harness) -> None:
    message = await harness.put()
    bench = Bench(harness, await harness.owner(), 1)
    bench.wire.spy = lambda *_: bench.wire.freeze()
    task = asyncio.create_task(bench.intake.run())
    await asyncio.sleep(1)
    bench.intake.stop()
    bench.wire.spy = lambda *_: None
    bench.wire.thaw()
    async with asyncio.timeout(1):
        await task
    assert bench.ids == [message.id], "it would be nobody's"


async def test_a_stop_while_a_lease_call_is_under_way_that_lends_nothing_is_not_missed(harness: Harness) -> None:
    bench = Bench(harness, await harness.owner(), 1)
    bench.wire.spy = lambda *_: bench.wire.freeze()
    task = asyncio.create_task(bench.intake.run())
    await asyncio.sleep(1)
    bench.intake.stop()
    bench.wire.spy = lambda *_: None
    bench.wire.thaw()
    await asyncio.sleep(IDLE_SECONDS / 10)
    assert task.done()  # not `wait_for`: its cancelling would end it too


async def test_a_broker_that_is_away_is_asked_again(harness: Harness) -> None:
    message = await harness.put()
    async with fetching(harness) as bench:
        bench.wire.away()
        await asyncio.sleep(30)
        bench.wire.back()
        await asyncio.sleep(3)
        assert bench.ids == [message.id]


async def test_what_a_lost_reply_lent_is_found_by_its_request(harness: Harness) -> None:
    messages = await harness.put_many(3)
    async with fetching(harness) as bench:
        bench.wire.lose_replies("broker.lease")
        await asyncio.sleep(1)
        assert bench.ids == [message.id for message in messages]


async def test_what_a_lost_reply_lent_is_asked_for_until_there_is_an_answer(harness: Harness) -> None:
    messages = await harness.put_many(3)
    async with fetching(harness, concurrency=3) as bench:
        bench.wire.lose_replies("broker.lease")
        bench.wire.away("broker.held")
        await asyncio.sleep(10)
        assert bench.ids == []
        bench.wire.back()
        await asyncio.sleep(3)
        assert bench.ids == [message.id for message in messages]
        assert bench.asked == [3], "more was leased before it was known what was lent"


async def test_an_owner_that_was_declared_dead_joins_again(harness: Harness) -> None:
    async with fetching(harness) as bench:
        old = bench.stages.owner_id
        await harness.broker.retire(old, crashed=True)
        message = await harness.put()
        await asyncio.sleep(IDLE_SECONDS * 2)
        assert bench.ids == [message.id]
        assert bench.stages.owner_id != old


# --- paused queues -----------------------------------------------------------------------------------


async def test_nothing_is_leased_from_a_paused_queue(harness: Harness) -> None:
    message = await harness.put()
    bench = Bench(harness, await harness.owner(), 1)
    bench.intake.pause({QUEUE, "another"})
    task = asyncio.create_task(bench.intake.run())
    await asyncio.sleep(100)
    assert bench.asked == []
    bench.intake.pause(())
    await asyncio.sleep(0.1)
    assert bench.ids == [message.id], "it did not notice that the queue was resumed"
    bench.intake.stop()
    async with asyncio.timeout(1):
        await task


async def test_the_other_queues_are_served_while_one_is_paused(harness: Harness) -> None:
    bench = Bench(harness, await harness.owner(), 10, queues=(QUEUE, "other"))
    queues: list[tuple[str, ...]] = []
    bench.wire.spy = lambda name, args: queues.append(args[0].queues) if name == "broker.lease" else None
    task = asyncio.create_task(bench.intake.run())
    await asyncio.sleep(1)
    bench.intake.pause({"other"})
    await asyncio.sleep(0.1)
    assert queues[-1] == (QUEUE,)
    paused, served = await harness.put(queue="other"), await harness.put()
    await asyncio.sleep(1)
    assert bench.ids == [served.id]
    bench.intake.pause(())
    await asyncio.sleep(0.1)
    assert bench.ids == [served.id, paused.id], "it waited on for the queues that were open before"
    bench.intake.stop()
    async with asyncio.timeout(1):
        await task


async def test_a_pause_ends_the_wait_only_once(harness: Harness) -> None:
    async with fetching(harness) as bench:
        await asyncio.sleep(1)
        for queues in ({QUEUE}, set[str](), {QUEUE}):
            bench.intake.pause(queues)
            await asyncio.sleep(0)
        await asyncio.sleep(1)
        message = await harness.put()
        await asyncio.sleep(1)
        assert bench.ids == []
        bench.intake.pause(())
        await asyncio.sleep(0.1)
        assert bench.ids == [message.id]


async def test_what_a_lost_reply_lent_is_looked_after_though_all_is_paused(harness: Harness) -> None:
    message = await harness.put()
    async with fetching(harness, concurrency=1) as bench:
        bench.wire.lose_replies("broker.lease")
        bench.wire.away("broker.held")
        await asyncio.sleep(1)
        bench.intake.pause({QUEUE})
        bench.wire.back()
        await asyncio.sleep(3)
        assert bench.ids == [message.id]


async def test_stopping_ends_the_wait_of_a_paused_intake_at_once(harness: Harness) -> None:
    bench = Bench(harness, await harness.owner(), 1)
    bench.intake.pause({QUEUE})
    task = asyncio.create_task(bench.intake.run())
    await asyncio.sleep(1)
    bench.intake.stop()
    async with asyncio.timeout(0.01):
        await task
