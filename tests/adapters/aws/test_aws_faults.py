"""Calls that fail, are late, or whose answer is lost: each ends as it must, nothing is lost, nothing is run twice."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.adapters.aws.house import Nth, ProxiedHarness, asks

from tenure.context import Context
from tenure.errors import BrokerUnavailable
from tenure.lease import Lease
from tenure.message import Counters, MessageState
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN
from tenure.testing.workers import Stage

#: More than any act makes.
MOST_CALLS = 12


@pytest.fixture
def house() -> ProxiedHarness:
    return ProxiedHarness()


async def test_a_delete_whose_reply_was_lost_is_repeated_and_deletes_once(house: ProxiedHarness) -> None:
    async with Stage(house) as stage:
        runs: list[str] = []

        @stage.task
        async def work(ctx: Context) -> None:
            runs.append(ctx.message.id)

        rule = house.proxy.rule(asks("DeleteMessageBatch"), house.proxy.drop_reply, times=1)
        id = await stage.submit(work.bind())
        actor = await stage.start()
        record = await stage.ended(id)
        await stage.until(lambda: actor.counts.get("completed", 0) == 1)
        await asyncio.sleep(4 * house.lease_seconds)
        assert (record.state, runs, rule.used) == (MessageState.COMPLETED, [id], 1)
        assert "duplicate" not in actor.counts


async def test_a_touch_whose_reply_was_lost_leaves_the_handler_at_work(house: ProxiedHarness) -> None:
    async with Stage(house) as stage:
        runs: list[str] = []

        @stage.task
        async def work(ctx: Context) -> None:
            runs.append(ctx.message.id)
            await asyncio.sleep(2 * house.lease_seconds)

        rule = house.proxy.rule(asks("ChangeMessageVisibilityBatch"), house.proxy.drop_reply, times=2)
        id = await stage.submit(work.bind())
        actor = await stage.start()
        record = await stage.ended(id)
        assert (record.state, runs, rule.used) == (MessageState.COMPLETED, [id], 2)
        assert actor.counts.get("heartbeat_failed", 0) >= 1
        assert "lease_lost" not in actor.counts


@pytest.mark.parametrize(
    ("status", "code"), [(400, "RequestThrottled"), (429, ""), (503, "ServiceUnavailable"), (500, "InternalError")]
)
async def test_a_minute_of_trouble_makes_it_slower_and_loses_nothing(
    house: ProxiedHarness, status: int, code: str
) -> None:
    async with Stage(house) as stage:
        runs: list[str] = []

        @stage.task
        async def work(ctx: Context) -> None:
            runs.append(ctx.message.id)

        ids = [await stage.submit(work.bind()) for _ in range(5)]
        body = b'{"__type":"%s","message":"later"}' % code.encode()
        rule = house.proxy.rule(
            lambda _: True, house.proxy.answer(status, body, content_type="application/x-amz-json-1.0")
        )
        actor = await _start_later(stage, rule)
        await asyncio.sleep(60)
        assert runs == []
        house.proxy.clear()
        for id in ids:
            assert (await stage.ended(id)).state is MessageState.COMPLETED
        await asyncio.sleep(2 * house.lease_seconds)
        assert sorted(runs) == sorted(ids)
        assert rule.used > 0
        assert actor is not None


async def _start_later(stage: Any, rule: Any) -> Any:
    """A worker that was there before the trouble began."""
    times, rule.times = rule.times, 0
    actor = await stage.start()
    rule.times = times
    return actor


async def test_a_receive_whose_reply_was_lost_costs_one_lease_and_counts_nothing(house: ProxiedHarness) -> None:
    message = await house.put()
    house.proxy.rule(asks("ReceiveMessage"), house.proxy.drop_reply, times=1)
    with pytest.raises(BrokerUnavailable) as raised:
        await house.lease(house.stranger())
    assert raised.value.outcome_unknown
    assert await house.lease(house.stranger()) == []
    await house.advance(house.lease_seconds + 11)
    lease = await house.lease_one(house.stranger())
    assert (lease.id, lease.counters) == (message.id, Counters(deliveries=1))


async def test_a_send_whose_reply_was_lost_is_repeated_and_makes_one(house: ProxiedHarness) -> None:
    message = house.message()
    house.proxy.rule(asks("SendMessageBatch"), house.proxy.drop_reply, times=1)
    with pytest.raises(BrokerUnavailable):
        await house.send(message)
    (again,) = await house.send(message)
    assert again.duplicate
    assert [one.id for one in await house.lease_all(house.stranger())] == [message.id]


def _nack(house: ProxiedHarness, lease: Lease) -> Awaitable[Any]:
    return house.broker.nack([Nack(lease, 0.0, BROKEN)])


def _give_back(house: ProxiedHarness, lease: Lease) -> Awaitable[Any]:
    return house.broker.give_back([GiveBack(lease)])


def _dead_letter(house: ProxiedHarness, lease: Lease) -> Awaitable[Any]:
    return house.broker.dead_letter([DeadLetter(lease, BROKEN)])


def _ack(house: ProxiedHarness, lease: Lease) -> Awaitable[Any]:
    return house.broker.ack([Ack(lease)])


@pytest.mark.parametrize("act", [_nack, _give_back, _dead_letter, _ack])
@pytest.mark.parametrize("way", ["cut", "drop_reply"])
async def test_a_crash_after_any_call_of_a_settle_loses_nothing(
    house: ProxiedHarness, act: Callable[[ProxiedHarness, Lease], Awaitable[Any]], way: str
) -> None:
    for number in range(MOST_CALLS):
        lease = await house.leased(house.stranger(), queue=f"queue-{number}")
        rule = house.proxy.rule(Nth(number), getattr(house.proxy, way), times=1)
        with contextlib.suppress(BrokerUnavailable):
            await act(house, lease)
        was_hit, rule.times = rule.used, 0
        # Its process is gone: whoever comes next knows only what the services know.
        await house.reopen()
        await house.advance(house.lease_seconds * 2)
        record = await house.state.records.get(lease.id)
        found = await house.lease_all(house.stranger(), queues=(lease.queue,))
        if record is None or record.state is MessageState.DEAD:
            assert found == [], (number, record)
        else:
            assert [one.id for one in found] == [lease.id], (number, record)
            assert record.counters.attempts <= 1
        if record is not None and record.state is MessageState.DEAD:
            (browsed,) = await house.broker.browse(lease.queue, MessageState.DEAD)
            assert (browsed.id, browsed.envelope) == (lease.id, lease.envelope)
        if not was_hit:
            return
    raise AssertionError("an act takes more calls than were tried")


@pytest.mark.parametrize("way", ["cut", "drop_reply"])
async def test_a_crash_after_any_call_of_a_redrive_loses_nothing(house: ProxiedHarness, way: str) -> None:
    for number in range(MOST_CALLS * 2):
        lease = await house.leased(house.stranger(), queue=f"queue-{number}")
        await house.broker.dead_letter([DeadLetter(lease, BROKEN)])
        rule = house.proxy.rule(Nth(number), getattr(house.proxy, way), times=1)
        with contextlib.suppress(BrokerUnavailable):
            await house.broker.redrive([lease.id])
        was_hit, rule.times = rule.used, 0
        await house.reopen()
        await house.broker.redrive([lease.id])
        found = await house.lease_all(house.stranger(), queues=(lease.queue,))
        assert [one.id for one in found] == [lease.id], number
        assert b'"generation":1' in found[0].envelope
        if not was_hit:
            return
    raise AssertionError("a redrive takes more calls than were tried")


async def test_an_answer_that_comes_late_is_waited_for(house: ProxiedHarness) -> None:
    house.proxy.rule(asks("SendMessageBatch"), house.proxy.delay(0.3), times=1)
    message = await house.put()
    lease = await house.lease_one(house.stranger())
    (settlement,) = await house.broker.ack([Ack(lease)])
    assert (lease.id, settlement.outcome) == (message.id, Outcome.DELETED)
