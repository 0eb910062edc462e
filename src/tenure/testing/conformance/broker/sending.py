"""Sending: when `send` returned, the message is there once, whole, and stays."""

import asyncio

import msgspec

from tenure.broker import Sent
from tenure.envelope import decode, encode
from tenure.message import Message, MessageState, Outgoing, Overrides
from tenure.settlement import Ack, DeadLetter, GiveBack
from tenure.testing.harness import BROKEN, QUEUE, Harness, NotApplicable

#: Idempotent by id for at least so long.
REMEMBERED_SECONDS = 600.0

#: Over this a body at the limit would make the test slow rather than sharp.
TESTABLE_BODY = 8 * 1024 * 1024


class Sending:
    """The promises of `send`."""

    async def test_what_was_sent_is_lent_as_it_was_sent(self, harness: Harness) -> None:
        message = await harness.put(body={"to": "ada", "lines": ["ä", "\u2028", '"', "\\"]})
        lease = await harness.lease_one(harness.stranger())
        assert (lease.id, lease.queue) == (message.id, message.queue)
        assert lease.envelope == encode(message)

    async def test_every_field_of_a_message_survives(self, harness: Harness) -> None:
        message = await harness.put(
            priority=7,
            key="invoice-7" if harness.traits.keys_at_send else None,
            client="Zoë & Co",
            correlation_id="c-1",
            parent_id="p-1",
            headers={"trace": "00-ab"},
            expires_at=harness.clock.wall() + 86_400,
            generation=3,
            overrides=Overrides(lease_seconds=harness.lease_seconds, max_attempts=2, max_hold_seconds=90.0),
        )
        lease = await harness.lease_one(harness.stranger())
        assert decode(lease.envelope) == message

    async def test_answers_come_in_the_order_of_the_batch(self, harness: Harness) -> None:
        old = await harness.put()
        first, last = harness.message(), harness.message()
        answers = await harness.send(first, old, last)
        assert answers == [Sent(first.id), Sent(old.id, duplicate=True), Sent(last.id)]

    async def test_a_sent_message_is_ready_and_has_a_record(self, harness: Harness) -> None:
        message = await harness.put()
        record = await harness.record(message.id)
        assert (record.state, record.queue, record.task) == (MessageState.READY, message.queue, message.task)
        assert record.sent_at == message.sent_at
        assert (record.owner, record.deadline_in, record.finished_at) == (None, None, None)

    async def test_a_send_repeated_after_a_lost_reply_makes_one_copy(self, harness: Harness) -> None:
        messages = [harness.message() for _ in range(3)]
        await harness.send(*messages)
        again = await harness.send(*messages)
        assert again == [Sent(message.id, duplicate=True) for message in messages]
        leases = await harness.lease_all(harness.stranger())
        assert sorted(lease.id for lease in leases) == [message.id for message in messages]

    async def test_an_id_that_another_queue_knows_is_a_duplicate(self, harness: Harness) -> None:
        harness.need("ids_across_queues")
        message = await harness.put()
        elsewhere = msgspec.structs.replace(message, queue="letters")
        assert await harness.send(elsewhere) == [Sent(message.id, duplicate=True)]
        assert await harness.lease(harness.stranger(), 1, queues=("letters",)) == []

    async def test_where_ids_count_within_their_queue_each_has_its_own_message(self, harness: Harness) -> None:
        harness.need("ids_across_queues", lambda across: not across)
        message = await harness.put()
        elsewhere = msgspec.structs.replace(message, queue="letters")
        assert await harness.send(elsewhere, elsewhere) == [Sent(message.id), Sent(message.id, duplicate=True)]
        for queue in ("letters", QUEUE):
            await harness.complete(await harness.lease_one(harness.stranger(), queues=(queue,)))
        assert await harness.state_of(message.id) is MessageState.COMPLETED

    async def test_a_repeat_stores_what_was_missing(self, harness: Harness) -> None:
        first, second = harness.message(), harness.message()
        await harness.send(first)
        answers = await harness.send(first, second)
        assert answers == [Sent(first.id, duplicate=True), Sent(second.id)]
        leases = await harness.lease_all(harness.stranger())
        assert sorted(lease.id for lease in leases) == [first.id, second.id]

    async def test_one_id_twice_in_a_batch_makes_one_copy(self, harness: Harness) -> None:
        message = harness.message()
        answers = await harness.send(message, message)
        assert answers == [Sent(message.id), Sent(message.id, duplicate=True)]
        assert len(await harness.lease_all(harness.stranger())) == 1

    async def test_a_repeat_is_recognised_for_ten_minutes(self, harness: Harness) -> None:
        message = await harness.put()
        await harness.advance(REMEMBERED_SECONDS - 1)
        assert await harness.send(message) == [Sent(message.id, duplicate=True)]
        assert len(await harness.lease_all(harness.stranger())) == 1

    async def test_the_first_copy_of_an_id_is_the_one_that_counts(self, harness: Harness) -> None:
        message = await harness.put(body={"to": "ada"})
        other = msgspec.structs.replace(message, body=msgspec.Raw(b'{"to":"eve"}'))
        await harness.send(other)
        lease = await harness.lease_one(harness.stranger())
        assert decode(lease.envelope).body == message.body

    async def test_a_repeat_does_not_change_when_it_was_sent(self, harness: Harness) -> None:
        """The moment distinguishes two sends of an id, so every delivery of a send must have the same one."""
        message = await harness.put()
        repeat = msgspec.structs.replace(message, sent_at=message.sent_at + 7.0)
        await (await harness.second()).send([Outgoing(repeat)])
        for _ in range(4):
            lease = await harness.lease_one(harness.stranger())
            assert decode(lease.envelope).sent_at == message.sent_at
            await harness.broker.give_back([GiveBack(lease, 0.0)])
            await harness.advance(1)

    async def test_a_repeat_while_it_is_held_leaves_the_holder_alone(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        before = await harness.record(lease.id)
        message = decode(lease.envelope)
        assert await harness.send(message) == [Sent(lease.id, duplicate=True)]
        assert await harness.record(lease.id) == before
        assert await harness.lease_all(harness.stranger()) == []

    async def test_a_repeat_after_completion_is_not_run_again(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.ack([Ack(lease)])
        assert await harness.send(decode(lease.envelope)) == [Sent(lease.id, duplicate=True)]
        assert await harness.lease_all(harness.stranger()) == []

    async def test_a_repeat_of_a_dead_letter_leaves_it_dead(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        assert await harness.send(decode(lease.envelope)) == [Sent(lease.id, duplicate=True)]
        assert await harness.state_of(lease.id) == MessageState.DEAD
        assert await harness.lease_all(harness.stranger()) == []

    async def test_a_repeat_of_a_cancelled_message_leaves_it_cancelled(self, harness: Harness) -> None:
        message = await harness.put()
        await harness.broker.delete([message.id])
        assert await harness.send(message) == [Sent(message.id, duplicate=True)]
        assert await harness.lease_all(harness.stranger()) == []

    async def test_senders_of_one_id_at_once_make_one_copy(self, harness: Harness) -> None:
        message, other = harness.message(), await harness.second()
        brokers = [harness.broker, other] * 4
        answers = await asyncio.gather(*(broker.send([Outgoing(message)]) for broker in brokers))
        assert sorted(answer.duplicate for (answer,) in answers) == [False] + [True] * 7
        assert len(await harness.lease_all(harness.stranger())) == 1

    async def test_a_body_over_the_limit_is_refused_and_the_others_are_stored(self, harness: Harness) -> None:
        good, late = harness.message(), harness.message()
        large = _message_of(harness, harness.traits.body_limit + 1)
        answers = await harness.send(good, large, late)
        assert answers[0] == Sent(good.id)
        assert answers[2] == Sent(late.id)
        refusal = answers[1].refusal
        assert refusal is not None
        assert refusal.code == "body_too_large"
        assert not answers[1].duplicate
        assert await harness.state.records.get(large.id) is None
        leases = await harness.lease_all(harness.stranger())
        assert sorted(lease.id for lease in leases) == [good.id, late.id]

    async def test_a_body_at_the_limit_is_stored_whole(self, harness: Harness) -> None:
        large = _message_of(harness, harness.traits.body_limit)
        assert await harness.send(large) == [Sent(large.id)]
        lease = await harness.lease_one(harness.stranger())
        assert lease.envelope == encode(large)

    async def test_a_full_batch_is_stored(self, harness: Harness) -> None:
        messages = [harness.message() for _ in range(min(harness.traits.batch_limit, 1000))]
        assert await harness.send(*messages) == [Sent(message.id) for message in messages]
        leases = await harness.lease_all(harness.stranger())
        assert {lease.id for lease in leases} == {message.id for message in messages}
        assert len(leases) == len(messages)

    async def test_an_empty_batch_is_no_error(self, harness: Harness) -> None:
        broker = harness.broker
        assert await broker.send([]) == []
        assert await broker.touch([]) == []
        assert await broker.ack([]) == []
        assert await broker.nack([]) == []
        assert await broker.give_back([]) == []
        assert await broker.dead_letter([]) == []
        assert await broker.redrive([]) == []
        assert await broker.delete([]) == []

    async def test_queues_are_apart(self, harness: Harness) -> None:
        here, there = await harness.put(queue=QUEUE), await harness.put(queue="print")
        leases = await harness.lease_all(harness.stranger(), queues=("print",))
        assert [lease.id for lease in leases] == [there.id]
        assert await harness.state_of(here.id) == MessageState.READY


def _message_of(harness: Harness, size: int) -> Message:
    """A message whose envelope has exactly `size` bytes."""
    if size > TESTABLE_BODY:
        raise NotApplicable(f"a body of {size} bytes is more than this test makes")
    empty = len(encode(harness.message(body="")))
    return harness.message(body="x" * (size - empty))
