"""Returning: a sweep returns what is overdue and nothing else, and after an outage nothing for one window."""

import asyncio

from tenure.broker import Swept
from tenure.lease import LeaseState
from tenure.message import Counters, MessageState, Overrides
from tenure.settlement import Ack, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, Harness


class Returning:
    """The promises of `sweep`."""

    async def test_an_overdue_message_is_lent_again(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        assert (await harness.lapse()).returned == (lease.id,)
        record = await harness.record(lease.id)
        assert (record.state, record.owner, record.deadline_in) == (MessageState.READY, None, None)
        assert (await harness.lease_one(harness.stranger())).id == lease.id

    async def test_a_healthy_lease_is_left_alone(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        assert await harness.advance(harness.lease_seconds - 1) == Swept()
        assert await harness.state_of(lease.id) == MessageState.LEASED

    async def test_healthy_leases_in_front_never_hide_an_overdue_one(self, harness: Harness) -> None:
        await harness.put_many(120)
        for _ in range(12):
            await harness.lease(harness.stranger(), 10, seconds=harness.lease_seconds * 10)
        overdue = await harness.leased(harness.stranger())
        assert (await harness.lapse()).returned == (overdue.id,)

    async def test_the_oldest_deadline_is_returned_first(self, harness: Harness) -> None:
        # Messages in one order, deadlines in another.
        ids = {}
        for later in (3, 1, 4, 0, 2):
            seconds = harness.lease_seconds + later
            ids[later] = (await harness.leased(harness.stranger(), seconds=seconds)).id
        await _overdue(harness, harness.lease_seconds, later=4.0)
        assert (await harness.sweep(limit=2)).returned == (ids[0], ids[1])
        assert (await harness.sweep(limit=2)).returned == (ids[2], ids[3])
        assert (await harness.sweep(limit=2)).returned == (ids[4],)

    async def test_a_sweep_moves_no_more_than_its_limit(self, harness: Harness) -> None:
        await harness.put_many(7)
        await harness.lease(harness.stranger(), 7)
        await _overdue(harness, harness.lease_seconds)
        assert [(await harness.sweep(limit=3)).moved for _ in range(4)] == [3, 3, 1, 0]

    async def test_a_message_acked_a_moment_ago_is_never_revived(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await _overdue(harness, harness.lease_seconds)
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert settlement.outcome == Outcome.DELETED
        assert (await harness.sweep()).moved == 0
        assert (await harness.advance(harness.lease_seconds * 3)).moved == 0
        assert await harness.is_completed(lease.id)

    async def test_of_a_sweep_and_an_ack_at_once_one_wins(self, harness: Harness) -> None:
        second = await harness.second()
        for turn in range(6):
            lease = await harness.leased(harness.stranger(), queue=f"queue-{turn}")
            await _overdue(harness, harness.lease_seconds)
            sweep, ack = second.sweep(harness.sweep_request()), harness.broker.ack([Ack(lease)])
            if turn % 2:
                swept, (settlement,) = await asyncio.gather(sweep, ack)
            else:
                (settlement,), swept = await asyncio.gather(ack, sweep)
            if settlement.outcome == Outcome.DELETED:
                assert swept.returned == ()
                assert await harness.is_completed(lease.id)
            else:
                assert (settlement.outcome, swept.returned) == (Outcome.ALREADY_GONE, (lease.id,))
                assert await harness.state_of(lease.id) == MessageState.READY

    async def test_sweepers_at_once_return_a_message_once(self, harness: Harness) -> None:
        second = await harness.second()
        await harness.put_many(5)
        leases = await harness.lease(harness.stranger(), 5)
        await _overdue(harness, harness.lease_seconds)
        brokers = [harness.broker, second] * 3
        swept = await asyncio.gather(*(broker.sweep(harness.sweep_request()) for broker in brokers))
        returned = [id for one in swept for id in one.returned]
        assert sorted(returned) == sorted(lease.id for lease in leases)
        for lease in leases:
            assert (await harness.record(lease.id)).counters == Counters(deliveries=1, attempts=1)

    async def test_what_was_settled_is_not_swept(self, harness: Harness) -> None:
        await harness.put_many(3)
        first, second, third = await harness.lease(harness.stranger(), 3)
        await harness.broker.nack([Nack(first, 3600.0, BROKEN)])
        await harness.broker.give_back([GiveBack(second, 3600.0)])
        await harness.broker.ack([Ack(third)])
        assert (await harness.advance(harness.lease_seconds * 3)).moved == 0

    async def test_a_worker_with_presence_that_lapses_counts_as_lost(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner)
        assert (await harness.lapse()).returned == (lease.id,)
        record = await harness.record(lease.id)
        assert record.counters == Counters(deliveries=1, lost=1)
        assert [(one.how, one.owner) for one in record.history] == [("lost", owner.id)]

    async def test_a_worker_with_presence_never_uses_up_the_attempts(self, harness: Harness) -> None:
        owner = await harness.owner()
        message = await harness.put()
        for _ in range(harness.max_attempts + 1):
            await harness.lease_one(owner)
            swept = await harness.lapse()
            assert (swept.returned, swept.dead) == ((message.id,), ())
        counters = (await harness.record(message.id)).counters
        assert counters == Counters(deliveries=harness.max_attempts + 1, lost=harness.max_attempts + 1)

    async def test_a_holder_without_presence_that_lapses_has_used_an_attempt(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        assert (await harness.lapse()).returned == (lease.id,)
        record = await harness.record(lease.id)
        assert record.counters == Counters(deliveries=1, attempts=1)
        (ending,) = record.history
        assert (ending.how, ending.owner) == ("failed", lease.owner)
        assert ending.reason is not None
        assert ending.reason.code == "lease_lapsed"

    async def test_at_the_last_attempt_a_sweep_moves_it_to_the_dead_letters(self, harness: Harness) -> None:
        message = await harness.put()
        for _ in range(harness.max_attempts - 1):
            await harness.lease_one(harness.stranger())
            swept = await harness.lapse()
            assert (swept.returned, swept.dead) == ((message.id,), ())
        await harness.lease_one(harness.stranger())
        swept = await harness.lapse()
        assert (swept.returned, swept.dead) == ((), (message.id,))
        record = await harness.record(message.id)
        assert record.state == MessageState.DEAD
        assert record.reason is not None
        assert record.reason.code == "max_attempts"
        assert record.counters == Counters(deliveries=harness.max_attempts, attempts=harness.max_attempts)
        assert record.finished_at is not None

    async def test_failures_and_lapses_together_use_up_the_attempts(self, harness: Harness) -> None:
        message = await harness.put()
        for _ in range(harness.max_attempts - 1):
            lease = await harness.lease_one(harness.stranger())
            await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        await harness.lease_one(harness.stranger())
        assert (await harness.lapse()).dead == (message.id,)

    async def test_a_message_may_bring_its_own_limit_of_attempts(self, harness: Harness) -> None:
        once = await harness.put(overrides=Overrides(max_attempts=1))
        often = await harness.put(overrides=Overrides(max_attempts=harness.max_attempts + 5))
        await harness.lease(harness.stranger(), 2)
        swept = await harness.lapse()
        assert (swept.returned, swept.dead) == ((often.id,), (once.id,))
        for _ in range(harness.max_attempts):
            await harness.lease_one(harness.stranger())
            assert (await harness.lapse()).returned == (often.id,)

    async def test_a_lease_without_a_deadline_is_adopted(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.drop_deadline(lease.id)
        swept = await harness.sweep()
        assert (swept.adopted, swept.moved) == ((lease.id,), 0)
        assert (await harness.advance(harness.lease_seconds - 1)).moved == 0
        assert (await harness.advance(2.0)).returned == (lease.id,)

    async def test_an_adopted_lease_still_belongs_to_its_holder(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.drop_deadline(lease.id)
        await harness.sweep()
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert settlement.outcome == Outcome.DELETED

    async def test_what_was_settled_without_a_deadline_is_not_adopted(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.drop_deadline(lease.id)
        await harness.broker.ack([Ack(lease)])
        assert await harness.sweep() == Swept()
        assert await harness.is_completed(lease.id)

    async def test_after_a_gap_in_sweeps_nothing_is_returned(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.advance(harness.lease_seconds * 10, sweeping=False)
        swept = await harness.sweep()
        assert (swept.grace, swept.moved) == (True, 0)
        assert await harness.state_of(lease.id) == MessageState.LEASED

    async def test_grace_is_one_full_window(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.advance(harness.lease_seconds * 10, sweeping=False)
        await harness.sweep()
        swept = await harness.advance(harness.lease_seconds - 1)
        assert (swept.moved, swept.grace) == (0, False)
        assert (await harness.advance(2.0)).returned == (lease.id,)

    async def test_grace_gives_each_lease_its_own_window(self, harness: Harness) -> None:
        long = harness.lease_seconds * 3
        short = await harness.leased(harness.stranger())
        other = await harness.leased(harness.stranger(), seconds=long)
        await harness.advance(long * 2, sweeping=False)
        assert (await harness.sweep()).grace
        assert (await harness.advance(harness.lease_seconds + 1)).returned == (short.id,)
        assert (await harness.advance(long - harness.lease_seconds + 1)).returned == (other.id,)

    async def test_grace_never_shortens_a_lease(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger(), seconds=harness.lease_seconds * 20)
        before = (await harness.record(lease.id)).deadline_in
        await harness.advance(harness.lease_seconds, sweeping=False)
        await harness.sweep()
        after = (await harness.record(lease.id)).deadline_in
        assert before is not None
        assert after is not None
        assert after >= before - harness.lease_seconds

    async def test_whoever_comes_back_within_the_grace_keeps_its_lease(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.advance(harness.lease_seconds + 1, sweeping=False)
        await harness.sweep()
        await harness.advance(harness.lease_seconds / 2)
        (touched,) = await harness.broker.touch([lease])
        assert touched.state == LeaseState.HELD
        assert (await harness.advance(harness.lease_seconds - 1)).moved == 0

    async def test_a_first_sweep_that_finds_leases_is_a_gap(self, harness: Harness) -> None:
        await harness.put()
        # Straight to the broker: the harness would sweep before its first lease.
        (lease,) = await harness.broker.lease(harness.request(harness.stranger()))
        await harness.advance(harness.lease_seconds + 1, sweeping=False)
        swept = await harness.sweep()
        assert (swept.grace, swept.moved) == (True, 0)
        assert (await harness.lapse()).returned == (lease.id,)

    async def test_a_sweep_that_is_a_little_late_is_no_gap(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.advance(harness.lease_seconds - 1)
        await harness.advance(harness.sweep_interval_seconds * 2 - 1, sweeping=False)
        swept = await harness.sweep()
        assert (swept.grace, swept.returned) == (False, (lease.id,))

    async def test_a_gap_of_more_than_two_intervals_is_an_outage(self, harness: Harness) -> None:
        await harness.leased(harness.stranger())
        await harness.advance(harness.lease_seconds - 1)
        await harness.advance(harness.sweep_interval_seconds * 2 + 1, sweeping=False)
        swept = await harness.sweep()
        assert (swept.grace, swept.moved) == (True, 0)

    async def test_a_gap_in_which_nobody_held_anything_is_no_outage(self, harness: Harness) -> None:
        await harness.sweep()
        await harness.advance(3600, sweeping=False)
        assert not (await harness.sweep()).grace

    async def test_grace_is_given_once_for_each_gap(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.advance(harness.lease_seconds * 10, sweeping=False)
        assert (await harness.sweep()).grace
        assert not (await harness.sweep()).grace
        assert (await harness.lapse()).returned == (lease.id,)


async def _overdue(harness: Harness, seconds: float, later: float = 0.0) -> None:
    """Let leases of `seconds` up to `seconds + later` lapse, with a sweeper that lives but has not looked yet."""
    await harness.advance(seconds - 1)
    await harness.advance(2.0 + later, sweeping=False)
