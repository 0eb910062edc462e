"""The state in DynamoDB: answers that got lost, that came in part, and what is too large for a row."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from tests.adapters.aws.house import Once, ProxiedHarness, asks
from tests.servers.proxy_http import Act, Call

from tenure.claim import ClaimRequest, Done, Fresh, Scope, Seal, digest
from tenure.errors import BrokerUnavailable, PermissionMissing
from tenure.event import Event, EventKind
from tenure.message import MessageState, Outgoing
from tenure.rowstore.row_changes import claim_place
from tenure.settlement import DeadLetter, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE

DAY = 86_400.0
HALF_A_MEGABYTE = 500_000
#: DynamoDB takes no more; the stand-in takes it in a statement.
ROW = 400 * 1024


@pytest.fixture
def house() -> ProxiedHarness:
    return ProxiedHarness()


def _changed(change: Callable[[dict[str, Any]], None]) -> Act:
    """The server carries it out; what it answers is changed on the way."""

    async def act(_call: Call, ask: Callable[[], Awaitable[bytes]]) -> bytes:
        head, _, body = (await ask()).partition(b"\r\n\r\n")
        answer = json.loads(body)
        change(answer)
        raw = json.dumps(answer).encode()
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith((b"content-length", b"x-amz-crc"))]
        return b"\r\n".join([*lines, b"Content-Length: %d" % len(raw), b"", b""]) + raw

    return act


# -- answers that got lost ---------------------------------------------------------------------------


async def test_a_lease_whose_write_got_no_answer_is_given_all_the_same(house: ProxiedHarness) -> None:
    message = await house.put()
    await house.sweep()
    rule = house.proxy.rule(asks("BatchExecuteStatement"), house.proxy.drop_reply, times=2)
    lease = await house.lease_one(house.stranger())
    assert (lease.id, lease.counters.deliveries, rule.used) == (message.id, 1, 2)
    await house.complete(lease)


async def test_a_lease_whose_write_was_followed_by_an_outage_is_found_with_its_body(house: ProxiedHarness) -> None:
    message = await house.put()
    await house.sweep()
    lends = Once(_lends)
    house.proxy.rule(lends, house.proxy.drop_reply)
    house.proxy.rule(lambda _: lends.was_seen, house.proxy.cut)
    request = house.request(house.stranger())
    with pytest.raises(BrokerUnavailable) as raised:
        await house.broker.lease(request)
    assert raised.value.outcome_unknown
    house.proxy.clear()
    (lease,) = await house.broker.held(request.owner, request.request_id)
    assert (lease.id, lease.queue) == (message.id, QUEUE)
    assert msgspec.json.decode(lease.envelope)["id"] == message.id
    await house.complete(lease)


async def test_a_strangers_message_that_is_found_so_keeps_what_stands_beside_its_body(house: ProxiedHarness) -> None:
    await house.put(queue="other")
    await house.lease(house.stranger())  # the queue is there now
    sqs = house._behind()
    url = sqs.get_queue_url(QueueName=f"{house._name}-{QUEUE}")["QueueUrl"]
    kind = {"kind": {"DataType": "String", "StringValue": "photo"}}
    sqs.send_message(QueueUrl=url, MessageBody="resize a.png", MessageAttributes=kind)
    lends = Once(_lends)
    house.proxy.rule(lends, house.proxy.drop_reply)
    house.proxy.rule(lambda _: lends.was_seen, house.proxy.cut)
    request = house.request(house.stranger())
    with pytest.raises(BrokerUnavailable):
        await house.broker.lease(request)
    house.proxy.clear()
    (lease,) = await house.broker.held(request.owner, request.request_id)
    await house.broker.dead_letter([DeadLetter(lease, BROKEN)])
    assert await house.broker.redrive([lease.id]) == [lease.id]
    (one,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"])["Messages"]
    assert (one["Body"], one["MessageAttributes"]["kind"]["StringValue"]) == ("resize a.png", "photo")


def _lends(call: Call) -> bool:
    """Whether it writes that somebody holds something."""
    return asks("BatchExecuteStatement")(call) and b'state\\":\\"leased' in call.body


async def test_a_nack_whose_write_got_no_answer_counts_once_and_comes_back_at_once(house: ProxiedHarness) -> None:
    lease = await house.leased(house.stranger())
    house.proxy.rule(asks("BatchExecuteStatement"), house.proxy.drop_reply, times=1)
    (settlement,) = await house.broker.nack([Nack(lease, 0.0, BROKEN)])
    again = await house.lease_one(house.stranger())
    assert (settlement.outcome, again.id, again.counters.attempts) == (Outcome.RETURNED, lease.id, 1)


async def test_a_claim_whose_write_got_no_answer_is_granted(house: ProxiedHarness) -> None:
    request = _claim(house, "order-1")
    house.proxy.rule(asks("BatchExecuteStatement"), house.proxy.drop_reply, times=1)
    (answer,) = await house.state.ledger.claim([request])
    assert isinstance(answer, Fresh)
    assert await house.state.ledger.seal([Seal(answer.token, b"1")]) == [True]


async def test_events_whose_append_got_no_answer_are_kept_once(house: ProxiedHarness) -> None:
    events = [Event(EventKind.COMPLETED, float(number), QUEUE, f"m{number}") for number in range(1200)]
    for lost in (1, 2):
        house.proxy.rule(_nth(asks("BatchExecuteStatement"), lost), house.proxy.drop_reply, times=1)
        with pytest.raises(BrokerUnavailable):
            await house.state.journal.append(events)
        house.proxy.clear()
        await house.state.journal.append(events)
    found = await house.state.journal.read(limit=5000)
    assert [one.event.message_id for one in found] == [event.message_id for event in events] * 2


def _nth(matches: Callable[[Call], bool], number: int) -> Callable[[Call], bool]:
    seen = 0

    def is_it(call: Call) -> bool:
        nonlocal seen
        seen += matches(call)
        return matches(call) and seen == number

    return is_it


# -- answers in part ---------------------------------------------------------------------------------


async def test_a_statement_that_failed_inside_the_service_but_was_carried_out_is_recognised(
    house: ProxiedHarness,
) -> None:
    leases = [await house.leased(house.stranger()) for _ in range(3)]

    def spoil(answer: dict[str, Any]) -> None:
        answer["Responses"][1] = {"Error": {"Code": "InternalServerError", "Message": "try again"}}

    rule = house.proxy.rule(asks("BatchExecuteStatement"), _changed(spoil), times=1)
    settlements = await house.broker.nack([Nack(lease, 0.0, BROKEN) for lease in leases])
    assert rule.used == 1
    assert [one.outcome for one in settlements] == [Outcome.RETURNED] * 3
    assert [one.counters.attempts for one in await house.lease_all(house.stranger())] == [1, 1, 1]


@pytest.mark.parametrize("code", ["ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded"])
async def test_statements_that_the_service_had_no_time_for_are_said_again(house: ProxiedHarness, code: str) -> None:
    leases = [await house.leased(house.stranger()) for _ in range(3)]

    async def busy(call: Call, _ask: Callable[[], Awaitable[bytes]]) -> bytes:
        count = len(json.loads(call.body)["Statements"])
        raw = json.dumps({"Responses": [{"Error": {"Code": code, "Message": "later"}}] * count}).encode()
        return b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(raw) + raw

    rule = house.proxy.rule(asks("BatchExecuteStatement"), busy, times=2)
    settlements = await house.broker.nack([Nack(lease, 0.0, BROKEN) for lease in leases])
    assert ([one.outcome for one in settlements], rule.used) == ([Outcome.RETURNED] * 3, 2)


async def test_a_statement_that_is_forbidden_says_so(house: ProxiedHarness) -> None:
    lease = await house.leased(house.stranger())

    def forbid(answer: dict[str, Any]) -> None:
        answer["Responses"][0] = {"Error": {"Code": "AccessDenied", "Message": "you may not"}}

    house.proxy.rule(asks("BatchExecuteStatement"), _changed(forbid), times=1)
    with pytest.raises(PermissionMissing, match="you may not"):
        await house.broker.nack([Nack(lease, 0.0, BROKEN)])


async def test_reads_that_the_service_had_no_time_for_are_asked_for_again(house: ProxiedHarness) -> None:
    ids = [(await house.put()).id for _ in range(3)]

    async def half(call: Call, ask: Callable[[], Awaitable[bytes]]) -> bytes | None:
        (table, asked), *_ = json.loads(call.body)["RequestItems"].items()

        def leave_out(answer: dict[str, Any]) -> None:
            kept = answer["Responses"][table][:1]
            left = [key for key in asked["Keys"] if key["part"] not in [row["part"] for row in kept]]
            answer["Responses"][table] = kept
            answer["UnprocessedKeys"] = {table: {"Keys": left, "ConsistentRead": True}}

        return await _changed(leave_out)(call, ask)

    rule = house.proxy.rule(asks("BatchGetItem"), half, times=2)
    assert await house.broker.cancel(ids) == [MessageState.READY] * 3
    assert rule.used == 2


# -- what is forgotten -------------------------------------------------------------------------------


async def test_a_key_that_is_claimed_anew_is_remembered_for_the_whole_window(house: ProxiedHarness) -> None:
    request = _claim(house, "order-2")
    (first,) = await house.state.ledger.claim([request])
    assert isinstance(first, Fresh)
    await house.state.ledger.release([first.token])
    before = _forget(house, request.scope)
    await house.advance(20 * DAY, sweeping=False)
    (again,) = await house.state.ledger.claim([request])
    assert isinstance(again, Fresh)
    await house.state.ledger.seal([Seal(again.token, b"1")])
    kept = _forget(house, request.scope)
    assert kept >= before + 20 * DAY
    assert kept >= house.clock.wall() + house._options.keep_seconds


def _forget(house: ProxiedHarness, scope: Scope) -> float:
    place = claim_place(scope)
    key = {"part": {"S": place.part}, "sort": {"S": place.sort}}
    item = house._dynamo().get_item(TableName=house._options.table, Key=key, ConsistentRead=True)["Item"]
    return float(item["forget"]["N"])


# -- what is too large for a row ---------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, "order-3"])
async def test_a_result_that_is_too_large_for_a_row_is_kept(house: ProxiedHarness, key: str | None) -> None:
    lease = await house.leased(house.stranger(), key=key)
    result = b'"%s"' % (b"x" * HALF_A_MEGABYTE)
    await house.complete(lease, result)
    record = await house.record(lease.id)
    assert (record.state, record.result) == (MessageState.COMPLETED, result)
    assert _largest_row(house) < ROW
    message = msgspec.json.decode(lease.envelope, type=dict[str, Any])
    twin = house.message(id=message["id"] if key is None else "another", key=key)
    (answer,) = await house.state.ledger.claim([_request(twin, house.stranger())])
    assert isinstance(answer, Done)
    assert answer.result == result


async def test_what_is_handed_on_may_be_too_large_for_a_row(house: ProxiedHarness) -> None:
    (answer,) = await house.state.ledger.claim([_claim(house, "order-4")])
    assert isinstance(answer, Fresh)
    handoffs = tuple(Outgoing(house.message(body={"n": "y" * 200_000})) for _ in range(3))
    assert await house.state.ledger.seal([Seal(answer.token, b"1", handoffs)]) == [True]
    (done,) = await house.state.ledger.claim([_claim(house, "order-4")])
    assert isinstance(done, Done)
    assert (done.result, done.handoffs) == (b"1", handoffs)
    assert _largest_row(house) < ROW


async def test_a_checkpoint_may_be_too_large_for_a_row(house: ProxiedHarness) -> None:
    lease = await house.leased(house.stranger())
    for data in (b"\x00" * HALF_A_MEGABYTE, b"\x01" * 10):
        assert await house.state.records.checkpoint(lease, data)
        assert await house.state.records.load_checkpoint(lease.id) == data
        assert _largest_row(house) < ROW


async def test_a_checkpoint_of_a_stale_holder_changes_nothing_that_it_had_kept_before(house: ProxiedHarness) -> None:
    stale = await house.leased(house.stranger())
    assert await house.state.records.checkpoint(stale, b"good")
    await house.lapse()
    lease = await house.lease_one(house.stranger())
    assert not await house.state.records.checkpoint(stale, b"late")
    assert await house.state.records.load_checkpoint(lease.id) == b"good"


def _largest_row(house: ProxiedHarness) -> int:
    rows = house._dynamo().scan(TableName=house._options.table, ConsistentRead=True)["Items"]
    return max(sum(len(next(iter(value.values()))) for value in row.values()) for row in rows)


# -- the queue's own no ------------------------------------------------------------------------------


async def test_a_dead_letter_that_the_queue_refuses_to_take_back_stays_one(house: ProxiedHarness) -> None:
    lease = await house.leased(house.stranger())
    await house.broker.dead_letter([DeadLetter(lease, BROKEN)])

    def refuse(answer: dict[str, Any]) -> None:
        answer["Successful"] = []
        answer["Failed"] = [{"Id": "0", "SenderFault": True, "Code": "InvalidMessageContents", "Message": "no"}]

    async def unheard(_call: Call, _ask: Callable[[], Awaitable[bytes]]) -> bytes:
        answer: dict[str, Any] = {}
        refuse(answer)
        raw = json.dumps(answer).encode()
        return b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(raw) + raw

    house.proxy.rule(asks("SendMessageBatch"), unheard, times=1)
    assert await house.broker.redrive([lease.id]) == []
    (browsed,) = await house.browse(QUEUE, MessageState.DEAD)
    assert (browsed.id, browsed.envelope) == (lease.id, lease.envelope)
    assert await house.broker.redrive([lease.id]) == [lease.id]
    assert [one.id for one in await house.lease_all(house.stranger())] == [lease.id]


def _claim(house: ProxiedHarness, key: str) -> ClaimRequest:
    return _request(house.message(key=key), house.stranger())


def _request(message: Any, owner: str) -> ClaimRequest:
    return ClaimRequest(Scope.of(message), message.id, owner, 30.0, digest(message))
