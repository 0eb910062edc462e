"""Two at once, and answers that come apart: what lies between the calls of an act loses nothing and counts nothing."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from tests.adapters.aws.house import ProxiedHarness, asks
from tests.conformance.aws_harness import DynamoHarness, SqsHarness
from tests.servers.proxy_http import Call

from tenure.adapters import aws
from tenure.adapters.aws.session import POLL_SECONDS
from tenure.claim import ClaimRequest, Fresh, Running, Scope, Seal, digest
from tenure.envelope import decode
from tenure.errors import BrokerUnavailable
from tenure.message import Counters, MessageState, Outgoing, Overrides
from tenure.rowstore.memory_table import MemoryTable
from tenure.rowstore.row_changes import entry_place
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.table import Write
from tenure.tasks.context import Context
from tenure.testing.harness import BROKEN
from tenure.testing.workers import Stage

BUSY = b'{"__type":"ProvisionedThroughputExceededException","message":"later"}'
JSON = "application/x-amz-json-1.0"


@pytest.fixture
def house() -> ProxiedHarness:
    return ProxiedHarness()


@pytest.fixture
def plain() -> SqsHarness:
    return SqsHarness()


@pytest.fixture
def dynamo() -> DynamoHarness:
    return DynamoHarness()


# -- a lease call that is broken off when something was lent already ------------------------------------


def _asks_who_is_banned(call: Call) -> bool:
    return asks("BatchGetItem")(call) and b'"banned#' in call.body


@pytest.mark.parametrize("matches", [_asks_who_is_banned, asks("ChangeMessageVisibilityBatch")], ids=["banned", "hide"])
async def test_what_was_lent_before_the_service_asked_for_patience_may_have_been_lent(
    house: ProxiedHarness, matches: Callable[[Call], bool]
) -> None:
    message = await house.put()
    # A lease that is longer than usual is hidden for longer by a call of its own.
    request = house.request(house.stranger(), seconds_by_task={message.task: 2 * house.lease_seconds})
    house.proxy.rule(matches, house.proxy.answer(400, BUSY, content_type=JSON), times=1)
    with pytest.raises(BrokerUnavailable) as raised:
        await house.broker.lease(request)
    assert raised.value.outcome_unknown, "whoever asked would not look after it"
    (lease,) = await house.broker.held(request.owner, request.request_id)
    assert (lease.id, decode(lease.envelope)) == (message.id, message)


async def test_a_busy_table_makes_nothing_lost(house: ProxiedHarness) -> None:
    async with Stage(house) as stage:
        runs: list[str] = []

        @stage.task
        async def work(ctx: Context) -> None:
            runs.append(ctx.message.id)

        await stage.start()
        rule = house.proxy.rule(_asks_who_is_banned, house.proxy.answer(400, BUSY, content_type=JSON), times=4)
        ids = [await stage.submit(work.bind()) for _ in range(5)]
        for id in ids:
            record = await stage.ended(id)
            assert (record.state, record.counters) == (MessageState.COMPLETED, Counters(deliveries=1))
        assert sorted(runs) == sorted(ids)
        # One request asks for all that one call lends: how many calls there are depends on the machine.
        assert rule.used >= 1


async def test_what_one_queue_brought_is_lent_though_the_next_one_is_busy(house: ProxiedHarness) -> None:
    await house.put(queue="busy")
    message = await house.put(queue="open")
    rule = house.proxy.rule(
        lambda call: asks("ReceiveMessage")(call) and b"-busy" in call.body,
        house.proxy.answer(400, BUSY, content_type=JSON),
    )
    house._store.rotation = 1  # the first of the two is asked first
    request = house.request(house.stranger(), 10, queues=("open", "busy"))
    assert [lease.id for lease in await house.broker.lease(request)] == [message.id]
    assert rule.used == 1


# -- another process ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["ack", "nack", "give_back", "dead_letter"])
async def test_whoever_has_lost_a_message_to_another_process_is_told_so(dynamo: DynamoHarness, verb: str) -> None:
    """What the one wrote last is not what is true any more, and only the table can tell."""
    lease = await dynamo.leased(dynamo.stranger())
    other, _ = aws.connect(dynamo._options, clock=dynamo.clock, prepare=dynamo._prepare)
    await other.open()
    try:
        for _ in range(10):
            await asyncio.sleep(dynamo.sweep_interval_seconds)
            await other.sweep(dynamo.sweep_request())
        (theirs,) = await other.lease(dynamo.request(dynamo.stranger()))
        assert theirs.id == lease.id
        word: Any = {
            "ack": Ack(lease),
            "nack": Nack(lease, 0.0, BROKEN),
            "give_back": GiveBack(lease),
            "dead_letter": DeadLetter(lease, BROKEN),
        }[verb]
        (settlement,) = await getattr(dynamo.broker, verb)([word])
        assert settlement.outcome is Outcome.TAKEN_OVER
        (settlement,) = await other.ack([Ack(theirs)])
        assert settlement.outcome is Outcome.DELETED
    finally:
        await other.close()


# -- a write that arrives late -------------------------------------------------------------------------


class LateTable(MemoryTable):
    """A write of a kind is said to have got no answer, and arrives only when the next one does."""

    late: Callable[[Write], bool] | None = None
    _waiting: Sequence[Write] = ()

    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        if self.late is not None and any(map(self.late, batch)):
            self._waiting, self.late = batch, None
            raise BrokerUnavailable("no answer", outcome_unknown=True)
        if self._waiting:
            waiting, self._waiting = self._waiting, ()
            await super().write(waiting)
        return await super().write(batch)


async def test_a_lease_whose_write_arrived_late_is_given_all_the_same(plain: SqsHarness) -> None:
    plain._table = table = LateTable(plain.clock)
    async with plain:
        message = await plain.put()
        await plain.sweep()
        table.late = lambda write: write.place == entry_place(message.id)
        (lease,) = await plain.broker.lease(plain.request(plain.stranger()))
        assert (lease.id, lease.counters) == (message.id, Counters(deliveries=1))
        await plain.complete(lease)
        assert (await plain.record(message.id)).state is MessageState.COMPLETED


# -- a letter that is redriven while its body is being kept -----------------------------------------------


async def test_what_is_redriven_while_its_body_is_kept_is_not_deleted(
    plain: SqsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = await plain.put()
    for _ in range(plain.max_attempts):
        await plain.lease_one(plain.stranger())
        await plain.lapse()
    assert (await plain.record(message.id)).state is MessageState.DEAD
    changes = plain._store.rows
    keep = changes.keep_body

    async def slowly(*words: Any) -> int:
        monkeypatch.setattr(changes, "keep_body", keep)
        pages = await keep(*words)
        # It has no body by its entry yet: a redrive leaves it to the copy, which is in our hands.
        assert await plain.broker.redrive([message.id]) == [message.id]
        return pages

    monkeypatch.setattr(changes, "keep_body", slowly)
    found = await plain.lease_all(plain.stranger())
    assert [lease.id for lease in found] == [message.id]
    assert decode(found[0].envelope).generation == 1


async def test_what_is_kept_while_it_is_redriven_goes_back_whole(
    plain: SqsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The redrive has read that there is no body yet; when it begins, there is one, and the copy is gone."""
    message = await plain.put()
    for _ in range(plain.max_attempts):
        await plain.lease_one(plain.stranger())
        await plain.lapse()
    changes = plain._store.rows
    body = changes.body

    async def slowly(*words: Any) -> str:
        monkeypatch.setattr(changes, "body", body)
        text = await body(*words)
        assert await plain.lease(plain.stranger()) == []  # meets the copy, and keeps its body
        return text

    monkeypatch.setattr(changes, "body", slowly)
    assert await plain.broker.redrive([message.id]) == [message.id]
    (lease,) = await plain.lease_all(plain.stranger())
    assert (lease.id, decode(lease.envelope).body) == (message.id, message.body)
    assert await plain.browse(message.queue, MessageState.DEAD) == []


# -- a lease call that is made twice ------------------------------------------------------------------------


async def test_what_a_repeated_lease_call_lent_before_is_returned_with_the_rest(plain: SqsHarness) -> None:
    sent = await plain.put_many(2)
    owner = await plain.owner()
    request = plain.request(owner, 1)
    lent = [lease.id for _ in range(2) for lease in await plain.broker.lease(request)]
    assert sorted(lent) == sorted(message.id for message in sent)
    swept = await plain.broker.retire(owner.id, crashed=True)
    assert sorted(swept.returned) == sorted(lent)


# -- what is left of an earlier life ------------------------------------------------------------------------


async def test_what_is_done_and_was_not_deleted_counts_nothing_when_its_lease_ends(plain: SqsHarness) -> None:
    """Its holder has died between the seal and the ack; without presence, and at its last attempt."""
    message = await plain.put(overrides=Overrides(max_attempts=1))
    owner = plain.stranger()
    await plain.lease_one(owner)
    request = ClaimRequest(Scope.of(message), message.id, owner, 30.0, digest(message))
    (answer,) = await plain.state.ledger.claim([request])
    assert isinstance(answer, Fresh)
    assert await plain.state.ledger.seal([Seal(answer.token, b"1")]) == [True]
    await plain.reopen()
    await plain.lapse()
    record = await plain.record(message.id)
    assert (record.state, record.counters, record.history) == (MessageState.COMPLETED, Counters(deliveries=1), ())
    (lease,) = await plain.lease_all(plain.stranger())
    await plain.broker.ack([Ack(lease, b"1")])
    assert await plain.lease_all(plain.stranger()) == []


async def test_the_fence_of_a_freed_key_rises_though_the_next_ones_clock_is_behind(plain: SqsHarness) -> None:
    scope = Scope("mail", "deliver", "key:invoice-7")
    (first,) = await plain.state.ledger.claim([ClaimRequest(scope, "one", plain.stranger(), 30.0, "digest")])
    assert isinstance(first, Fresh)
    await plain.state.ledger.forget([scope])
    await plain.move_wall(-3600.0)
    await plain.reopen()
    (second,) = await plain.state.ledger.claim([ClaimRequest(scope, "two", plain.stranger(), 30.0, "digest")])
    assert isinstance(second, Fresh)
    assert second.token.fence > first.token.fence


async def test_a_fresh_window_for_a_lease_is_one_for_its_claim(plain: SqsHarness) -> None:
    lease = await plain.leased(plain.stranger())
    await plain.advance(plain.lease_seconds + 10.0, sweeping=False)
    assert (await plain.sweep()).grace
    message = decode(lease.envelope)
    request = ClaimRequest(Scope.of(message), message.id, plain.stranger(), 30.0, digest(message))
    (answer,) = await plain.state.ledger.claim([request])
    assert isinstance(answer, Running)
    assert answer.remaining_seconds == pytest.approx(plain.lease_seconds, abs=1.0)


# -- a redrive that is broken off ---------------------------------------------------------------------------


async def test_a_half_redriven_letter_is_never_forgotten(
    dynamo: DynamoHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await dynamo.leased(dynamo.stranger())
    await dynamo.broker.dead_letter([DeadLetter(lease, BROKEN)])
    assert not _is_forgotten(dynamo, lease.id)

    async def away(_parcels: Any) -> list[str]:
        raise BrokerUnavailable("away")

    with monkeypatch.context() as patched:
        patched.setattr(dynamo._store.queue, "send", away)
        with pytest.raises(BrokerUnavailable):
            await dynamo.broker.redrive([lease.id])
    assert (await dynamo.record(lease.id)).state is MessageState.DEAD
    assert not _is_forgotten(dynamo, lease.id), "a dead letter is kept until somebody decides about it"
    assert await dynamo.broker.redrive([lease.id]) == [lease.id]
    assert _is_forgotten(dynamo, lease.id), "what is on its way is forgotten in time"


async def test_what_is_lent_before_its_redrive_has_ended_is_forgotten_in_time(
    dynamo: DynamoHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await dynamo.leased(dynamo.stranger())
    await dynamo.broker.dead_letter([DeadLetter(lease, BROKEN)])
    whole = dynamo._store.queue.send

    async def and_die(parcels: Any) -> list[str]:
        await whole(parcels)
        raise BrokerUnavailable("away", outcome_unknown=True)

    with monkeypatch.context() as patched:
        patched.setattr(dynamo._store.queue, "send", and_die)
        with pytest.raises(BrokerUnavailable):
            await dynamo.broker.redrive([lease.id])
    await dynamo.complete(await dynamo.lease_one(dynamo.stranger()))
    assert _is_forgotten(dynamo, lease.id)


def _is_forgotten(house: DynamoHarness, id: str) -> bool:
    key = {"part": {"S": f"m#{id}"}, "sort": {"S": "m"}}
    return "forget" in house._dynamo().get_item(TableName=house._name, Key=key, ConsistentRead=True)["Item"]


# -- several requests for one batch -------------------------------------------------------------------------


async def test_of_a_batch_that_was_partly_sent_it_is_not_said_that_nothing_was(house: ProxiedHarness) -> None:
    large = [Outgoing(house.message(body={"text": "x" * 250_000})) for _ in range(6)]
    await house.put()
    calls = 0

    def second(call: Call) -> bool:
        nonlocal calls
        calls += asks("SendMessageBatch")(call)
        return calls > 1 and asks("SendMessageBatch")(call)

    house.proxy.rule(second, house.proxy.answer(400, BUSY, content_type=JSON))
    with pytest.raises(BrokerUnavailable) as raised:
        await house.broker.send(large)
    assert calls > 1
    assert raised.value.outcome_unknown
    house.proxy.clear()
    answers = await house.broker.send(large)
    assert all(one.refusal is None for one in answers)
    found: list[str] = []
    while leases := await house.lease(house.stranger(), 10):
        found += [lease.id for lease in leases]
    assert len(found) == len(set(found)) == 7


async def test_of_deletes_that_were_partly_carried_out_none_stays_unknown(house: ProxiedHarness) -> None:
    """Two queues, so two calls; the second one is throttled, and all is said again: the first is gone by then."""
    leases = [await house.leased(house.stranger(), queue=queue) for queue in ("one", "two")]
    for lease in leases:
        message = decode(lease.envelope)
        request = ClaimRequest(Scope.of(message), message.id, lease.owner, lease.seconds, digest(message))
        (answer,) = await house.state.ledger.claim([request])
        assert isinstance(answer, Fresh)
        await house.state.ledger.seal([Seal(answer.token, b"1")])
    rule = house.proxy.rule(
        lambda call: asks("DeleteMessageBatch")(call) and b"-two" in call.body,
        house.proxy.answer(400, BUSY, content_type=JSON),
        times=1,
    )
    with pytest.raises(BrokerUnavailable) as raised:
        await house.broker.ack([Ack(lease, b"1") for lease in leases])
    assert (raised.value.outcome_unknown, rule.used) == (True, 1)
    settlements = await house.broker.ack([Ack(lease, b"1") for lease in leases])
    assert [one.outcome for one in settlements] == [Outcome.ALREADY_GONE, Outcome.DELETED]


# -- nobody repeats by itself --------------------------------------------------------------------------------


@pytest.mark.real_time
@pytest.mark.parametrize("operation", ["SendMessageBatch", "BatchGetItem", "ReceiveMessage"])
async def test_the_sdk_repeats_nothing_by_itself(operation: str) -> None:
    async with ProxiedHarness() as house:
        await house.put()
        rule = house.proxy.rule(asks(operation), house.proxy.answer(503, b"{}", content_type=JSON))
        acts: dict[str, Callable[[], Awaitable[Any]]] = {
            "SendMessageBatch": house.put,
            "BatchGetItem": lambda: house.state.records.get("nobody"),
            "ReceiveMessage": lambda: house.broker.lease(house.request(house.stranger())),
        }
        with pytest.raises(BrokerUnavailable):
            await acts[operation]()
        assert rule.used == 1


async def test_a_poll_is_waited_for_longer_than_it_waits(house: ProxiedHarness) -> None:
    link = house.sqs._session
    assert (await link._client("poll")).meta.config.read_timeout > POLL_SECONDS
    for service in ("sqs", "dynamodb"):
        assert (await link._client(service)).meta.config.read_timeout <= house._options.timeout_seconds
