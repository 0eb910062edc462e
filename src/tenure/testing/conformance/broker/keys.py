"""Keys: the same work sent twice is stored once, for as long as the key is taken."""

import asyncio

from tenure.broker import Sent
from tenure.claim import ClaimRequest, Done, Fresh, Scope, Seal, digest
from tenure.envelope import decode
from tenure.message import Message, Outgoing
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack
from tenure.testing.harness import BROKEN, Harness

KEY = "invoice-7"


class Keys:
    """The promises of `send` for messages with a key, where the broker recognises keys."""

    async def test_the_same_key_and_payload_again_is_the_first_message(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        first, again = await harness.put(key=KEY), harness.message(key=KEY)
        assert await harness.send(again) == [Sent(first.id, duplicate=True)]
        assert [lease.id for lease in await harness.lease_all(harness.stranger())] == [first.id]
        assert await harness.state.records.get(again.id) is None

    async def test_the_same_key_with_another_payload_is_refused(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        first, other = await harness.put(key=KEY), harness.message(key=KEY, body={"to": "eve"})
        await _refused(harness, other)
        assert [lease.id for lease in await harness.lease_all(harness.stranger())] == [first.id]
        assert await harness.state.records.get(other.id) is None

    async def test_within_one_batch_the_earlier_one_counts(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        first, same = harness.message(key=KEY), harness.message(key=KEY)
        other, free = harness.message(key=KEY, body={"to": "eve"}), harness.message(key="invoice-8")
        answers = await harness.send(first, same, other, free)
        assert answers[:2] == [Sent(first.id), Sent(first.id, duplicate=True)]
        assert answers[2].refusal is not None
        assert answers[3] == Sent(free.id)
        leases = await harness.lease_all(harness.stranger())
        assert sorted(lease.id for lease in leases) == [first.id, free.id]

    async def test_a_repeat_with_key_and_id_is_a_duplicate(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        message = await harness.put(key=KEY)
        assert await harness.send(message) == [Sent(message.id, duplicate=True)]

    async def test_a_key_belongs_to_its_queue_and_task(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        await harness.put(key=KEY)
        await harness.put(key=KEY, queue="other", body={"to": "eve"})
        await harness.put(key=KEY, task="other", body={"to": "bob"})

    async def test_senders_of_one_key_at_once_store_one(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        second = await harness.second()
        messages = [harness.message(key=KEY) for _ in range(6)]
        brokers = [harness.broker, second] * 3
        pairs = zip(brokers, messages, strict=True)
        answers = await asyncio.gather(*(broker.send([Outgoing(message)]) for broker, message in pairs))
        assert len({sent.id for (sent,) in answers}) == 1
        assert sorted(sent.duplicate for (sent,) in answers) == [False] + [True] * 5
        assert len(await harness.lease_all(harness.stranger())) == 1

    async def test_a_key_stays_taken_while_its_message_is_held_or_waits(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        lease = await harness.leased(harness.stranger(), key=KEY)
        await self._is_taken(harness, lease.id)
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        await self._is_taken(harness, lease.id)
        lease = await harness.lease_one(harness.stranger())
        await harness.broker.give_back([GiveBack(lease, 60.0)])
        await self._is_taken(harness, lease.id)

    async def test_a_key_stays_taken_when_its_message_is_done(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        lease = await harness.leased(harness.stranger(), key=KEY)
        await harness.broker.ack([Ack(lease, b"42")])
        await self._is_taken(harness, lease.id)
        await _refused(harness, harness.message(key=KEY, body={"to": "eve"}))
        assert await harness.lease_all(harness.stranger()) == []

    async def test_acking_a_keyed_message_makes_its_key_done(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        lease = await harness.leased(harness.stranger(), key=KEY)
        message = decode(lease.envelope)
        await harness.broker.ack([Ack(lease, b"42")])
        answer = await _claim(harness, message, harness.stranger())
        assert isinstance(answer, Done)
        assert answer.result == b"42"

    async def test_an_ack_does_not_write_over_what_was_sealed(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        lease = await harness.leased(harness.stranger(), key=KEY)
        message = decode(lease.envelope)
        claimed = await _claim(harness, message, lease.owner)
        assert isinstance(claimed, Fresh)
        assert await harness.state.ledger.seal([Seal(claimed.token, b"1")]) == [True]
        await harness.broker.ack([Ack(lease, b"2")])
        answer = await _claim(harness, message, harness.stranger())
        assert isinstance(answer, Done)
        assert answer.result == b"1"

    async def test_a_dead_message_frees_its_key(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        lease = await harness.leased(harness.stranger(), key=KEY)
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        new = await harness.put(key=KEY, body={"to": "eve"})
        assert (await harness.lease_one(harness.stranger())).id == new.id

    async def test_a_message_that_dies_while_it_is_claimed_frees_its_key(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        lease = await harness.leased(harness.stranger(), key=KEY)
        assert isinstance(await _claim(harness, decode(lease.envelope), lease.owner), Fresh)
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        new = await harness.put(key=KEY, body={"to": "eve"})
        again = await harness.lease_one(harness.stranger())
        assert again.id == new.id
        assert isinstance(await _claim(harness, new, again.owner), Fresh)

    async def test_a_message_that_dies_in_a_sweep_frees_its_key(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        lease = await harness.leased(harness.stranger(), key=KEY)
        await harness.advance(harness.lease_seconds - 1)
        await harness.advance(2.0, sweeping=False)
        assert (await harness.sweep(max_attempts=1)).dead == (lease.id,)
        await harness.put(key=KEY, body={"to": "eve"})

    async def test_a_cancelled_message_frees_its_key(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        message = await harness.put(key=KEY)
        await harness.broker.delete([message.id])
        new = await harness.put(key=KEY, body={"to": "eve"})
        assert (await harness.lease_one(harness.stranger())).id == new.id

    async def test_a_redriven_message_can_be_claimed_in_its_new_generation(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        lease = await harness.leased(harness.stranger(), key=KEY)
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        await harness.broker.redrive([lease.id])
        again = await harness.lease_one(harness.stranger())
        message = decode(again.envelope)
        assert message.generation == 1
        assert isinstance(await _claim(harness, message, again.owner), Fresh)

    async def test_a_redriven_message_takes_its_key_in_its_new_generation(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        lease = await harness.leased(harness.stranger(), key=KEY)
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        await harness.broker.redrive([lease.id])
        repeated = harness.message(key=KEY, generation=1)
        assert await harness.send(repeated) == [Sent(lease.id, duplicate=True)]
        again = await harness.lease_one(harness.stranger())
        await harness.broker.ack([Ack(again, b"42")])
        answer = await _claim(harness, decode(again.envelope), harness.stranger())
        assert isinstance(answer, Done)
        assert answer.result == b"42"

    async def test_a_failed_message_can_be_claimed_at_once(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        lease = await harness.leased(harness.stranger(), key=KEY)
        message = decode(lease.envelope)
        assert isinstance(await _claim(harness, message, lease.owner), Fresh)
        # The worker releases first; a broker in the same store does not depend on it.
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        again = await harness.lease_one(harness.stranger())
        assert isinstance(await _claim(harness, message, again.owner), Fresh)

    async def test_a_message_given_back_can_be_claimed_at_once(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        lease = await harness.leased(harness.stranger(), key=KEY)
        message = decode(lease.envelope)
        assert isinstance(await _claim(harness, message, lease.owner), Fresh)
        await harness.broker.give_back([GiveBack(lease)])
        again = await harness.lease_one(harness.stranger())
        assert isinstance(await _claim(harness, message, again.owner), Fresh)

    async def test_a_swept_message_can_be_claimed_at_once(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        lease = await harness.leased(harness.stranger(), key=KEY)
        message = decode(lease.envelope)
        claimed = await _claim(harness, message, lease.owner, seconds=harness.lease_seconds * 10)
        assert isinstance(claimed, Fresh)
        assert (await harness.lapse()).returned == (lease.id,)
        again = await harness.lease_one(harness.stranger())
        answer = await _claim(harness, message, again.owner)
        assert isinstance(answer, Fresh)
        assert answer.token.fence > claimed.token.fence

    async def _is_taken(self, harness: Harness, by: str) -> None:
        assert await harness.send(harness.message(key=KEY)) == [Sent(by, duplicate=True)]


async def _refused(harness: Harness, message: Message) -> None:
    (sent,) = await harness.send(message)
    assert sent.refusal is not None, "the same key with another payload was taken"
    assert (sent.refusal.code, sent.duplicate) == ("key_conflict", False)


async def _claim(harness: Harness, message: Message, owner: str, seconds: float | None = None) -> object:
    seconds = harness.lease_seconds if seconds is None else seconds
    request = ClaimRequest(Scope.of(message), message.id, owner, seconds, digest(message))
    (answer,) = await harness.state.ledger.claim([request])
    return answer
