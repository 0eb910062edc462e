"""Hints: a caller may name the queue of a message; a wrong hint changes no answer."""

from tenure.message import MessageState
from tenure.settlement import DeadLetter
from tenure.testing.harness import BROKEN, QUEUE, Harness

#: The right queue, another that is there, one that is not, and none.
HINTS = (QUEUE, "other", "nowhere", None)


class Hints:
    """The promises of a queue hint: to change no answer."""

    async def test_a_record_is_found_with_any_hint(self, harness: Harness) -> None:
        await harness.put(queue="other")
        ready, held = await harness.put(), await harness.put(delay_seconds=60.0)
        for id in (ready.id, held.id):
            records = [await harness.state.records.get(id, hint) for hint in HINTS]
            assert records[0] is not None
            assert [record and (record.id, record.queue, record.state) for record in records] == [
                (id, QUEUE, records[0].state)
            ] * len(HINTS)

    async def test_the_record_of_a_completed_message_is_found_with_any_hint(self, harness: Harness) -> None:
        await harness.put(queue="other")
        lease = await harness.leased(harness.stranger())
        await harness.complete(lease)
        for hint in HINTS:
            record = await harness.state.records.get(lease.id, hint)
            assert record is not None, hint
            assert (record.queue, record.state) == (QUEUE, MessageState.COMPLETED)

    async def test_a_message_that_is_nowhere_is_not_found(self, harness: Harness) -> None:
        await harness.put()
        await harness.put(queue="other")
        id = "f" * 32
        for hint in HINTS:
            assert await harness.state.records.get(id, hint) is None
            assert await harness.broker.cancel([id], hint) == [None]
            assert await harness.broker.delete([id], hint) == []
            assert await harness.broker.redrive([id], hint) == []

    async def test_a_message_is_cancelled_with_any_hint(self, harness: Harness) -> None:
        await harness.put(queue="other")
        for hint in HINTS:
            ready = await harness.put()
            assert await harness.broker.cancel([ready.id], hint) == [MessageState.READY], hint
            assert await harness.state_of(ready.id) == MessageState.CANCELLED
            lease = await harness.leased(harness.stranger())
            assert await harness.broker.cancel([lease.id], hint) == [MessageState.LEASED], hint
            assert await harness.broker.cancel([lease.id], hint) == [None]

    async def test_a_message_is_deleted_with_any_hint(self, harness: Harness) -> None:
        await harness.put(queue="other")
        for hint in HINTS:
            dead = await _dead(harness)
            ready = await harness.put()
            assert sorted(await harness.broker.delete([ready.id, dead], hint)) == sorted([ready.id, dead]), hint
            assert await harness.state_of(dead) == MessageState.CANCELLED

    async def test_a_message_is_redriven_with_any_hint(self, harness: Harness) -> None:
        await harness.put(queue="other")
        for hint in HINTS:
            id = await _dead(harness)
            assert await harness.broker.redrive([id], hint) == [id], hint
            assert (await harness.lease_one(harness.stranger())).id == id

    async def test_one_hint_does_for_ids_of_several_queues(self, harness: Harness) -> None:
        mine, others = await _dead(harness), [await _dead(harness, f"{name}-tasks") for name in "abc"]
        ids = [others[0], mine, *others[1:], "f" * 32]
        assert sorted(await harness.broker.redrive(ids, QUEUE)) == sorted([mine, *others])
        assert await harness.broker.cancel(ids, "b-tasks") == [MessageState.READY] * 4 + [None]

    async def test_answers_keep_their_order_with_a_hint(self, harness: Harness) -> None:
        first = await harness.put(queue="a-tasks")
        second = await harness.put(delay_seconds=60.0)
        third = await harness.put(queue="b-tasks", delay_seconds=60.0)
        ids = [third.id, "f" * 32, second.id, first.id]
        assert await harness.broker.cancel(ids, QUEUE) == [
            MessageState.DELAYED,
            None,
            MessageState.DELAYED,
            MessageState.READY,
        ]


async def _dead(harness: Harness, queue: str = QUEUE) -> str:
    lease = await harness.leased(harness.stranger(), queue=queue)
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    return lease.id
