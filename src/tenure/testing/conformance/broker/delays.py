"""Delays: a delayed message is never lent early, and at most a second late."""

from tenure.broker import Sent
from tenure.envelope import decode
from tenure.message import MessageState
from tenure.settlement import GiveBack, Nack
from tenure.testing.harness import BROKEN, Harness

#: Due messages are promoted at most so late.
PROMOTION_SECONDS = 1.0

DAY = 86_400.0


class Delays:
    """Tests of delays at `send`, `nack` and `give_back`."""

    async def test_a_delayed_message_is_not_lent_early(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=20.0)
        await harness.advance(19.9)
        assert await harness.lease(harness.stranger()) == []
        assert await harness.state_of(message.id) == MessageState.DELAYED

    async def test_a_due_message_is_lent_within_a_second(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=20.0)
        await harness.advance(20.0 + PROMOTION_SECONDS)
        assert (await harness.lease_one(harness.stranger())).id == message.id

    async def test_leasing_alone_promotes(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=20.0)
        await harness.advance(20.0 + PROMOTION_SECONDS, sweeping=False)
        assert [lease.id for lease in await harness.broker.lease(harness.request("client/1"))] == [message.id]

    async def test_a_delayed_message_says_when_it_is_due(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=20.0)
        await harness.advance(5.0)
        record = await harness.record(message.id)
        assert record.due_in is not None
        assert 14.0 <= record.due_in <= 15.0
        await harness.advance(16.0)
        await harness.lease_one(harness.stranger())
        assert (await harness.record(message.id)).due_in is None

    async def test_many_that_fall_due_at_once_are_all_lent(self, harness: Harness) -> None:
        messages = [harness.message() for _ in range(10)]
        await harness.send(*messages, delay_seconds=3.0)
        await harness.advance(3.0 + PROMOTION_SECONDS)
        leases = await harness.lease_all(harness.stranger())
        assert sorted(lease.id for lease in leases) == [message.id for message in messages]

    async def test_each_falls_due_by_itself(self, harness: Harness) -> None:
        late, soon = await harness.put(delay_seconds=30.0), await harness.put(delay_seconds=10.0)
        await harness.advance(10.0 + PROMOTION_SECONDS)
        assert [lease.id for lease in await harness.lease_all(harness.stranger())] == [soon.id]
        await harness.advance(20.0)
        assert [lease.id for lease in await harness.lease_all(harness.stranger())] == [late.id]

    async def test_a_promoted_message_keeps_its_priority(self, harness: Harness) -> None:
        harness.need("priority_levels", lambda levels: levels > 1)
        await harness.put_many(2, priority=1)
        await harness.put(priority=9, delay_seconds=5.0)
        await harness.advance(5.0 + PROMOTION_SECONDS)
        leases = [await harness.lease_one(harness.stranger()) for _ in range(2)]
        assert 9 in [decode(lease.envelope).priority for lease in leases]

    async def test_a_failed_message_comes_back_after_its_delay(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.nack([Nack(lease, 20.0, BROKEN)])
        assert await harness.state_of(lease.id) == MessageState.DELAYED
        await harness.advance(19.9)
        assert await harness.lease(harness.stranger()) == []
        await harness.advance(0.1 + PROMOTION_SECONDS)
        assert (await harness.lease_one(harness.stranger())).id == lease.id

    async def test_a_message_given_back_comes_back_after_its_delay(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.give_back([GiveBack(lease, 20.0)])
        assert await harness.state_of(lease.id) == MessageState.DELAYED
        await harness.advance(19.9)
        assert await harness.lease(harness.stranger()) == []
        await harness.advance(0.1 + PROMOTION_SECONDS)
        assert (await harness.lease_one(harness.stranger())).id == lease.id

    async def test_the_old_holder_cannot_touch_a_message_that_waits(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.nack([Nack(lease, 20.0, BROKEN)])
        before = await harness.record(lease.id)
        await harness.broker.touch([lease])
        assert await harness.record(lease.id) == before

    async def test_a_delay_of_a_month_is_kept_or_refused(self, harness: Harness) -> None:
        message = harness.message()
        (sent,) = await harness.send(message, delay_seconds=30 * DAY)
        if sent.refusal is not None:
            # It would outlive what the broker keeps: refused at once, nothing stored.
            assert harness.traits.max_delay_seconds is not None
            assert await harness.state.records.get(message.id) is None
            return
        assert sent == Sent(message.id)
        await harness.advance(30 * DAY - 1, sweeping=False)
        assert await harness.lease_all(harness.stranger()) == []
        await harness.advance(1 + PROMOTION_SECONDS)
        lease = await harness.lease_one(harness.stranger())
        assert lease.id == message.id
        assert lease.counters.attempts == 0
