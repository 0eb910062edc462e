"""Settling: ack, nack, give-back and dead-lettering each do exactly their own thing, once."""

import asyncio

from tenure.broker import Sent
from tenure.lease import Lease
from tenure.message import Counters, MessageState, Outgoing
from tenure.record import HISTORY_LIMIT, Ending
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, Harness
from tenure.verdict import Reason

#: Over this a body at the limit would make the test slow rather than sharp.
TESTABLE_BODY = 8 * 1024 * 1024

FINAL = Reason("rejected", "it can never succeed", "Traceback …")


class Settling:
    """Tests of everything that a holder can do with its lease."""

    async def test_an_acked_message_is_gone_for_good(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert settlement.outcome == Outcome.DELETED
        assert settlement.took_effect
        assert await harness.lease_all(harness.stranger()) == []
        assert (await harness.advance(harness.lease_seconds * 3)).moved == 0
        assert await harness.lease_all(harness.stranger()) == []

    async def test_an_acked_message_keeps_its_record_and_result(self, harness: Harness) -> None:
        harness.need("settles_exactly_once")
        lease = await harness.leased(harness.stranger())
        await harness.broker.ack([Ack(lease, b'{"pages":3}')])
        record = await harness.record(lease.id)
        assert (record.state, record.result) == (MessageState.COMPLETED, b'{"pages":3}')
        assert record.finished_at == harness.clock.wall()
        assert (record.owner, record.deadline_in) == (None, None)
        assert record.counters == Counters(deliveries=1)

    async def test_a_failed_message_counts_an_attempt_and_keeps_the_reason(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        (settlement,) = await harness.broker.nack([Nack(lease, 0.0, FINAL)])
        assert settlement.outcome == Outcome.RETURNED
        record = await harness.record(lease.id)
        assert (record.state, record.reason) == (MessageState.READY, FINAL)
        assert record.counters == Counters(deliveries=1, attempts=1)
        assert (record.owner, record.deadline_in, record.finished_at) == (None, None, None)
        (ending,) = record.history
        assert (ending.how, ending.owner, ending.reason) == ("failed", lease.owner, FINAL)

    async def test_a_message_given_back_counts_nothing(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        (settlement,) = await harness.broker.give_back([GiveBack(lease)])
        assert settlement.outcome == Outcome.RETURNED
        record = await harness.record(lease.id)
        assert (record.state, record.owner, record.history) == (MessageState.READY, None, ())
        assert record.counters == Counters(deliveries=1)

    async def test_a_reason_for_giving_back_is_kept_and_counts_nothing(self, harness: Harness) -> None:
        why = Reason("unknown_task", "no handler here", error="KeyError")
        lease = await harness.leased(harness.stranger())
        (settlement,) = await harness.broker.give_back([GiveBack(lease, 60.0, why)])
        assert settlement.outcome == Outcome.RETURNED
        record = await harness.record(lease.id)
        assert (record.state, record.reason, record.finished_at) == (MessageState.DELAYED, why, None)
        assert record.counters == Counters(deliveries=1)
        assert record.history == (Ending(harness.clock.wall(), "given_back", lease.owner, why),)

    async def test_a_reason_for_giving_back_is_seen_when_browsing(self, harness: Harness) -> None:
        harness.need_shown(MessageState.READY)
        lease = await harness.leased(harness.stranger())
        await harness.broker.give_back([GiveBack(lease, 0.0, FINAL)])
        (browsed,) = await harness.browse(lease.queue, MessageState.READY)
        assert (browsed.reason, browsed.counters) == (FINAL, Counters(deliveries=1))

    async def test_giving_back_without_a_reason_leaves_the_last_one(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.nack([Nack(lease, 0.0, FINAL)])
        await harness.broker.give_back([GiveBack(await harness.lease_one(harness.stranger()))])
        record = await harness.record(lease.id)
        assert (record.reason, [one.how for one in record.history]) == (FINAL, ["failed"])

    async def test_the_history_of_give_backs_is_bounded(self, harness: Harness) -> None:
        message = await harness.put()
        for number in range(HISTORY_LIMIT + 3):
            lease = await harness.lease_one(harness.stranger())
            await harness.broker.give_back([GiveBack(lease, 0.0, Reason("busy", f"time {number}"))])
        record = await harness.record(message.id)
        texts = [ending.reason.text for ending in record.history if ending.reason is not None]
        assert texts == [f"time {number}" for number in range(3, HISTORY_LIMIT + 3)]
        assert record.counters == Counters(deliveries=HISTORY_LIMIT + 3)

    async def test_giving_back_often_never_uses_an_attempt(self, harness: Harness) -> None:
        await harness.put()
        for _ in range(harness.max_attempts * 2):
            lease = await harness.lease_one(harness.stranger())
            await harness.broker.give_back([GiveBack(lease)])
        lease = await harness.lease_one(harness.stranger())
        assert lease.counters == Counters(deliveries=harness.max_attempts * 2 + 1)

    async def test_each_counter_is_raised_by_its_own_act_alone(self, harness: Harness) -> None:
        broker, owner = harness.broker, await harness.owner()
        lease = await harness.leased(harness.stranger())
        assert (await harness.record(lease.id)).counters == Counters(deliveries=1)
        await broker.touch([lease])
        assert (await harness.record(lease.id)).counters == Counters(deliveries=1)
        await broker.give_back([GiveBack(lease)])
        assert (await harness.record(lease.id)).counters == Counters(deliveries=1)
        await broker.nack([Nack(await harness.lease_one(owner), 0.0, BROKEN)])
        assert (await harness.record(lease.id)).counters == Counters(deliveries=2, attempts=1)
        await harness.lease_one(owner)
        await harness.lapse()
        assert (await harness.record(lease.id)).counters == Counters(deliveries=3, attempts=1, lost=1)
        await harness.lease_one(owner)
        await broker.retire(owner.id, crashed=True)
        expected = Counters(deliveries=4, attempts=1, lost=1, crashes=1)
        assert (await harness.record(lease.id)).counters == expected

    async def test_attempts_are_counted_over_many_failures(self, harness: Harness) -> None:
        await harness.put()
        for attempt in range(1, 6):
            lease = await harness.lease_one(harness.stranger())
            await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
            expected = Counters(deliveries=attempt, attempts=attempt)
            assert (await harness.record(lease.id)).counters == expected

    async def test_a_batch_is_answered_in_order_each_for_itself(self, harness: Harness) -> None:
        harness.need("receipts_fence")
        await harness.put_many(3)
        first, second, third = await harness.lease(harness.stranger(), 3)
        await harness.broker.give_back([GiveBack(second, 3600.0)])
        settlements = await harness.broker.ack([Ack(third), Ack(second), Ack(first)])
        assert [one.outcome for one in settlements] == [Outcome.DELETED, Outcome.ALREADY_GONE, Outcome.DELETED]
        assert await harness.state_of(second.id) == MessageState.DELAYED

    async def test_an_ack_repeated_after_a_lost_reply_says_already_gone(self, harness: Harness) -> None:
        harness.need("receipts_fence")
        lease = await harness.leased(harness.stranger())
        await harness.broker.ack([Ack(lease, b'"first"')])
        (settlement,) = await harness.broker.ack([Ack(lease, b'"second"')])
        assert settlement.outcome == Outcome.ALREADY_GONE
        assert not settlement.took_effect
        assert await harness.is_completed(lease.id)
        if harness.traits.settles_exactly_once:
            assert (await harness.record(lease.id)).result == b'"first"'

    async def test_one_lease_twice_in_a_batch_takes_effect_once(self, harness: Harness) -> None:
        harness.need("receipts_fence")
        lease = await harness.leased(harness.stranger())
        settlements = await harness.broker.nack([Nack(lease, 0.0, BROKEN), Nack(lease, 0.0, BROKEN)])
        assert [one.outcome for one in settlements] == [Outcome.RETURNED, Outcome.ALREADY_GONE]
        assert (await harness.record(lease.id)).counters.attempts == 1

    async def test_of_many_settles_at_once_one_takes_effect(self, harness: Harness) -> None:
        harness.need("receipts_fence")
        second = await harness.second()
        for _ in range(4):
            lease = await harness.leased(harness.stranger())
            settlements = await asyncio.gather(
                harness.broker.ack([Ack(lease)]),
                second.nack([Nack(lease, 3600.0, BROKEN)]),
                harness.broker.dead_letter([DeadLetter(lease, BROKEN)]),
                second.give_back([GiveBack(lease, 3600.0)]),
                second.ack([Ack(lease)]),
            )
            outcomes = [one.outcome for (one,) in settlements]
            assert sum(one.took_effect for (one,) in settlements) == 1, outcomes
            assert outcomes.count(Outcome.ALREADY_GONE) == 4, outcomes
            won = next(one.outcome for (one,) in settlements if one.took_effect)
            assert await harness.is_completed(lease.id) == (won == Outcome.DELETED)
            if won != Outcome.DELETED:
                assert await harness.state_of(lease.id) == _STATE[won]

    async def test_hand_offs_go_out_with_the_ack(self, harness: Harness) -> None:
        harness.need("settles_exactly_once")
        lease = await harness.leased(harness.stranger())
        now = harness.message(parent_id=lease.id, queue="next")
        later = harness.message(parent_id=lease.id, queue="next")
        handoffs = (Outgoing(now), Outgoing(later, 60.0))
        (settlement,) = await harness.broker.ack([Ack(lease, b"1", handoffs)])
        assert settlement.outcome == Outcome.DELETED
        assert await harness.state_of(now.id) == MessageState.READY
        assert await harness.state_of(later.id) == MessageState.DELAYED
        assert [one.id for one in await harness.lease_all(harness.stranger(), queues=("next",))] == [now.id]

    async def test_hand_offs_of_a_repeated_ack_go_out_once(self, harness: Harness) -> None:
        harness.need("settles_exactly_once")
        lease = await harness.leased(harness.stranger())
        handoff = harness.message(parent_id=lease.id, queue="next")
        for _ in range(3):
            await harness.broker.ack([Ack(lease, b"1", (Outgoing(handoff),))])
        assert len(await harness.lease_all(harness.stranger(), queues=("next",))) == 1

    async def test_a_hand_off_that_is_known_already_is_not_stored_again(self, harness: Harness) -> None:
        harness.need("settles_exactly_once")
        lease = await harness.leased(harness.stranger())
        handoff = harness.message(queue="next")
        assert await harness.send(handoff) == [Sent(handoff.id)]
        (settlement,) = await harness.broker.ack([Ack(lease, b"1", (Outgoing(handoff),))])
        assert settlement.outcome == Outcome.DELETED
        assert len(await harness.lease_all(harness.stranger(), queues=("next",))) == 1

    async def test_a_stale_ack_hands_nothing_off(self, harness: Harness) -> None:
        harness.need("settles_exactly_once")
        lease = await harness.leased(harness.stranger())
        await harness.lapse()
        handoff = harness.message(queue="next")
        await harness.broker.ack([Ack(lease, b"1", (Outgoing(handoff),))])
        assert await harness.state.records.get(handoff.id) is None
        assert await harness.lease_all(harness.stranger(), queues=("next",)) == []

    async def test_a_hand_off_that_send_would_refuse_is_not_lost(self, harness: Harness) -> None:
        harness.need("settles_exactly_once")
        harness.need("body_limit", lambda limit: limit <= TESTABLE_BODY)
        lease = await harness.leased(harness.stranger())
        large = harness.message(queue="next", body="x" * harness.traits.body_limit)
        (settlement,) = await harness.broker.ack([Ack(lease, b"1", (Outgoing(large),))])
        assert settlement.outcome == Outcome.DELETED
        # No caller can get the refusal, so it is a dead letter, where people look.
        record = await harness.record(large.id)
        assert record.state == MessageState.DEAD
        assert record.reason is not None
        assert record.reason.code == "body_too_large"

    async def test_a_touched_lease_settles_like_a_new_one(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        touched = await _touched_twice(harness, lease)
        (settlement,) = await harness.broker.nack([Nack(touched, 0.0, BROKEN)])
        assert settlement.outcome == Outcome.RETURNED

    async def test_an_overdue_lease_that_nobody_took_can_still_be_acked(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.advance(harness.lease_seconds * 2, sweeping=False)
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert settlement.outcome == Outcome.DELETED
        await harness.advance(harness.lease_seconds * 3)
        assert await harness.is_completed(lease.id)
        assert await harness.lease_all(harness.stranger()) == []


_STATE = {
    Outcome.RETURNED: MessageState.DELAYED,
    Outcome.DEAD: MessageState.DEAD,
}


async def _touched_twice(harness: Harness, lease: Lease) -> Lease:
    for _ in range(2):
        (lease,) = await harness.broker.touch([lease])
    return lease
