"""What others see of our messages in SQS, and what we see of theirs."""

import json
from typing import Any, ClassVar

import msgspec
import pytest
from tests.conformance.aws_harness import DynamoHarness, FauxqsHarness

from tenure.adapters.aws import attributes
from tenure.delivery_queue import Attribute
from tenure.envelope import decode
from tenure.foreign import Foreign
from tenure.message import MessageState, Ticket
from tenure.rowstore import wire
from tenure.settlement import DeadLetter, Nack
from tenure.tasks.call import Call
from tenure.testing.harness import BROKEN, QUEUE
from tenure.testing.workers import Stage


class PlainHarness(FauxqsHarness):
    """Bodies that old workers read."""

    changes: ClassVar[dict[str, Any]] = {"hold_seconds": 400.0, "wire": "plain"}


class Behind:
    """A bare client, as people have it who do not know Tenure."""

    def __init__(self, harness: Any, queue: str = QUEUE) -> None:
        """The queue must be there."""
        self._sqs: Any = harness._behind()
        self.queue = self._sqs.get_queue_url(QueueName=f"{harness._name}-{queue}")["QueueUrl"]

    def send(self, text: str, **words: Any) -> str:
        """The service's own id."""
        return str(self._sqs.send_message(QueueUrl=self.queue, MessageBody=text, **words)["MessageId"])

    def receive(self) -> dict[str, Any]:
        """One message with everything that it has."""
        (one,) = self._sqs.receive_message(QueueUrl=self.queue, MessageAttributeNames=["All"])["Messages"]
        found: dict[str, Any] = one
        return found

    def delete(self, one: dict[str, Any]) -> None:
        """Done."""
        self._sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=one["ReceiptHandle"])


@pytest.fixture
def harness() -> PlainHarness:
    return PlainHarness()


@pytest.fixture
def usual() -> FauxqsHarness:
    return FauxqsHarness()


@pytest.fixture
def dynamo() -> DynamoHarness:
    return DynamoHarness()


ATTRIBUTES: dict[str, dict[str, Any]] = {
    "kind": {"DataType": "String", "StringValue": "photo"},
    "count": {"DataType": "Number.int", "StringValue": "3"},
    "hash": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
}


async def test_in_the_plain_form_the_body_is_the_payload_alone(harness: PlainHarness) -> None:
    message = await harness.put(body={"image": "größe\x00.png"}, key="k", correlation_id="c")
    one = Behind(harness).receive()
    assert json.loads(one["Body"]) == {"image": "größe\x00.png"}
    assert one["MessageAttributes"].keys() == {"tenure", "tenure-id"}
    assert "größe" not in one["MessageAttributes"]["tenure"]["StringValue"]
    await harness.advance(31)
    assert decode((await harness.lease_one(harness.stranger())).envelope) == message


@pytest.mark.parametrize("body", [[1, 2], "text", None, {"tenure": 5, "id": "e1"}])
async def test_every_payload_can_stand_alone(harness: PlainHarness, body: object) -> None:
    message = await harness.put(body=body)
    lease = await harness.lease_one(harness.stranger())
    assert bytes(decode(lease.envelope).body) == bytes(message.body)
    await harness.complete(lease)


async def test_a_message_keeps_its_form_over_death_and_redrive(harness: PlainHarness) -> None:
    message = await harness.put()
    lease = await harness.lease_one(harness.stranger())
    await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
    lease = await harness.lease_one(harness.stranger())
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    record = await harness.record(message.id)
    assert record.envelope is not None
    assert decode(record.envelope) == message
    # Who redrives it need not have been told of the form.
    harness._store.settings = msgspec.structs.replace(harness._store.settings, wire="envelope")
    assert await harness.broker.redrive([message.id]) == [message.id]
    one = Behind(harness).receive()
    assert json.loads(one["Body"]) == {"to": "ada"}
    await harness.advance(31)
    again = decode((await harness.lease_one(harness.stranger())).envelope)
    assert again == msgspec.structs.replace(message, generation=1)


async def test_the_other_form_stays_as_it_is_under_the_option(harness: PlainHarness) -> None:
    """A sender is switched to wire=plain, and what it sent before is still there."""
    harness._store.settings = msgspec.structs.replace(harness._store.settings, wire="envelope")
    message = await harness.put()
    harness._store.settings = msgspec.structs.replace(harness._store.settings, wire="plain")
    lease = await harness.lease_one(harness.stranger())
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    await harness.broker.redrive([message.id])
    assert json.loads(Behind(harness).receive()["Body"])["id"] == message.id


async def test_an_envelope_of_a_newer_version_is_known_as_such_in_the_plain_form(harness: PlainHarness) -> None:
    message = await harness.put()
    behind = Behind(harness)
    one = behind.receive()
    behind.delete(one)
    attributes = one["MessageAttributes"]
    head = attributes["tenure"]["StringValue"].replace('"tenure":1', '"tenure":99')
    behind.send(one["Body"], MessageAttributes=attributes | {"tenure": {"DataType": "String", "StringValue": head}})
    async with Stage(harness) as stage:
        stage.task(_nothing)
        stage.router.add(None, lambda _: None)
        await stage.start()
        await stage.until(lambda: _has_reason(harness, message.id, "unknown_task"))


async def _has_reason(harness: FauxqsHarness, id: str, code: str) -> bool:
    record = await harness.record(id)
    return record.state is MessageState.DELAYED and record.reason is not None and record.reason.code == code


async def _nothing() -> None: ...


async def test_a_body_that_lies_elsewhere_is_refused_in_the_plain_form(harness: PlainHarness) -> None:
    message = harness.message(ticket=Ticket("s3://x", 5, "d"))
    (sent,) = await harness.send(message)
    assert sent.refusal is not None
    assert sent.refusal.code == "body_too_large"
    assert "wire=plain" in sent.refusal.text


async def test_what_is_beside_the_body_counts_for_the_limit(harness: PlainHarness) -> None:
    limit = harness.traits.body_limit
    for headers, code in (({}, None), ({"x": "y" * 2000}, "body_too_large")):
        message = harness.message(body={"to": "a" * (limit - 1000)}, headers=headers)
        (sent,) = await harness.send(message)
        assert (sent.refusal.code if sent.refusal else None) == code


async def test_a_foreign_message_tells_its_attributes_and_keeps_them_over_a_redrive(dynamo: DynamoHarness) -> None:
    await dynamo.lease(dynamo.stranger())  # the queue is there now
    behind = Behind(dynamo)
    sqs_id = behind.send('{"image": "a.png"}', MessageAttributes=ATTRIBUTES)
    lease = await dynamo.lease_one(dynamo.stranger())
    assert lease.id == f"sqs-{sqs_id}"
    assert lease.attributes == {"kind": "photo", "count": "3", "hash": "AP8="}
    assert lease.sent_at is not None
    await dynamo.broker.dead_letter([DeadLetter(lease, BROKEN)])
    assert (await dynamo.record(lease.id)).envelope == b'{"image": "a.png"}'
    assert await dynamo.broker.redrive([lease.id]) == [lease.id]
    one = behind.receive()
    assert one["Body"] == '{"image": "a.png"}'
    assert {name: one["MessageAttributes"][name] for name in ATTRIBUTES} == ATTRIBUTES
    await dynamo.advance(31)
    again = await dynamo.lease_one(dynamo.stranger())
    assert (again.id, again.envelope, again.attributes) == (lease.id, lease.envelope, lease.attributes)
    assert again.generation == 1


async def test_one_that_dies_in_a_sweep_keeps_its_attributes_too(usual: FauxqsHarness) -> None:
    await usual.lease(usual.stranger())
    behind = Behind(usual)
    behind.send("resize a.png", MessageAttributes=ATTRIBUTES)
    lease = await usual.lease_one(usual.stranger())
    await usual.lapse()
    for _ in range(usual.max_attempts - 1):
        await usual.lease_one(usual.stranger())
        await usual.lapse()
    assert await usual.lease(usual.stranger()) == []
    assert (await usual.record(lease.id)).envelope == b"resize a.png"
    assert await usual.broker.redrive([lease.id]) == [lease.id]
    assert behind.receive()["MessageAttributes"].keys() >= ATTRIBUTES.keys()


async def test_what_sqs_refuses_to_take_back_stays_a_dead_letter(
    usual: FauxqsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = await usual.put()
    lease = await usual.lease_one(usual.stranger())
    await usual.broker.dead_letter([DeadLetter(lease, BROKEN)])

    async def refuse(_: object) -> list[str]:
        return ["TooManyAttributes: eleven"]

    with monkeypatch.context() as patch:
        patch.setattr(usual._store.queue, "send", refuse)
        assert await usual.broker.redrive([message.id]) == []
    assert await usual.broker.redrive([message.id]) == [message.id]
    assert decode((await usual.lease_one(usual.stranger())).envelope).body == message.body


async def test_a_foreign_fifo_message_goes_back_to_its_group(usual: FauxqsHarness) -> None:
    queue = "orders.fifo"
    await usual.lease(usual.stranger(), queues=(queue,))
    behind = Behind(usual, queue)
    behind.send("{}", MessageGroupId="north", MessageDeduplicationId="1")
    lease = await usual.lease_one(usual.stranger(), queues=(queue,))
    await usual.broker.dead_letter([DeadLetter(lease, BROKEN)])
    await usual.broker.redrive([lease.id])
    (entry,) = await usual._store.queue.receive(usual._store.queue.physical(queue)[0], 1, 30)
    assert (entry.group, entry.id) == ("north", lease.id)


async def test_what_an_old_worker_deleted_is_not_revived_and_is_forgotten_in_time(dynamo: DynamoHarness) -> None:
    message = await dynamo.put()
    behind = Behind(dynamo)
    behind.delete(behind.receive())
    assert await dynamo.state_of(message.id) is MessageState.READY, "nobody told us"
    await dynamo.advance(60)
    assert await dynamo.lease(dynamo.stranger()) == [], "it is not revived"
    # DynamoDB itself forgets rows by this field, within days.
    key = {"part": {"S": f"m#{message.id}"}, "sort": {"S": "m"}}
    item = dynamo._dynamo().get_item(TableName=dynamo._name, Key=key)["Item"]
    assert 0 < float(item["forget"]["N"]) - dynamo.clock.wall() < 22 * 86_400.0


async def test_unique_needs_a_window_where_others_take_messages_without_a_word(harness: PlainHarness) -> None:
    (sent,) = await harness.send(harness.message(unique="word:a"))
    assert sent.refusal is not None
    assert sent.refusal.code == "unique_not_plain"
    (sent,) = await harness.send(harness.message(unique="word:a"), unique_seconds=60.0)
    assert sent.refusal is None


async def test_a_route_gets_what_stands_beside_the_body(usual: FauxqsHarness) -> None:
    async with Stage(usual) as stage:
        results: list[tuple[str, str]] = []

        @stage.task
        async def resize(image: str, kind: str) -> None:
            results.append((image, kind))

        def route(foreign: Foreign) -> Call[None]:
            return resize.bind(foreign.json()["image"], foreign.attributes["kind"])

        stage.router.add(QUEUE, route)
        await usual.lease(usual.stranger())
        sqs_id = Behind(usual).send('{"image": "a.png"}', MessageAttributes=ATTRIBUTES)
        await stage.start()
        await stage.until(lambda: bool(results))
        record = await stage.ended(f"sqs-{sqs_id}")
        assert (record.state, record.task) == (MessageState.COMPLETED, "resize")
    assert results == [("a.png", "photo")]


def test_attributes_are_kept_as_they_are() -> None:
    read = attributes.read(ATTRIBUTES)
    assert read["hash"] == Attribute("Binary", "AP8=")
    assert attributes.written(wire.loaded(wire.dumped(read))) == ATTRIBUTES
    assert wire.loaded(wire.dumped({})) == {}
