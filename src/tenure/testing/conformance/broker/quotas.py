"""Quotas: a new message is refused while so many wait in its queue, and nothing that was accepted is ever refused."""

import asyncio

from tenure.broker import WAITING_KNOWN_SECONDS, Sent
from tenure.message import Message, MessageState, Outgoing
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack
from tenure.testing.harness import BROKEN, Harness

CODE = "quota_exceeded"


class Quotas:
    """The promises of `Outgoing.most_waiting`."""

    async def test_a_message_is_refused_while_so_many_wait(self, harness: Harness) -> None:
        assert await _send(harness, 2) == [None, None]
        refused = harness.message()
        (answer,) = await harness.broker.send([Outgoing(refused, most_waiting=2)])
        assert answer.refusal is not None
        assert (answer.id, answer.duplicate, answer.refusal.code) == (refused.id, False, CODE)
        assert await harness.state.records.get(refused.id) is None
        assert len(await harness.lease_all(await harness.owner())) == 2

    async def test_of_a_batch_the_first_are_stored(self, harness: Harness) -> None:
        batch = [harness.message() for _ in range(4)]
        answers = await harness.broker.send([Outgoing(one, most_waiting=2) for one in batch])
        assert _codes(answers) == [None, None, CODE, CODE]
        leases = await harness.lease_all(await harness.owner())
        assert {lease.id for lease in leases} == {one.id for one in batch[:2]}

    async def test_delayed_messages_wait_too(self, harness: Harness) -> None:
        delayed = Outgoing(harness.message(), delay_seconds=60.0, most_waiting=1)
        assert _codes(await harness.broker.send([delayed])) == [None]
        assert await _send(harness, 1, most=1) == [CODE]
        late = Outgoing(harness.message(), delay_seconds=60.0, most_waiting=1)
        assert _codes(await harness.broker.send([late])) == [CODE]

    async def test_a_repeat_is_a_duplicate_also_in_a_full_queue(self, harness: Harness) -> None:
        first = harness.message()
        assert _codes(await harness.broker.send([Outgoing(first, most_waiting=1)])) == [None]
        again = await harness.broker.send(
            [Outgoing(first, most_waiting=1), Outgoing(harness.message(), most_waiting=1)]
        )
        assert again[0] == Sent(first.id, duplicate=True)
        assert _codes(again) == [None, CODE]

    async def test_a_repeated_batch_that_fills_the_queue_is_known(self, harness: Harness) -> None:
        batch = [Outgoing(harness.message(), most_waiting=3) for _ in range(3)]
        assert _codes(await harness.broker.send(batch)) == [None] * 3
        assert await harness.broker.send(batch) == [Sent(one.message.id, duplicate=True) for one in batch]

    async def test_a_known_key_is_a_duplicate_also_in_a_full_queue(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        harness.need("waiting_is_counted")
        first, same = harness.message(key="k"), harness.message(key="k")
        other = harness.message(key="k", body={"to": "eve"})
        assert _codes(await harness.broker.send([Outgoing(first, most_waiting=1)])) == [None]
        assert await harness.broker.send([Outgoing(same, most_waiting=1)]) == [Sent(first.id, duplicate=True)]
        assert _codes(await harness.broker.send([Outgoing(other, most_waiting=1)])) == ["key_conflict"]

    async def test_what_is_refused_takes_neither_its_key_nor_its_unique(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        harness.need("unique_at_send")
        await harness.put()
        for fields in ({"key": "k"}, {"unique": "site"}):
            refused, later = harness.message(**fields), harness.message(**fields)
            assert _codes(await harness.broker.send([Outgoing(refused, most_waiting=1)])) == [CODE]
            assert await harness.broker.send([Outgoing(later)]) == [Sent(later.id)]

    async def test_one_that_waits_with_its_unique_stands_in_also_in_a_full_queue(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        harness.need("waiting_is_counted")
        first, same = harness.message(unique="site"), harness.message(unique="site")
        assert _codes(await harness.broker.send([Outgoing(first, most_waiting=1)])) == [None]
        assert await harness.broker.send([Outgoing(same, most_waiting=1)]) == [Sent(first.id, duplicate=True)]

    async def test_a_lease_makes_room_and_a_return_takes_it(self, harness: Harness) -> None:
        harness.need("waiting_is_counted")
        owner = await harness.owner()
        assert await _send(harness, 1, most=1) == [None]
        lease = await harness.lease_one(owner)
        assert await _send(harness, 1, most=1) == [None]
        # Two wait now, one more than may: what comes back is never refused.
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        assert await _send(harness, 1, most=2) == [CODE]
        leases = await harness.lease_all(owner)
        assert len(leases) == 2
        await harness.broker.give_back([GiveBack(one) for one in leases])
        assert await _send(harness, 1, most=2) == [CODE]

    async def test_when_some_were_run_there_is_room_again(self, harness: Harness) -> None:
        assert await _send(harness, 3, most=2) == [None, None, CODE]
        for lease in await harness.lease_all(await harness.owner()):
            await harness.complete(lease)
        await asyncio.sleep(2 * WAITING_KNOWN_SECONDS)
        assert await _send(harness, 3, most=2) == [None, None, CODE]

    async def test_dead_letters_do_not_wait_and_a_redrive_is_not_refused(self, harness: Harness) -> None:
        harness.need("waiting_is_counted")
        lease = await harness.leased(await harness.owner())
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        assert await _send(harness, 2, most=1) == [None, CODE]
        assert await harness.broker.redrive([lease.id]) == [lease.id]
        assert len(await harness.lease_all(await harness.owner())) == 2

    async def test_a_hand_off_is_not_refused_and_counts(self, harness: Harness) -> None:
        harness.need("settles_exactly_once")
        lease = await harness.leased(await harness.owner())
        await harness.put()
        child = harness.message()
        await harness.broker.ack([Ack(lease, handoffs=(Outgoing(child),))])
        record = await harness.state.records.get(child.id)
        assert record is not None
        assert record.state is MessageState.READY
        assert await _send(harness, 1) == [CODE]

    async def test_queues_do_not_count_for_each_other(self, harness: Harness) -> None:
        batch = [
            Outgoing(harness.message(queue=queue), most_waiting=1)
            for queue in ("acme-tasks", "eve-tasks", "acme-tasks")
        ]
        assert _codes(await harness.broker.send(batch)) == [None, None, CODE]

    async def test_messages_without_a_limit_are_stored_and_count(self, harness: Harness) -> None:
        await harness.put()
        assert await _send(harness, 2) == [None, CODE]
        await harness.put()
        assert await _send(harness, 1) == [CODE]

    async def test_a_limit_that_was_lowered_or_raised_counts_at_once(self, harness: Harness) -> None:
        assert await _send(harness, 3, most=3) == [None] * 3
        assert await _send(harness, 1, most=1) == [CODE]
        assert await _send(harness, 2, most=4) == [None, CODE]
        assert await _send(harness, 1, most=0) == [CODE]

    async def test_senders_at_once_do_not_pass_the_limit(self, harness: Harness) -> None:
        harness.need("waiting_is_counted")
        elsewhere = await harness.elsewhere()
        batches = [[Outgoing(harness.message(), most_waiting=5) for _ in range(3)] for _ in range(6)]
        answers = await asyncio.gather(
            *((elsewhere if at % 2 else harness.broker).send(batch) for at, batch in enumerate(batches))
        )
        assert sum(one.refusal is None for some in answers for one in some) == 5
        assert len(await harness.lease_all(await harness.owner())) == 5

    async def test_each_kind_of_message_is_refused_alike(self, harness: Harness) -> None:
        await harness.put()
        kinds: list[Message] = [
            harness.message(priority=9), harness.message(headers={"a": "b"}), harness.message(correlation_id="c"),
        ]  # fmt: skip
        answers = await harness.broker.send([Outgoing(one, most_waiting=1) for one in kinds])
        assert _codes(answers) == [CODE] * 3


async def _send(harness: Harness, count: int, *, most: int = 2) -> list[str | None]:
    return _codes(await harness.broker.send([Outgoing(harness.message(), most_waiting=most) for _ in range(count)]))


def _codes(answers: list[Sent]) -> list[str | None]:
    return [None if one.refusal is None else one.refusal.code for one in answers]
