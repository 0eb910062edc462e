"""What others see of our messages in a storage queue, and what we see of theirs."""

import base64
import json
from typing import Any

import msgspec
import pytest
from tests.conformance.azure_harness import AzureHarness

from tenure.adapters.azure import posting, wire
from tenure.adapters.azure.naming import POISON
from tenure.adapters.azure.text import read as text_read
from tenure.envelope import decode, encode
from tenure.foreign import Foreign
from tenure.message import Message, MessageState, Ticket
from tenure.settlement import Ack, DeadLetter, Nack, Outcome
from tenure.tasks.call import Call
from tenure.testing.harness import BROKEN, QUEUE
from tenure.testing.workers import Stage

DAY = 86_400.0
MESSAGE = Message(id="m", queue="q", task="t", body=msgspec.Raw(b'{"a": [1 ], "id": "theirs"}'), key="k")


class PlainHarness(AzureHarness):
    """Messages that old workers read."""

    options = ("wire=plain",)


@pytest.fixture
def harness() -> PlainHarness:
    return PlainHarness()


async def _put(harness: AzureHarness, text: str) -> None:
    await harness.lease(harness.stranger())  # the queue is there now
    client = harness._store.queue(QUEUE)
    await harness._store.call("sending", lambda: client.send_message(text, time_to_live=-1))


async def _shown(harness: AzureHarness, ending: str = "") -> list[str]:
    client = harness._store.queue(QUEUE, ending)
    found: Any = await harness._store.call("looking", lambda: client.peek_messages(max_messages=5))
    return [str(one.content) for one in found]


async def _take(harness: AzureHarness) -> str:
    """As an old worker does: receive and delete."""
    client = harness._store.queue(QUEUE)
    (one,) = await posting.receive(harness._store, QUEUE, 1, 30.0)
    await harness._store.call("deleting", lambda: client.delete_message(one.id, one.pop_receipt))
    return str(one.content)


# --- ours -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["plain", "base64"])
@pytest.mark.parametrize("body", [b"{}", b'{"a": 1}', b' { "a" : {"tenure": 1} } ', '{"a":"ü\\u0000"}'.encode()])
def test_a_message_in_the_plain_form_is_read_again(body: bytes, encoding: str) -> None:
    message = msgspec.structs.replace(MESSAGE, body=msgspec.Raw(body))
    text = wire.write(encode(message), wire.PLAIN, encoding)
    said = json.loads(text_read(text))
    assert said.pop("tenure")["id"] == "m"
    assert said == json.loads(body)
    found = wire.read(text)
    assert (found.id, found.wire, found.is_foreign) == ("m", wire.PLAIN, False)
    assert found.raw is not None
    again = decode(found.raw)
    assert again == msgspec.structs.replace(message, body=again.body)
    assert bytes(again.body).strip() == body.strip()


def test_it_is_read_also_if_somebody_has_written_it_anew() -> None:
    text = json.dumps(json.loads(wire.write(encode(MESSAGE), wire.PLAIN, "plain")), indent=2, sort_keys=True)
    found = wire.read(text)
    assert found.raw is not None
    assert json.loads(bytes(decode(found.raw).body)) == {"a": [1], "id": "theirs"}


@pytest.mark.parametrize(
    "text",
    ['{"tenure": 7, "employee": "e1"}', '{"tenure": {"years": 7}, "id": "e1"}', '{"tenure": "long"}', '"tenure"', "x"],
)
def test_others_may_use_the_word(text: str) -> None:
    assert wire.read(text) == wire.Read(text.encode(), None, is_foreign=True)


async def test_a_message_keeps_its_form_over_death_and_redrive(harness: PlainHarness) -> None:
    message = await harness.put(key="k")
    (text,) = await _shown(harness)
    assert json.loads(text)["to"] == "ada"
    lease = await harness.lease_one(harness.stranger())
    assert lease.envelope == encode(message)
    await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
    lease = await harness.lease_one(harness.stranger())
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    (poison,) = await _shown(harness, POISON)
    assert json.loads(poison)["to"] == "ada"
    # Who redrives it need not have been told of the form.
    harness._store.options = msgspec.structs.replace(harness._store.options, wire="envelope")
    assert await harness.broker.redrive([message.id]) == [message.id]
    (text,) = await _shown(harness)
    assert json.loads(text)["to"] == "ada"
    again = decode((await harness.lease_one(harness.stranger())).envelope)
    assert again == msgspec.structs.replace(message, generation=1)


@pytest.mark.parametrize(
    ("fields", "code", "said"),
    [
        ({"body": [1]}, "payload_not_plain", "no JSON object"),
        ({"body": {"tenure": 1}}, "payload_not_plain", "a key 'tenure' of its own"),
        ({"ticket": Ticket("blob", 5, "d")}, "body_too_large", "elsewhere"),
        ({"unique": "word:a"}, "unique_not_plain", "unique_window"),
        ({"body": {"a": "x" * 49_100}}, "body_too_large", "bytes"),
    ],
)
async def test_what_cannot_stand_so_is_refused(harness: PlainHarness, fields: Any, code: str, said: str) -> None:
    (sent,) = await harness.send(harness.message(**fields))
    assert sent.refusal is not None
    assert sent.refusal.code == code
    assert said in sent.refusal.text


async def test_what_an_old_worker_deleted_is_not_revived_and_is_forgotten_in_time(harness: PlainHarness) -> None:
    taken = await harness.put()
    assert json.loads(await _take(harness))["to"] == "ada"
    assert await harness.state_of(taken.id) is MessageState.READY, "nobody told us"
    await harness.advance(60)
    assert await harness.lease(harness.stranger()) == []
    put_off = await harness.put()
    lease = await harness.lease_one(harness.stranger())
    await harness.broker.nack([Nack(lease, 5.0, BROKEN)])
    await harness.advance(8 * DAY, sweeping=False)
    await harness.state.journal.prune(DAY)
    assert await harness.state_of(put_off.id) is MessageState.DELAYED, "its queue is not empty"
    await _take(harness)
    depth = await harness.depth()
    assert (depth.ready, depth.delayed) == (0, 0)
    waiting = await harness.put()
    await _take(harness)
    await harness.state.journal.prune(DAY)
    assert await harness.state.records.get(taken.id) is None
    assert await harness.state.records.get(put_off.id) is None
    assert await harness.state_of(waiting.id) is MessageState.READY, "not old enough"


# --- theirs ---------------------------------------------------------------------------------------------

OBJECT = '{"image": "a.png", "width": 5}'


@pytest.mark.parametrize(
    ("text", "is_readable"),
    [
        (OBJECT, True),
        (base64.b64encode(OBJECT.encode()).decode(), True),
        ("{}", False),
        ('{"tenure": 3}', False),
        ("resize a.png", False),
        ("abcd", False),
        ("\ttab and \x7f del", False),
        (json.dumps({"big": "x" * 65_520}), False),
        ("x" * 65_536, False),
        ("größe €", False),
    ],
    ids=lambda value: str(value)[:16],
)
async def test_a_foreign_message_keeps_text_and_id_whoever_takes_it_next(
    harness: PlainHarness, text: str, *, is_readable: bool
) -> None:
    await _put(harness, text)
    lease = await harness.lease_one(harness.stranger())
    assert lease.envelope == text.encode()
    assert lease.sent_at is not None
    (settlement,) = await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    assert settlement.outcome == Outcome.DEAD
    assert await _shown(harness, POISON) == [text]
    assert (await harness.record(lease.id)).envelope == text.encode()
    assert await harness.broker.redrive([lease.id]) == [lease.id]
    (shown,) = await _shown(harness)
    if is_readable:  # by old workers, which pass over one key more
        said = json.loads(text_read(shown))
        assert said.pop("tenure") == {"foreign": lease.id}
        assert said == json.loads(OBJECT)
    await harness.reopen()  # nothing is remembered
    again = await harness.lease_one(harness.stranger())
    assert (again.id, again.envelope, again.generation) == (lease.id, lease.envelope, 1)
    assert (await harness.broker.ack([Ack(again)]))[0].outcome == Outcome.DELETED


async def test_control_characters_that_would_not_come_back_are_buried_as_base64(harness: PlainHarness) -> None:
    await _put(harness, "resize\r\na.png")
    lease = await harness.lease_one(harness.stranger())
    assert lease.envelope == b"resize\r\na.png"
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    assert [text_read(text) for text in await _shown(harness, POISON)] == [lease.envelope]
    assert await harness.broker.redrive([lease.id]) == [lease.id]
    assert (await harness.lease_one(harness.stranger())).envelope == lease.envelope


async def test_what_the_poison_queue_cannot_take_stays_in_the_table(
    harness: PlainHarness, caplog: pytest.LogCaptureFixture
) -> None:
    """A carriage return that the service gave us would not come back as one, and base64 has no room."""
    await _put(harness, "x" * 65_536)
    lease = await harness.lease_one(harness.stranger())
    odd = msgspec.structs.replace(lease, envelope=b"\r" * 65_536)
    (settlement,) = await harness.broker.dead_letter([DeadLetter(odd, BROKEN)])
    assert settlement.outcome == Outcome.DEAD
    assert "kept in the table" in caplog.text
    assert (await harness.record(lease.id)).envelope == odd.envelope
    assert not (await harness.sweep()).dead, "nobody tries again and again"
    assert await harness.broker.redrive([lease.id]) == [lease.id]
    assert (await harness.lease_one(harness.stranger())).envelope == odd.envelope


@pytest.mark.parametrize("text", [OBJECT, base64.b64encode(OBJECT.encode()).decode()], ids=["plain", "base64"])
async def test_a_foreign_message_is_run_and_its_record_is_kept(harness: PlainHarness, text: str) -> None:
    async with Stage(harness) as stage:
        ran: list[tuple[str, str]] = []

        @stage.task
        async def resize(image: str) -> str:
            return image

        def route(foreign: Foreign) -> Call[str]:
            ran.append((foreign.id, foreign.text))
            return foreign.call(resize).having(key="order-1")

        stage.router.add(QUEUE, route)
        await _put(harness, text)
        await stage.start()
        await stage.until(lambda: bool(ran))
        (id, seen), *_ = ran
        assert seen == text
        record = await stage.ended(id)
        assert (record.state, record.task, record.result) == (MessageState.COMPLETED, "resize", b'"a.png"')


async def test_a_foreign_message_with_a_key_that_no_field_takes_is_done_nevertheless(harness: PlainHarness) -> None:
    await _put(harness, '{"image": "a.png"}')
    lease = await harness.lease_one(harness.stranger())
    routed = harness.message(id=lease.id, key="k" * 40_000)
    (settlement,) = await harness.broker.ack([Ack(lease, b"1", routed=routed)])
    assert settlement.outcome is Outcome.DELETED
