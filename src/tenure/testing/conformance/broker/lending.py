"""Lending: a message is leased to one holder at a time, stamped in one step, and leases can be found."""

import asyncio

from tenure.envelope import encode
from tenure.lease import LeaseState
from tenure.message import Counters, MessageState, Overrides
from tenure.settlement import Ack, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE, TASK, Harness, NotApplicable

LEASERS = 8


class Lending:
    """The promises of `lease` and `held`."""

    async def test_an_empty_queue_lends_nothing(self, harness: Harness) -> None:
        assert await harness.lease(harness.stranger(), 5) == []

    async def test_no_more_are_lent_than_were_wanted(self, harness: Harness) -> None:
        await harness.put_many(5)
        assert len(await harness.lease(harness.stranger(), 2)) == 2
        depth = await harness.depth()
        if depth.ready is not None:
            assert (depth.ready, depth.leased) == (3, 2)

    async def test_no_more_are_lent_than_there_are(self, harness: Harness) -> None:
        messages = await harness.put_many(3)
        leases = await harness.lease(harness.stranger(), min(10, harness.traits.batch_limit))
        assert sorted(lease.id for lease in leases) == sorted(message.id for message in messages)

    async def test_wanting_more_than_the_batch_limit_is_no_error(self, harness: Harness) -> None:
        await harness.put_many(3)
        leases = await harness.lease(harness.stranger(), harness.traits.batch_limit + 1)
        assert len(leases) == 3

    async def test_one_call_lends_no_more_bytes_than_its_limit(self, harness: Harness) -> None:
        sent = await _put_large(harness, over=1.5)
        owner, lent = harness.stranger(), list[str]()
        for _ in range(sent):
            leases = await harness.lease(owner, harness.traits.batch_limit)
            assert leases, "nothing was lent, though something is ready"
            assert sum(len(lease.envelope) for lease in leases) <= harness.traits.lease_byte_limit
            lent += [lease.id for lease in leases]
            if len(lent) == sent:
                break
        assert len(set(lent)) == sent, "what one call had no room for is lent by the next one"

    async def test_the_limit_of_bytes_is_used(self, harness: Harness) -> None:
        sent = await _put_large(harness, over=1.5)
        leases = await harness.lease(harness.stranger(), harness.traits.batch_limit)
        room = harness.traits.lease_byte_limit - sum(len(lease.envelope) for lease in leases)
        assert len(leases) < sent
        assert room < 2 * len(leases[0].envelope), "there was room for more"

    async def test_what_came_back_is_lent_within_the_limit_of_bytes(self, harness: Harness) -> None:
        sent = await _put_large(harness, over=1.2)
        leases = await harness.lease_all(harness.stranger())
        await harness.broker.give_back([GiveBack(lease) for lease in leases])
        again = await harness.lease(harness.stranger(), harness.traits.batch_limit)
        assert sum(len(lease.envelope) for lease in again) <= harness.traits.lease_byte_limit
        assert len(again) + len(await harness.lease_all(harness.stranger())) == sent

    async def test_several_queues_share_the_limit_of_bytes(self, harness: Harness) -> None:
        queues = ("mail", "news", "bulk")
        for queue in queues:
            await _put_large(harness, over=0.5, queue=queue)
        leases = await harness.lease(harness.stranger(), harness.traits.batch_limit, queues=queues)
        assert sum(len(lease.envelope) for lease in leases) <= harness.traits.lease_byte_limit

    async def test_a_message_is_lent_alone_if_it_is_larger_than_the_limit(self, harness: Harness) -> None:
        harness.need("lease_byte_limit", lambda limit: limit < harness.traits.body_limit)
        size = (harness.traits.lease_byte_limit + harness.traits.body_limit) // 2
        first, second = await harness.put(body="x" * size), await harness.put(body="x" * size)
        assert [lease.id for lease in await harness.lease(harness.stranger(), 9)] == [first.id]
        assert [lease.id for lease in await harness.lease(harness.stranger(), 9)] == [second.id]

    async def test_a_lease_says_who_holds_what_and_how_long(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner)
        assert (lease.owner, lease.queue, lease.state) == (owner.id, QUEUE, LeaseState.HELD)
        assert lease.seconds == harness.lease_seconds
        assert lease.fence > 0
        assert lease.counters == Counters(deliveries=1)

    async def test_holder_fence_and_deadline_are_stamped_with_the_lending(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner)
        record = await harness.record(lease.id)
        assert (record.state, record.owner, record.fence) == (MessageState.LEASED, owner.id, lease.fence)
        assert record.deadline_in is not None
        assert harness.lease_seconds - 1 <= record.deadline_in <= harness.lease_seconds

    async def test_the_local_deadline_is_never_later_than_the_brokers(self, harness: Harness) -> None:
        message = await harness.put()
        before = harness.clock.monotonic()
        lease = await harness.lease_one(harness.stranger())
        assert lease.deadline <= before + lease.seconds
        record = await harness.record(message.id)
        assert record.deadline_in is not None
        assert lease.remaining(harness.clock.monotonic()) <= record.deadline_in

    async def test_a_held_message_is_lent_to_nobody_else(self, harness: Harness) -> None:
        owner = harness.stranger()
        await harness.leased(owner)
        second = await harness.second()
        assert await harness.lease(owner) == []
        assert await harness.lease(harness.stranger()) == []
        assert await second.lease(harness.request(harness.stranger())) == []
        assert (await harness.advance(harness.lease_seconds - 1)).moved == 0
        assert await harness.lease(harness.stranger()) == []

    async def test_leasers_at_once_never_share_a_message(self, harness: Harness) -> None:
        messages = await harness.put_many(LEASERS * 5)
        second = await harness.second()

        async def drain(number: int) -> list[str]:
            broker = second if number % 2 else harness.broker
            owner, lent = harness.stranger(), list[str]()
            while batch := await broker.lease(harness.request(owner, 3)):
                lent += [lease.id for lease in batch]
                assert len(lent) <= len(messages), "more was lent than there is"
            return lent

        lent = await asyncio.gather(*(drain(number) for number in range(LEASERS)))
        ids = [id for one in lent for id in one]
        assert sorted(ids) == sorted(message.id for message in messages)

    async def test_leasers_of_one_message_at_once_get_it_once(self, harness: Harness) -> None:
        await harness.put()
        second = await harness.second()
        brokers = [harness.broker, second] * (LEASERS // 2)
        answers = await asyncio.gather(*(one.lease(harness.request(harness.stranger())) for one in brokers))
        assert sum(len(leases) for leases in answers) == 1

    async def test_each_lending_counts_one_delivery(self, harness: Harness) -> None:
        await harness.put()
        for delivery in range(1, 4):
            lease = await harness.lease_one(harness.stranger())
            assert lease.counters == Counters(deliveries=delivery)
            await harness.broker.give_back([GiveBack(lease)])

    async def test_a_lease_carries_the_counters_of_its_message(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        again = await harness.lease_one(harness.stranger())
        assert again.counters == Counters(deliveries=2, attempts=1)

    async def test_several_queues_are_all_served(self, harness: Harness) -> None:
        await harness.put_many(10, queue="busy")
        quiet = await harness.put(queue="quiet")
        owner = harness.stranger()
        ids = [(await harness.lease_one(owner, queues=("busy", "quiet"))).id for _ in range(6)]
        assert quiet.id in ids

    async def test_one_call_may_lend_from_several_queues(self, harness: Harness) -> None:
        messages = [await harness.put(queue=queue) for queue in ("a-tasks", "b-tasks", "c-tasks")]
        leases = await harness.lease(harness.stranger(), 3, queues=("a-tasks", "b-tasks", "c-tasks"))
        assert {(lease.id, lease.queue) for lease in leases} == {(one.id, one.queue) for one in messages}

    async def test_a_task_may_have_its_own_lease(self, harness: Harness) -> None:
        harness.need("lease_per_message")
        quick, slow = await harness.put(task="quick"), await harness.put(task="slow")
        long = harness.lease_seconds * 4
        leases = await harness.lease(harness.stranger(), 2, seconds_by_task={"slow": long})
        assert {lease.id: lease.seconds for lease in leases} == {quick.id: harness.lease_seconds, slow.id: long}
        assert (await harness.lapse()).returned == (quick.id,)
        assert await harness.state_of(slow.id) == MessageState.LEASED

    async def test_a_messages_own_lease_beats_the_tasks(self, harness: Harness) -> None:
        harness.need("lease_per_message")
        own = harness.lease_seconds / 2
        lease = await harness.leased(harness.stranger(), overrides=Overrides(lease_seconds=own))
        assert lease.seconds == own
        await harness.broker.give_back([GiveBack(lease)])
        again = await harness.lease_one(harness.stranger(), seconds_by_task={TASK: harness.lease_seconds * 4})
        assert again.seconds == own
        assert (await harness.advance(own + 1)).returned == (lease.id,)

    async def test_a_lease_stays_within_the_brokers_bounds(self, harness: Harness) -> None:
        traits = harness.traits
        await harness.put_many(2)
        short = await harness.lease_one(harness.stranger(), seconds=traits.min_lease_seconds / 2)
        long = await harness.lease_one(harness.stranger(), seconds=traits.max_lease_seconds * 2)
        assert (short.seconds, long.seconds) == (traits.min_lease_seconds, traits.max_lease_seconds)

    async def test_held_finds_what_a_lost_reply_lent(self, harness: Harness) -> None:
        owner = harness.stranger()
        await harness.put_many(3)
        lost = await harness.lease(owner, 2, request_id="the-lost-one")
        await harness.lease(owner, 1, request_id="another")
        found = await harness.broker.held(owner, "the-lost-one")
        assert sorted((lease.id, lease.fence) for lease in found) == sorted((lease.id, lease.fence) for lease in lost)
        settlements = await harness.broker.ack([Ack(lease) for lease in found])
        assert [settlement.outcome for settlement in settlements] == [Outcome.DELETED] * 2

    async def test_held_tells_all_that_an_owner_holds_and_nothing_else(self, harness: Harness) -> None:
        mine, other = harness.stranger(), harness.stranger()
        await harness.put_many(4)
        leases = await harness.lease(mine, 3)
        await harness.lease(other, 1)
        await harness.broker.ack([Ack(leases[0])])
        await harness.broker.give_back([GiveBack(leases[1], 60.0)])
        held = await harness.broker.held(mine)
        assert [(lease.id, lease.owner) for lease in held] == [(leases[2].id, mine)]
        assert held[0].envelope == leases[2].envelope
        assert held[0].seconds == leases[2].seconds

    async def test_a_lease_that_is_held_has_the_brokers_deadline(self, harness: Harness) -> None:
        owner = harness.stranger()
        await harness.leased(owner)
        await harness.advance(10.0)
        (held,) = await harness.broker.held(owner)
        remaining = held.remaining(harness.clock.monotonic())
        assert harness.lease_seconds - 11 <= remaining <= harness.lease_seconds - 10

    async def test_looking_at_what_is_held_changes_nothing(self, harness: Harness) -> None:
        owner = harness.stranger()
        lease = await harness.leased(owner)
        before = await harness.record(lease.id)
        await harness.broker.held(owner)
        await harness.broker.held(owner, "no-such-request")
        assert await harness.record(lease.id) == before

    async def test_a_message_that_cannot_be_decoded_is_lent_as_it_is(self, harness: Harness) -> None:
        message = await harness.put()
        raw = await harness.damage(message.id)
        lease = await harness.lease_one(harness.stranger())
        assert (lease.id, lease.envelope) == (message.id, raw)

    async def test_a_damaged_message_does_not_spoil_its_neighbours(self, harness: Harness) -> None:
        before, damaged, after = await harness.put(), await harness.put(), await harness.put()
        raw = await harness.damage(damaged.id)
        leases = await harness.lease(harness.stranger(), 3)
        assert [(lease.id, lease.envelope) for lease in leases] == [
            (before.id, encode(before)),
            (damaged.id, raw),
            (after.id, encode(after)),
        ]


async def _put_large(harness: Harness, *, over: float, queue: str = QUEUE) -> int:
    """Send large messages, this many times the limit of bytes in all; how many. Skips where no call could exceed it."""
    traits = harness.traits
    if traits.body_limit * traits.batch_limit <= traits.lease_byte_limit:
        raise NotApplicable("a whole batch of the largest messages is within the limit of bytes here")
    size = min(traits.body_limit - 1000, traits.lease_byte_limit // 5)
    count = min(int(over * traits.lease_byte_limit / size) + 1, traits.batch_limit)
    for _ in range(count):
        await harness.put(body="x" * size, queue=queue)
    return count
