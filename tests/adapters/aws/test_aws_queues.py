"""What only SQS has: FIFO groups, hops, priorities as queues, its own redrive policy, copies, long polls."""

import asyncio
import json
import logging
from typing import Any, ClassVar

import msgspec
import pytest
from tests.conformance.aws_harness import (
    DynamoHarness,
    FauxqsHarness,
    LenientHarness,
    PriorityHarness,
    SqsHarness,
)

from tenure.adapters.aws.faults import BadQueueName, QueueMissing, RedriveTooSoon
from tenure.claim import ClaimRequest, Fresh, Scope, Seal, digest
from tenure.envelope import decode
from tenure.errors import BadTask, BrokerUnavailable
from tenure.finding import Severity
from tenure.lease import Lease, LeaseState
from tenure.message import Counters, Message, MessageState
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE
from tenure.testing.workers import Stage
from tenure.verdict import Reason

FIFO = "orders.fifo"
HOUR = 3600.0
DAY = 86_400.0
FINAL = Reason("rejected", "never")


@pytest.fixture
def house() -> SqsHarness:
    return SqsHarness()


class AcceptingHarness(SqsHarness):
    """Takes a queue whose own policy moves messages away soon."""

    changes: ClassVar[dict[str, Any]] = {**SqsHarness.changes, "accepts_redrive_policy": True}


class AcceptingFauxqsHarness(FauxqsHarness):
    """Likewise, on the other stand-in."""

    changes: ClassVar[dict[str, Any]] = {**FauxqsHarness.changes, "accepts_redrive_policy": True}


@pytest.fixture(params=[AcceptingHarness, AcceptingFauxqsHarness], ids=["ministack", "fauxqs"])
def accepting(request: pytest.FixtureRequest) -> SqsHarness:
    kind: type[SqsHarness] = request.param
    return kind()


@pytest.fixture(params=[SqsHarness, FauxqsHarness], ids=["ministack", "fauxqs"])
def either(request: pytest.FixtureRequest) -> SqsHarness:
    kind: type[SqsHarness] = request.param
    return kind()


@pytest.fixture
def lenient() -> LenientHarness:
    return LenientHarness()


@pytest.fixture
def three() -> PriorityHarness:
    return PriorityHarness()


# -- FIFO ------------------------------------------------------------------------------------------


async def _put(house: SqsHarness, group: str, **fields: Any) -> Message:
    return await house.put(queue=FIFO, headers={"group": group}, **fields)


async def _lend(house: SqsHarness) -> list[Any]:
    return await house.lease(house.stranger(), 10, queues=(FIFO,))


async def test_of_a_fifo_group_one_is_lent_at_a_time_and_in_order(house: SqsHarness) -> None:
    first = [await _put(house, "a") for _ in range(3)]
    other = await _put(house, "b")
    lent = []
    while leases := await _lend(house):
        assert len({decode(lease.envelope).headers["group"] for lease in leases}) == len(leases)
        lent += [lease.id for lease in leases]
        await house.broker.ack([Ack(lease) for lease in leases])
    assert [id for id in lent if id != other.id] == [message.id for message in first]
    assert other.id in lent


async def test_a_failed_message_holds_its_fifo_group_up(house: SqsHarness) -> None:
    first, second = await _put(house, "a"), await _put(house, "a")
    (lease,) = await _lend(house)
    await house.broker.nack([Nack(lease, 20.0, BROKEN)])
    assert await _lend(house) == []
    await house.advance(21.0)
    (again,) = await _lend(house)
    assert (again.id, again.counters.attempts) == (first.id, 1)
    await house.broker.ack([Ack(again)])
    assert [one.id for one in await _lend(house)] == [second.id]


@pytest.mark.parametrize("fields", [{"delay_seconds": 5.0}, {"priority": 9}])
async def test_a_fifo_queue_refuses_delays_and_priorities(house: SqsHarness, fields: dict[str, Any]) -> None:
    delay = fields.pop("delay_seconds", 0.0)
    (sent,) = await house.send(house.message(queue=FIFO, **fields), delay_seconds=delay)
    assert sent.refusal is not None
    assert sent.refusal.code == "fifo_order"


@pytest.mark.parametrize("group", ["Müller & Söhne", "a b", "x" * 200, "tab\there", "ok-1:2"])
async def test_a_group_may_be_called_anything(house: SqsHarness, group: str) -> None:
    """SQS takes 128 characters of ASCII; whatever else a group is called, it is one group, and no other's."""
    first, second = await _put(house, group), await _put(house, group)
    other = await _put(house, group + "!")
    (lease, beside) = sorted(await _lend(house), key=lambda lease: lease.id)
    assert [lease.id, beside.id] == [first.id, other.id]
    await house.broker.give_back([GiveBack(lease), GiveBack(beside)])
    groups = _told(house, "MessageGroupId")
    assert len(set(groups)) == 2
    assert all(map(_is_taken, groups))
    assert second.id not in {lease.id, beside.id}


def _told(house: SqsHarness, attribute: str) -> list[str]:
    sqs = house._behind()
    url = sqs.get_queue_url(QueueName=f"{house._name}-{FIFO}")["QueueUrl"]
    told = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"])["Messages"]
    return [one["Attributes"][attribute] for one in told]


def _is_taken(word: str) -> bool:
    """By SQS; the stand-ins take more."""
    return word.isascii() and word.isprintable() and " " not in word and len(word) <= 128


async def test_an_id_may_be_anything_in_a_fifo_queue(house: SqsHarness) -> None:
    message = await house.put(queue=FIFO, id="Bestellung Nr. 5 für Ørsted " + "x" * 150)
    (lease,) = await _lend(house)
    assert lease.id == message.id
    await house.broker.dead_letter([DeadLetter(lease, BROKEN)])
    assert await house.broker.redrive([message.id]) == [message.id]
    (again,) = await _lend(house)
    assert again.id == message.id
    await house.broker.give_back([GiveBack(again)])
    assert all(map(_is_taken, _told(house, "MessageDeduplicationId")))


async def test_a_dead_letter_of_a_fifo_queue_can_be_redriven_at_once(house: SqsHarness) -> None:
    message = await _put(house, "a")
    (lease,) = await _lend(house)
    await house.broker.dead_letter([DeadLetter(lease, BROKEN)])
    assert await house.broker.redrive([message.id]) == [message.id]
    (again,) = await _lend(house)
    assert (again.id, decode(again.envelope).generation) == (message.id, 1)


async def test_a_message_that_dies_again_while_it_is_redriven_keeps_its_body(
    house: SqsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await house.leased(house.stranger())
    await house.broker.dead_letter([DeadLetter(lease, BROKEN)])
    whole = house._store.queue.send

    async def fast(parcels: Any) -> list[str]:
        said = await whole(parcels)
        # Before the redrive has heard that the copy arrived, somebody has run it in vain.
        again = await house.lease_one(house.stranger())
        await house.broker.dead_letter([DeadLetter(again, FINAL)])
        return said

    monkeypatch.setattr(house._store.queue, "send", fast)
    assert await house.broker.redrive([lease.id]) == [lease.id]
    monkeypatch.setattr(house._store.queue, "send", whole)
    (browsed,) = await house.browse(QUEUE, MessageState.DEAD)
    assert (browsed.id, browsed.reason) == (lease.id, FINAL)
    assert decode(browsed.envelope).generation == 1
    assert await house.broker.redrive([lease.id]) == [lease.id]
    assert decode((await house.lease_one(house.stranger())).envelope).generation == 2


async def test_a_half_redriven_message_is_a_dead_letter_until_it_arrived(
    house: SqsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await house.leased(house.stranger())
    await house.broker.dead_letter([DeadLetter(lease, BROKEN)])
    died_at = house.clock.wall()
    whole = house._store.queue.send

    async def broken(_parcels: Any) -> list[str]:
        raise BrokerUnavailable("the line is down", outcome_unknown=True)

    monkeypatch.setattr(house._store.queue, "send", broken)
    with pytest.raises(BrokerUnavailable):
        await house.broker.redrive([lease.id])
    monkeypatch.setattr(house._store.queue, "send", whole)
    (browsed,) = await house.browse(QUEUE, MessageState.DEAD)
    assert (browsed.id, browsed.reason, browsed.finished_at) == (lease.id, BROKEN, died_at)
    assert browsed.envelope == lease.envelope
    record = await house.record(lease.id)
    assert (record.state, record.reason) == (MessageState.DEAD, BROKEN)
    assert await house.broker.redrive([lease.id]) == [lease.id]
    assert (await house.record(lease.id)).reason is None
    assert await house.browse(QUEUE, MessageState.DEAD) == []
    assert (await house.lease_one(house.stranger())).id == lease.id


# -- delays ----------------------------------------------------------------------------------------


async def test_a_delay_over_fifteen_minutes_goes_in_hops_that_count_nothing(house: SqsHarness) -> None:
    message = await house.put(delay_seconds=15 * HOUR)
    for _ in range(14):
        await house.advance(HOUR, sweeping=False)
        assert await house.lease_all(house.stranger()) == []
    await house.advance(HOUR + 1, sweeping=False)
    lease = await house.lease_one(house.stranger())
    assert (lease.id, lease.counters) == (message.id, Counters(deliveries=1))


async def test_a_delay_that_the_queue_would_not_outlive_is_refused(house: SqsHarness) -> None:
    (sent,) = await house.send(house.message(), delay_seconds=14 * DAY)
    assert sent.refusal is not None
    assert sent.refusal.code == "delay_too_long"


async def test_a_max_hold_that_sqs_would_not_keep_refuses_to_start(house: SqsHarness) -> None:
    async with Stage(house) as stage:

        @stage.task(max_hold=house.traits.max_hold_seconds)
        async def short() -> None: ...

        await stage.start()

        @stage.task(max_hold=(house.traits.max_hold_seconds or 0) + 1)
        async def long() -> None: ...

        with pytest.raises(BadTask, match="max_hold of 'long'"):
            await stage.start()


# -- copies ----------------------------------------------------------------------------------------


async def test_a_second_copy_is_deleted_and_not_run(house: SqsHarness) -> None:
    message = await house.put()
    sqs = house._behind()
    url = sqs.get_queue_url(QueueName=f"{house._name}-{QUEUE}")["QueueUrl"]
    attributes = {"tenure-id": {"DataType": "String", "StringValue": message.id}}
    body = msgspec.json.encode(message).decode()
    sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=attributes)
    leases = await house.lease_all(house.stranger())
    assert [lease.id for lease in leases] == [message.id]
    await house.complete(leases[0])
    assert await house.lease_all(house.stranger()) == []
    counts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert counts["ApproximateNumberOfMessages"] == counts["ApproximateNumberOfMessagesNotVisible"] == "0"


async def test_a_copy_that_comes_back_too_early_is_hidden_while_its_holder_works(house: SqsHarness) -> None:
    lease = await house.leased(house.stranger())
    # As if the touches had not reached the queue, but the state.
    sqs = house._behind()
    url = sqs.get_queue_url(QueueName=f"{house._name}-{QUEUE}")["QueueUrl"]
    handle = str(lease.receipt).partition(":")[2]
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=0)
    assert await house.lease(house.stranger()) == []
    (touched,) = await house.broker.touch([lease])
    assert touched.state is LeaseState.HELD
    # The copy is another receipt's by now: the message is done, and nobody can say whether the copy is gone.
    assert await _complete(house, touched) is Outcome.UNKNOWN
    await house.advance(house.lease_seconds * 3)
    # It is met once more, found done, and deleted.
    again = await house.lease_one(house.stranger())
    assert again.id == lease.id
    (settlement,) = await house.broker.ack([Ack(again)])
    assert settlement.outcome is Outcome.DELETED
    assert await house.is_completed(lease.id)
    assert await house.lease_all(house.stranger()) == []


async def _complete(house: SqsHarness, lease: Lease) -> Outcome:
    """Claim, seal and ack, as a worker does."""
    message = decode(lease.envelope)
    request = ClaimRequest(Scope.of(message), message.id, lease.owner, house.lease_seconds, digest(message))
    (answer,) = await house.state.ledger.claim([request])
    assert isinstance(answer, Fresh)
    assert await house.state.ledger.seal([Seal(answer.token, b"1")]) == [True]
    (settlement,) = await house.broker.ack([Ack(lease, b"1")])
    return settlement.outcome


async def test_a_stale_ack_deletes_nothing_that_somebody_else_holds(lenient: LenientHarness) -> None:
    stale = await lenient.leased(lenient.stranger())
    await lenient.lapse()
    new = await lenient.lease_one(lenient.stranger())
    (late,) = await lenient.broker.ack([Ack(stale)])
    assert late.outcome is Outcome.TAKEN_OVER
    # Whoever holds it fails: it must still be there.
    await lenient.broker.nack([Nack(new, 0.0, BROKEN)])
    assert (await lenient.lease_one(lenient.stranger())).id == new.id


async def test_a_strangers_message_is_lent_with_its_raw_bytes_and_can_be_put_aside(house: SqsHarness) -> None:
    await house.put(queue="other")  # the queue that a stranger writes to is there
    await house.leased(house.stranger())
    sqs = house._behind()
    url = sqs.get_queue_url(QueueName=f"{house._name}-{QUEUE}")["QueueUrl"]
    body = json.dumps({"order": "x" * 65_000})
    sqs.send_message(QueueUrl=url, MessageBody=body)
    (lease,) = await house.lease(house.stranger())
    assert lease.envelope == body.encode()
    (settlement,) = await house.broker.dead_letter([DeadLetter(lease, BROKEN)])
    assert settlement.outcome is Outcome.DEAD
    (browsed,) = await house.browse(QUEUE, MessageState.DEAD)
    assert browsed.envelope == body.encode()
    assert (await house.advance(house.lease_seconds * 3)).returned is not None
    assert lease.id not in [one.id for one in await house.lease_all(house.stranger())]


async def test_characters_that_sqs_refuses_are_said_otherwise(house: SqsHarness) -> None:
    body = {"text": "a\ufffe\uffff\x00\x1f\u2028b"}
    await house.put(body=body)
    lease = await house.lease_one(house.stranger())
    assert json.loads(bytes(decode(lease.envelope).body)) == body


# -- priorities ------------------------------------------------------------------------------------


async def test_priorities_are_physical_queues(three: PriorityHarness) -> None:
    for priority in (0, 5, 9):
        await three.put(priority=priority)
    urls = three._behind().list_queues(QueueNamePrefix=three._name)["QueueUrls"]
    names = {url.rpartition("/")[2] for url in urls}
    assert names == {f"{three._name}-{QUEUE}{suffix}" for suffix in ("", "-low", "-high")}
    lease = await three.lease_one(three.stranger())
    assert decode(lease.envelope).priority == 9
    await three.broker.give_back([GiveBack(lease)])
    depth = await three.depth()
    assert (depth.ready, depth.leased, depth.dead, depth.estimated) == (3, 0, 0, True)


# -- how a queue is set up -------------------------------------------------------------------------


async def _with_policy(house: SqsHarness, receives: int) -> None:
    sqs = house._behind()
    url = sqs.create_queue(QueueName=f"{house._name}-theirs")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = {"deadLetterTargetArn": arn, "maxReceiveCount": receives}
    sqs.create_queue(QueueName=f"{house._name}-{QUEUE}", Attributes={"RedrivePolicy": json.dumps(policy)})


async def test_a_redrive_policy_that_is_too_eager_refuses_to_start(either: SqsHarness) -> None:
    await _with_policy(either, 3)
    with pytest.raises(
        RedriveTooSoon, match=r"after 3 receives .* Set maxReceiveCount to 100 at least.*redrive_policy=accept"
    ):
        await either.lease(either.stranger())
    async with Stage(either) as stage:

        @stage.task
        async def work() -> None: ...

        with pytest.raises(RedriveTooSoon):
            await stage.start(queues=(QUEUE,))
    # Whoever only looks is told what lies there.
    assert (await either.depth()).ready == 0


async def test_a_patient_redrive_policy_is_respected_and_told(
    either: SqsHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await _with_policy(either, 1000)
    with caplog.at_level(logging.WARNING):
        await either.put()
        (finding,) = await either.broker.check([QUEUE])
    assert (finding.id, finding.severity, finding.subject) == (
        "redrive_policy",
        Severity.WARNING,
        f"queue {either._name}-{QUEUE}",
    )
    assert f"after 1000 receives SQS itself moves a message to queue '{either._name}-theirs'" in finding.evidence
    assert caplog.text.count("[redrive_policy]") == 1
    assert (await either.lease_one(either.stranger())).counters == Counters(deliveries=1)


async def test_an_eager_redrive_policy_can_be_accepted_and_is_told_with_what_it_means(
    accepting: SqsHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await _with_policy(accepting, 3)
    with caplog.at_level(logging.WARNING):
        message = await accepting.put()
        (finding,) = await accepting.broker.check([QUEUE])
    assert (finding.id, finding.severity) == ("redrive_policy", Severity.WARNING)
    assert "after 3 receives" in finding.evidence
    assert "before its attempts are used up" in finding.evidence
    assert "max_attempts to 3 at most" in finding.remedy
    assert caplog.text.count("[redrive_policy]") == 1
    # As the finding says: a give-back is a receive too.
    for _ in range(3):
        await accepting.broker.give_back([GiveBack(await accepting.lease_one(accepting.stranger()))])
    assert await accepting.lease_all(accepting.stranger()) == []
    assert await accepting.state_of(message.id) is MessageState.READY


async def test_a_queue_without_a_policy_has_no_finding(house: SqsHarness) -> None:
    await house.put()
    assert await house.broker.check([QUEUE]) == []


async def test_looking_makes_no_queue(house: SqsHarness) -> None:
    depth = await house.depth("nowhere")
    assert (depth.ready, depth.delayed, depth.leased, depth.dead, depth.estimated) == (0, 0, 0, 0, True)
    assert not house._behind().list_queues(QueueNamePrefix=house._name).get("QueueUrls")


async def test_a_message_that_sqs_moved_away_by_its_own_policy_waits_where_the_finding_says(either: SqsHarness) -> None:
    await _with_policy(either, 100)
    message = await either.put()
    for _ in range(101):
        for lease in await either.lease(either.stranger()):
            await either.broker.give_back([GiveBack(lease)])
    assert await either.lease_all(either.stranger()) == []
    assert await either.state_of(message.id) is MessageState.READY
    sqs = either._behind()
    url = sqs.get_queue_url(QueueName=f"{either._name}-theirs")["QueueUrl"]
    (moved,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"])["Messages"]
    # Moved back with SQS's own redrive it is lent as if nothing had been.
    back = sqs.get_queue_url(QueueName=f"{either._name}-{QUEUE}")["QueueUrl"]
    sqs.send_message(QueueUrl=back, MessageBody=moved["Body"], MessageAttributes=moved["MessageAttributes"])
    again = await either.lease_one(either.stranger())
    assert (again.id, again.counters.attempts) == (message.id, 0)


async def test_a_queue_that_is_missing_is_made_only_when_asked(house: SqsHarness) -> None:
    house.sqs._known._options = msgspec.structs.replace(house._options, create=False)
    with pytest.raises(QueueMissing, match="create=yes"):
        await house.send(house.message(queue="nowhere"))
    assert await house.state.records.get("nowhere") is None


@pytest.mark.parametrize("queue", ["with space", "x" * 81, "dots.in.it"])
async def test_a_name_against_the_rules_is_told(house: SqsHarness, queue: str) -> None:
    with pytest.raises(BadQueueName, match="letters, digits"):
        await house.send(house.message(queue=queue))


# -- real time -------------------------------------------------------------------------------------


@pytest.mark.real_time
async def test_a_long_poll_brings_the_message_that_it_waited_for() -> None:
    from tenure.adapters import aws
    from tenure.lease import LeaseRequest
    from tenure.message import Outgoing, new_id

    options = DynamoHarness()._options
    broker, state = aws.connect(options)
    other, _ = aws.connect(options)
    await broker.open()
    await state.open()
    await other.open()
    try:
        await broker.wait(["mail"], 1.0)  # makes the queue
        waiter = asyncio.create_task(broker.wait(["mail"], 20.0))
        message = Message(id=new_id(1.0), queue="mail", task="t", body=msgspec.Raw(b"{}"))
        await other.send([Outgoing(message)])
        async with asyncio.timeout(15):
            await waiter
        queue = broker._store.queue
        assert isinstance(queue, aws.SqsQueue)
        before = queue._session.calls["receive_message"]
        (lease,) = await broker.lease(LeaseRequest("one/1", "r1", ("mail",), 1, 30.0))
        assert (lease.id, lease.counters) == (message.id, Counters(deliveries=1))
        assert queue._session.calls["receive_message"] == before
        # And one that finds nothing in the stash asks all the servers of SQS, not only some.
        began = asyncio.get_running_loop().time()
        assert await other.lease(LeaseRequest("two/1", "r2", ("mail",), 1, 30.0)) == []
        assert 0.9 < asyncio.get_running_loop().time() - began < 5
        (settlement,) = await broker.ack([Ack(lease)])
        assert settlement.outcome is Outcome.DELETED
    finally:
        await other.close()
        await state.close()
        await broker.close()
