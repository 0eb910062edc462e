"""Calls that fail, are late, or whose answer is lost: each ends as it must, nothing is lost, nothing is run twice."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]
from tests.adapters.aws.house import ProxiedHarness, asks
from tests.servers.proxy_http import Act, Call

from tenure.adapters.aws.faults import translate
from tenure.errors import BrokerUnavailable
from tenure.lease import LeaseState
from tenure.message import Counters, MessageState
from tenure.settlement import Ack, Nack, Outcome
from tenure.tasks.context import Context
from tenure.testing.harness import BROKEN
from tenure.testing.workers import Stage


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
    ("status", "code"),
    [(400, "OverLimit"), (429, ""), (503, ""), (500, "InternalError"), (400, "ProvisionedThroughputExceededException")],
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


@pytest.mark.parametrize("code", ["RequestThrottled", "ThrottlingException", "KmsThrottled", "SlowDown"])
def test_what_asks_for_patience_did_nothing_and_is_tried_again(code: str) -> None:
    answer = {"Error": {"Code": code, "Message": "later"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    error = translate(ClientError(answer, "SendMessage"), "send_message_batch", "SQS")
    assert isinstance(error, BrokerUnavailable)
    assert not error.outcome_unknown


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


async def test_an_answer_that_comes_late_is_waited_for(house: ProxiedHarness) -> None:
    house.proxy.rule(asks("SendMessageBatch"), house.proxy.delay(0.3), times=1)
    message = await house.put()
    lease = await house.lease_one(house.stranger())
    (settlement,) = await house.broker.ack([Ack(lease)])
    assert (lease.id, settlement.outcome) == (message.id, Outcome.DELETED)


# -- a 200 that hides failures ------------------------------------------------------------------------


def _fails(*, sender_fault: bool, code: str, text: str = "") -> Act:
    """The server never hears of it; its answer would be 200, with each entry failed."""

    async def act(call: Call, _ask: Callable[[], Awaitable[bytes]]) -> bytes:
        entries = [
            {"Id": one["Id"], "SenderFault": sender_fault, "Code": code, "Message": text}
            for one in json.loads(call.body)["Entries"]
        ]
        raw = json.dumps({"Successful": [], "Failed": entries}).encode()
        head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(raw)
        return head + raw

    return act


async def test_entries_that_failed_for_a_while_are_said_again(house: ProxiedHarness) -> None:
    for operation in ("SendMessageBatch", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"):
        house.proxy.rule(asks(operation), _fails(sender_fault=False, code="InternalError"), times=2)
    lease = await house.leased(house.stranger())
    (settlement,) = await house.broker.nack([Nack(lease, 0.0, BROKEN)])
    again = await house.lease_one(house.stranger())
    await house.complete(again)
    assert (settlement.outcome, again.id) == (Outcome.RETURNED, lease.id)
    await house.advance(3 * house.lease_seconds)
    assert await house.lease(house.stranger()) == []


async def test_entries_that_never_pass_for_the_services_sake_are_an_outage(house: ProxiedHarness) -> None:
    message = house.message()
    house.proxy.rule(asks("SendMessageBatch"), _fails(sender_fault=False, code="InternalError"))
    with pytest.raises(BrokerUnavailable, match="1 of 1 entries"):
        await house.send(message)
    house.proxy.clear()
    await house.send(message)
    assert [one.id for one in await house.lease_all(house.stranger())] == [message.id]


async def test_an_entry_that_the_queue_will_never_take_is_refused(house: ProxiedHarness) -> None:
    refused, taken = house.message(), house.message()
    house.proxy.rule(
        asks("SendMessageBatch"), _fails(sender_fault=True, code="InvalidMessageContents", text="no"), times=1
    )
    (answer,) = await house.send(refused)
    assert answer.refusal is not None
    assert (answer.refusal.code, "InvalidMessageContents" in answer.refusal.text) == ("refused_by_queue", True)
    assert await house.state.records.get(refused.id) is None
    await house.send(taken)
    assert [one.id for one in await house.lease_all(house.stranger())] == [taken.id]


async def test_a_stale_receipt_in_a_batch_is_no_outage(house: ProxiedHarness) -> None:
    lease = await house.leased(house.stranger())
    rule = house.proxy.rule(
        asks("DeleteMessageBatch"), _fails(sender_fault=True, code="ReceiptHandleIsInvalid"), times=1
    )
    (settlement,) = await house.broker.ack([Ack(lease)])
    assert (settlement.outcome, rule.used) == (Outcome.DELETED, 1)
    # The copy is there still; whoever meets it finds that it is done, and deletes it.
    await house.advance(3 * house.lease_seconds)
    assert await house.lease(house.stranger()) == []


async def test_a_line_that_is_cut_again_and_again_loses_nothing(house: ProxiedHarness) -> None:
    async with Stage(house) as stage:
        runs: list[str] = []

        @stage.task
        async def work(ctx: Context) -> None:
            runs.append(ctx.message.id)

        ids = [await stage.submit(work.bind()) for _ in range(5)]
        await stage.start()
        draw = random.Random(1).random

        def one_in_three(_call: Call) -> bool:
            """By chance: every third would always be the same one of a loop that makes three calls."""
            return draw() < 1 / 3

        rule = house.proxy.rule(one_in_three, house.proxy.cut)
        await stage.until(lambda: len(runs) == len(ids) and rule.used > len(ids), within=300)
        house.proxy.clear()
        for id in ids:
            assert (await stage.ended(id)).state is MessageState.COMPLETED
        await asyncio.sleep(2 * house.lease_seconds)
        assert sorted(runs) == sorted(ids)


async def test_after_an_outage_whoever_leases_first_takes_nothing_from_others(house: ProxiedHarness) -> None:
    """Nobody could sweep or beat for two leases and a half: the first to come back finds a copy, and is patient."""
    lease = await house.leased(house.stranger())
    await asyncio.sleep(2.5 * house.lease_seconds)
    request = house.request(house.stranger())
    assert await house.broker.lease(request) == []
    (touched,) = await house.broker.touch([lease])
    assert touched.state is LeaseState.HELD


async def test_where_nobody_sweeps_a_lease_that_lapsed_comes_back_in_the_end(house: ProxiedHarness) -> None:
    lease = await house.leased(house.stranger())
    found = []
    for _ in range(6):
        await asyncio.sleep(house.lease_seconds + 11)
        found += await house.broker.lease(house.request(house.stranger()))
    assert found[0].id == lease.id
