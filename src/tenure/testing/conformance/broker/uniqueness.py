"""Uniqueness: while a message waits, another one like it is not stored; once it is lent, the next one is."""

import asyncio
from typing import Any

from tenure.broker import Sent
from tenure.envelope import decode
from tenure.message import Message, MessageState, Outgoing
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.conformance.broker.settling import TESTABLE_BODY
from tenure.testing.harness import BROKEN, Harness

SITE = "site-1"
NOON = 1_700_000_000.0


class Uniqueness:
    """The promises of `send` for messages with `unique`, where the broker knows what waits."""

    async def test_while_one_waits_the_next_is_not_stored(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        first, next_ = await harness.put(unique=SITE), harness.message(unique=SITE)
        assert await harness.send(next_) == [Sent(first.id, duplicate=True)]
        assert await harness.state.records.get(next_.id) is None
        assert [lease.id for lease in await harness.lease_all(harness.stranger())] == [first.id]

    async def test_one_that_is_delayed_waits_too(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        first = await harness.put(unique=SITE, delay_seconds=60.0)
        await _is_absorbed(harness, first.id)
        await harness.advance(61.0, sweeping=False)
        await _is_absorbed(harness, first.id)
        assert (await harness.lease_one(harness.stranger())).id == first.id

    async def test_the_payload_does_not_matter(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        first = await harness.put(unique=SITE)
        await _is_absorbed(harness, first.id, body={"to": "eve"})
        await _is_absorbed(harness, first.id, generation=3, priority=9)
        assert decode((await harness.lease_one(harness.stranger())).envelope).body == first.body

    async def test_it_counts_within_its_queue_and_task(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        await harness.put(unique=SITE)
        await harness.put(unique=SITE, queue="other")
        await harness.put(unique=SITE, task="other")

    async def test_other_words_and_none_are_apart(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        await harness.put()
        await harness.put(unique=SITE)
        await harness.put(unique="site-2")
        await harness.put(unique="")
        await harness.put()

    async def test_once_it_is_held_the_next_is_stored(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        lease = await harness.leased(harness.stranger(), unique=SITE)
        second = await harness.put(unique=SITE)
        await _is_absorbed(harness, second.id)
        await harness.complete(lease)
        assert [one.id for one in await harness.lease_all(harness.stranger())] == [second.id]

    async def test_what_is_finished_does_not_count(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        await harness.complete(await harness.leased(harness.stranger(), unique=SITE))
        dead = await harness.leased(harness.stranger(), unique=SITE)
        await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
        for verb in (harness.broker.delete, harness.broker.cancel):
            message = await harness.put(unique=SITE)
            await verb([message.id])
            delayed = await harness.put(unique=SITE, delay_seconds=60.0)
            await verb([delayed.id])
        await harness.broker.cancel([(await harness.leased(harness.stranger(), unique=SITE)).id])
        await harness.put(unique=SITE)

    async def test_one_that_failed_waits_again(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        lease = await harness.leased(harness.stranger(), unique=SITE)
        await harness.broker.nack([Nack(lease, 60.0, BROKEN)])
        await _is_absorbed(harness, lease.id)

    async def test_one_that_was_given_back_waits_again(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        lease = await harness.leased(harness.stranger(), unique=SITE)
        await harness.broker.give_back([GiveBack(lease)])
        await _is_absorbed(harness, lease.id)

    async def test_one_that_was_swept_or_whose_owner_is_gone_waits_again(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        message = await harness.put(unique=SITE)
        owner = await harness.owner()
        await harness.lease_one(owner)
        assert (await harness.lapse()).returned == (message.id,)
        await _is_absorbed(harness, message.id)
        await harness.lease_one(owner)
        await harness.broker.retire(owner.id, crashed=True)
        await _is_absorbed(harness, message.id)

    async def test_one_that_was_redriven_waits_again(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        lease = await harness.leased(harness.stranger(), unique=SITE)
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        assert await harness.broker.redrive([lease.id]) == [lease.id]
        await _is_absorbed(harness, lease.id)

    async def test_one_that_comes_back_beside_another_is_not_lost(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        lease = await harness.leased(harness.stranger(), unique=SITE)
        second = await harness.put(unique=SITE)
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        leases = await harness.lease_all(harness.stranger())
        assert sorted(one.id for one in leases) == sorted([lease.id, second.id])

    async def test_of_several_that_wait_the_oldest_stands_for_the_next(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        lease = await harness.leased(harness.stranger(), unique=SITE)
        second = await harness.put(unique=SITE)
        await _is_absorbed(harness, second.id)
        await harness.broker.nack([Nack(lease, 60.0, BROKEN)])
        await _is_absorbed(harness, lease.id)
        await harness.broker.cancel([lease.id])
        await _is_absorbed(harness, second.id)

    async def test_within_one_batch_the_earlier_one_counts(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        first, second, other = (harness.message(unique=word) for word in (SITE, SITE, "site-2"))
        answers = await harness.send(first, second, other)
        assert answers == [Sent(first.id), Sent(first.id, duplicate=True), Sent(other.id)]
        assert len(await harness.lease_all(harness.stranger())) == 2

    async def test_senders_at_once_store_one(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        second = await harness.second()
        messages = [harness.message(unique=SITE) for _ in range(6)]
        pairs = zip([harness.broker, second] * 3, messages, strict=True)
        answers = await asyncio.gather(*(broker.send([Outgoing(message)]) for broker, message in pairs))
        assert len({sent.id for (sent,) in answers}) == 1
        assert sorted(sent.duplicate for (sent,) in answers) == [False] + [True] * 5
        assert len(await harness.lease_all(harness.stranger())) == 1

    async def test_however_many_are_sent_one_waits(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        first = await harness.put(unique=SITE)
        count = min(200, harness.traits.batch_limit)
        messages = [harness.message(unique=SITE) for _ in range(count)]
        assert await harness.send(*messages) == [Sent(first.id, duplicate=True)] * count
        assert [lease.id for lease in await harness.lease_all(harness.stranger())] == [first.id]

    async def test_within_its_window_one_that_waits_stands_for_the_next(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        first = await harness.put(unique=SITE, sent_at=NOON)
        await _is_absorbed(harness, first.id, seconds=60.0, sent_at=NOON + 30.0)
        await _is_absorbed(harness, first.id, seconds=60.0, sent_at=NOON + 60.0)
        # By when it was sent, in whatever order the two arrive.
        await _is_absorbed(harness, first.id, seconds=60.0, sent_at=NOON - 5.0)

    async def test_outside_its_window_it_does_not(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        first = await harness.put(unique=SITE, sent_at=NOON, delay_seconds=3600.0)
        late = harness.message(unique=SITE, sent_at=NOON + 61.0)
        assert await harness.send(late, unique_seconds=60.0) == [Sent(late.id)]
        # Of the two that wait now, one is young enough for the next; without a window it is the oldest.
        await _is_absorbed(harness, late.id, seconds=60.0, sent_at=NOON + 62.0)
        await _is_absorbed(harness, first.id, sent_at=NOON + 62.0)

    async def test_the_window_is_that_of_the_one_that_is_sent(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        first = harness.message(unique=SITE, sent_at=NOON)
        assert await harness.send(first, unique_seconds=1.0) == [Sent(first.id)]
        await _is_absorbed(harness, first.id, seconds=60.0, sent_at=NOON + 30.0)

    async def test_one_that_expires_before_the_next_would_does_not_stand_for_it(self, harness: Harness) -> None:
        """The waiting message may expire and never run; then neither would be done."""
        harness.need("unique_at_send")
        now = harness.clock.wall()
        await harness.put(unique=SITE, expires_at=now + 60.0)
        longer = await harness.put(unique=SITE, expires_at=now + 61.0)
        await _is_absorbed(harness, longer.id, expires_at=now + 61.0)
        lasting = await harness.put(unique=SITE)
        await _is_absorbed(harness, lasting.id)
        await _is_absorbed(harness, lasting.id, expires_at=now + 3600.0)
        assert len(await harness.lease_all(harness.stranger())) == 3

    async def test_one_that_lasts_at_least_as_long_stands_for_the_next(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        now = harness.clock.wall()
        first = await harness.put(unique=SITE, expires_at=now + 60.0, delay_seconds=5.0)
        await _is_absorbed(harness, first.id, expires_at=now + 60.0)
        await _is_absorbed(harness, first.id, expires_at=now + 1.0)

    async def test_one_that_has_expired_does_not_stand_for_the_next(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        await harness.put(unique=SITE, expires_at=harness.clock.wall() + 1.0)
        await harness.advance(2.0, sweeping=False)
        await harness.put(unique=SITE, expires_at=harness.clock.wall() + 60.0)

    async def test_one_that_comes_back_stands_for_no_longer_than_it_lasts(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        now = harness.clock.wall()
        lease = await harness.leased(harness.stranger(), unique=SITE, expires_at=now + 60.0)
        await harness.broker.nack([Nack(lease, 5.0, BROKEN)])
        await _is_absorbed(harness, lease.id, expires_at=now + 60.0)
        await harness.put(unique=SITE, expires_at=now + 61.0)

    async def test_within_one_batch_what_expires_earlier_stands_for_nothing_that_lasts(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        now = harness.clock.wall()
        moments = (now + 60.0, now + 61.0, now + 50.0, None, now + 3600.0)
        batch = [harness.message(unique=SITE, expires_at=moment) for moment in moments]
        brief, longer, _, lasting, _ = (message.id for message in batch)
        absorbed = [Sent(by, duplicate=True) for by in (brief, lasting)]
        assert await harness.send(*batch) == [Sent(brief), Sent(longer), absorbed[0], Sent(lasting), absorbed[1]]

    async def test_what_is_refused_or_known_by_its_id_is_told_so_first(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        harness.need("body_limit", lambda limit: limit <= TESTABLE_BODY)
        lease = await harness.leased(harness.stranger(), unique=SITE)
        await harness.put(unique=SITE)
        large = harness.message(unique=SITE, body="x" * harness.traits.body_limit)
        known, refused = await harness.send(decode(lease.envelope), large)
        assert known == Sent(lease.id, duplicate=True)
        assert refused.refusal is not None
        assert (refused.id, refused.refusal.code) == (large.id, "body_too_large")

    async def test_a_key_is_looked_at_first(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        harness.need("keys_at_send")
        keyed = await harness.put(key="invoice-7", queue="mail", unique="site-2")
        await harness.put(unique=SITE)
        same, other = (harness.message(key="invoice-7", unique=SITE, body=body) for body in (None, {"to": "eve"}))
        duplicate, conflict = await harness.send(same, other)
        assert duplicate == Sent(keyed.id, duplicate=True)
        assert conflict.refusal is not None
        assert conflict.refusal.code == "key_conflict"

    async def test_one_that_is_stored_is_known_by_both(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        harness.need("keys_at_send")
        first = await harness.put(key="invoice-7", unique=SITE)
        assert await harness.send(harness.message(key="invoice-7")) == [Sent(first.id, duplicate=True)]
        await _is_absorbed(harness, first.id, key="invoice-8")

    async def test_one_that_is_not_stored_takes_no_key(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        harness.need("keys_at_send")
        first = await harness.put(unique=SITE)
        await _is_absorbed(harness, first.id, key="invoice-7")
        await harness.put(key="invoice-7", body={"to": "eve"})

    async def test_hand_offs_go_the_same_way(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        harness.need("settles_exactly_once")
        waiting = await harness.put(queue="next", unique=SITE, sent_at=NOON)
        lease = await harness.leased(harness.stranger())
        same, fresh = (harness.message(queue="next", unique=word, sent_at=NOON + 30.0) for word in (SITE, "site-2"))
        again, late = (harness.message(queue="next", unique=SITE, sent_at=NOON + 70.0) for _ in range(2))
        handoffs = (Outgoing(same), Outgoing(fresh), Outgoing(late, 0.0, 60.0), Outgoing(again, 0.0, 60.0))
        (settlement,) = await harness.broker.ack([Ack(lease, b"1", handoffs)])
        assert settlement.outcome == Outcome.DELETED
        leases = await harness.lease_all(harness.stranger(), queues=("next",))
        assert sorted(one.id for one in leases) == sorted([waiting.id, fresh.id, late.id])
        assert await harness.state.records.get(same.id) is None

    async def test_it_is_part_of_the_message(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger(), unique=SITE)
        assert decode(lease.envelope).unique == SITE
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        assert decode((await harness.lease_one(harness.stranger())).envelope).unique == SITE

    async def test_it_outlives_the_connection(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        first = await harness.put(unique=SITE)
        await harness.reopen()
        await _is_absorbed(harness, first.id)
        assert await harness.state_of(first.id) == MessageState.READY


async def _is_absorbed(harness: Harness, by: str, *, seconds: float | None = None, **fields: Any) -> None:
    message: Message = harness.message(**({"unique": SITE} | fields))
    assert await harness.send(message, unique_seconds=seconds) == [Sent(by, duplicate=True)]
    assert await harness.state.records.get(message.id) is None
