"""Refusing: what `send` would refuse is known beforehand, and what is refused too late is put aside, never dropped."""

import itertools

from tenure.broker import Refused, Sent
from tenure.envelope import decode, encode
from tenure.errors import ConfigurationError
from tenure.message import Message, MessageState, Outgoing
from tenure.testing.harness import QUEUE, Harness
from tenure.verdict import Reason

#: A limit within which a test can send a message that is too large.
TESTABLE_BODY = 8 * 1024 * 1024

_DAY = 86_400.0
_REASON = Reason("refused_by_queue", "the queue does not take it")


class Refusing:
    """Tests of refusals: which messages are refused, when that is known, and where they go."""

    async def test_what_send_refuses_is_known_beforehand(self, harness: Harness) -> None:
        for outgoing in _doubtful(harness):
            assert _told(harness, outgoing) == await _sent(harness, outgoing), outgoing

    async def test_what_send_takes_is_not_refused_beforehand(self, harness: Harness) -> None:
        for delay in (0.0, 60.0, 12 * 3600.0):
            outgoing = Outgoing(harness.message(), delay)
            assert harness.broker.refusal(outgoing) is None
            assert await harness.broker.send([outgoing]) == [Sent(outgoing.message.id)]

    async def test_what_is_put_aside_is_a_dead_letter_of_its_queue(self, harness: Harness) -> None:
        message = harness.message(queue="next")
        await harness.broker.put_aside([Refused(message, _REASON)])
        record = await harness.record(message.id)
        assert (record.state, record.reason, record.queue) == (MessageState.DEAD, _REASON, "next")
        assert [(ending.how, ending.reason) for ending in record.history] == [("dead", _REASON)]
        (letter,) = await harness.browse("next", MessageState.DEAD)
        assert (letter.id, letter.reason, letter.envelope) == (message.id, _REASON, encode(message))
        assert (await harness.depth("next")).dead == 1
        assert "next" in [depth.queue for depth in await harness.broker.depth()]
        assert await harness.lease_all(harness.stranger(), queues=("next",)) == []

    async def test_what_is_put_aside_can_be_redriven(self, harness: Harness) -> None:
        message = harness.message()
        await harness.broker.put_aside([Refused(message, _REASON)])
        assert await harness.broker.redrive([message.id]) == [message.id]
        lease = await harness.lease_one(harness.stranger())
        lent = decode(lease.envelope)
        assert (lent.id, lent.generation, lent.body, lent.sent_at) == (message.id, 1, message.body, message.sent_at)
        assert await harness.browse(QUEUE, MessageState.DEAD) == []

    async def test_what_is_put_aside_can_be_deleted(self, harness: Harness) -> None:
        message = harness.message()
        await harness.broker.put_aside([Refused(message, _REASON)])
        assert await harness.broker.delete([message.id]) == [message.id]
        assert await harness.browse(QUEUE, MessageState.DEAD) == []

    async def test_put_aside_twice_it_is_there_once(self, harness: Harness) -> None:
        message = harness.message()
        for reason in (_REASON, _REASON, Reason("other", "another word")):
            await harness.broker.put_aside([Refused(message, reason)])
        (letter,) = await harness.browse(QUEUE, MessageState.DEAD)
        assert letter.reason == _REASON
        assert len((await harness.record(message.id)).history) == 1

    async def test_several_are_put_aside_in_one_call(self, harness: Harness) -> None:
        messages = [harness.message(queue=queue) for queue in ("next", QUEUE, "next")]
        await harness.broker.put_aside([Refused(message, _REASON) for message in messages])
        for message in messages:
            assert await harness.state_of(message.id) is MessageState.DEAD
        assert len(await harness.browse("next", MessageState.DEAD)) == 2
        await harness.broker.put_aside([])

    async def test_a_message_that_is_in_its_queue_is_not_put_aside(self, harness: Harness) -> None:
        ready, held = await harness.put(), await harness.leased(harness.stranger(), queue="next")
        await harness.broker.put_aside([Refused(ready, _REASON), Refused(decode(held.envelope), _REASON)])
        assert await harness.state_of(ready.id) is MessageState.READY
        assert await harness.state_of(held.id) is MessageState.LEASED
        assert [lease.id for lease in await harness.lease_all(harness.stranger())] == [ready.id]

    async def test_a_send_of_what_was_put_aside_is_a_repeat(self, harness: Harness) -> None:
        message = harness.message()
        await harness.broker.put_aside([Refused(message, _REASON)])
        assert await harness.send(message) == [Sent(message.id, duplicate=True)]
        assert await harness.lease_all(harness.stranger()) == []
        assert await harness.state_of(message.id) is MessageState.DEAD

    async def test_what_is_put_aside_takes_no_key(self, harness: Harness) -> None:
        await harness.broker.put_aside([Refused(harness.message(key="k", body=1), _REASON)])
        other = harness.message(key="k", body=2)
        assert await harness.send(other) == [Sent(other.id)]

    async def test_what_is_put_aside_stands_for_nothing(self, harness: Harness) -> None:
        await harness.broker.put_aside([Refused(harness.message(unique="word:w"), _REASON)])
        other = harness.message(unique="word:w")
        assert await harness.send(other) == [Sent(other.id)]

    async def test_a_body_over_the_limit_is_put_aside_whole(self, harness: Harness) -> None:
        harness.need("body_limit", lambda limit: limit <= TESTABLE_BODY)
        large = harness.message(body="x" * harness.traits.body_limit)
        await harness.broker.put_aside([Refused(large, _REASON)])
        (letter,) = await harness.browse(QUEUE, MessageState.DEAD)
        assert letter.envelope == encode(large)


def _doubtful(harness: Harness) -> list[Outgoing]:
    """Messages that some brokers refuse."""

    def outgoing(delay: float = 0.0, **fields: object) -> Outgoing:
        return Outgoing(harness.message(**fields), delay)

    delays = [outgoing(days * _DAY, queue=f"next-{number}") for number, days in enumerate((1, 12, 13, 14, 20, 400))]
    fifo = [
        outgoing(delay, queue="in-order.fifo", priority=priority)
        for delay, priority in itertools.product((0.0, 5.0), (5, 9))
    ]
    names = [outgoing(key="k" * 5000), outgoing(queue="No such_queue"), outgoing(queue="x" * 90)]
    limit = harness.traits.body_limit
    sizes = [outgoing(body="x" * limit), outgoing(body="x" * (limit - 600))] if limit <= TESTABLE_BODY else []
    return [*delays, *fifo, *names, *sizes, Outgoing(harness.message(unique="word:w")), Outgoing(_ticketless(harness))]


def _ticketless(harness: Harness) -> Message:
    return harness.message(body=["not an object"])


def _told(harness: Harness, outgoing: Outgoing) -> Reason | str | None:
    """Return what `refusal` answers: the refusal, or the code of an error."""
    try:
        return harness.broker.refusal(outgoing)
    except ConfigurationError as error:
        return error.code


async def _sent(harness: Harness, outgoing: Outgoing) -> Reason | str | None:
    """Return what `send` answers: the refusal, or the code of an error."""
    try:
        (sent,) = await harness.broker.send([outgoing])
    except ConfigurationError as error:
        return error.code
    return sent.refusal
