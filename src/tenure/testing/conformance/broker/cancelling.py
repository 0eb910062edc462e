"""Cancelling: a waiting or running message is taken back in one step, and that is recorded."""

import asyncio

from tenure.broker import Sent
from tenure.claim import ClaimRequest, Fresh, Scope, Seal, Token, digest
from tenure.envelope import decode
from tenure.lease import Lease, LeaseState
from tenure.message import Counters, Message, MessageState, Outgoing
from tenure.notice import KEPT_CANCELS
from tenure.record import Ending, Progress
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement
from tenure.testing.harness import BROKEN, Harness

KEY = "invoice-7"
ROUNDS = 5


class Cancelling:
    """The promises of `cancel`."""

    async def test_a_ready_message_is_cancelled_and_never_lent(self, harness: Harness) -> None:
        message, other = await harness.put(), await harness.put()
        assert await harness.broker.cancel([message.id]) == [MessageState.READY]
        assert await harness.state_of(message.id) == MessageState.CANCELLED
        assert [lease.id for lease in await harness.lease_all(harness.stranger())] == [other.id]

    async def test_a_delayed_message_is_cancelled_and_never_lent(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=10.0)
        assert await harness.broker.cancel([message.id]) == [MessageState.DELAYED]
        await harness.advance(20.0)
        assert await harness.lease_all(harness.stranger()) == []
        assert await harness.state_of(message.id) == MessageState.CANCELLED

    async def test_a_message_that_is_due_is_met_as_delayed(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=10.0)
        await harness.advance(20.0, sweeping=False)
        assert await harness.broker.cancel([message.id]) == [MessageState.DELAYED]
        assert await harness.lease_all(harness.stranger()) == []

    async def test_a_message_that_waits_for_its_retry_can_be_cancelled(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.nack([Nack(lease, 10.0, BROKEN)])
        assert await harness.broker.cancel([lease.id]) == [MessageState.DELAYED]
        await harness.advance(20.0)
        assert await harness.lease_all(harness.stranger()) == []

    async def test_a_held_message_is_taken_from_its_holder(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        assert await harness.broker.cancel([lease.id]) == [MessageState.LEASED]
        record = await harness.record(lease.id)
        assert (record.state, record.owner, record.fence) == (MessageState.CANCELLED, None, None)
        assert (record.deadline_in, record.result) == (None, None)
        assert record.counters == Counters(deliveries=1)
        assert await harness.broker.held(lease.owner) == []
        assert await harness.lease_all(harness.stranger()) == []

    async def test_the_holder_is_told_by_its_next_touch(self, harness: Harness) -> None:
        await harness.put_many(2)
        cancelled, kept = await harness.lease(harness.stranger(), 2)
        await harness.broker.cancel([cancelled.id])
        touched = await harness.broker.touch([cancelled, kept])
        assert [one.state for one in touched] == [LeaseState.LOST, LeaseState.HELD]

    async def test_whatever_the_holder_says_too_late_changes_nothing(self, harness: Harness) -> None:
        for number in range(4):
            lease = await harness.leased(harness.stranger(), queue=f"queue-{number}")
            await harness.broker.cancel([lease.id])
            before = await harness.record(lease.id)
            settlement = await _settle(harness, number, lease)
            assert settlement.outcome == Outcome.ALREADY_GONE
            assert await harness.record(lease.id) == before

    async def test_the_holder_can_no_longer_write_progress_or_checkpoint(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        records = harness.state.records
        await harness.broker.cancel([lease.id])
        assert await records.progress([(lease, Progress(0.5))]) == [False]
        assert await records.checkpoint(lease, b"late") is False
        assert (await harness.record(lease.id)).progress is None
        assert await records.load_checkpoint(lease.id) is None

    async def test_progress_and_checkpoint_end_with_it(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        records = harness.state.records
        assert await records.progress([(lease, Progress(0.5))]) == [True]
        assert await records.checkpoint(lease, b"page 3")
        await harness.broker.cancel([lease.id])
        assert (await harness.record(lease.id)).progress is None
        assert await records.load_checkpoint(lease.id) is None

    async def test_a_late_ack_hands_nothing_off(self, harness: Harness) -> None:
        harness.need("settles_exactly_once")
        lease = await harness.leased(harness.stranger())
        handoff = harness.message(queue="next")
        await harness.broker.cancel([lease.id])
        await harness.broker.ack([Ack(lease, b"1", (Outgoing(handoff),))])
        assert await harness.state.records.get(handoff.id) is None

    async def test_each_is_answered_in_order_with_the_state_in_which_it_was_met(self, harness: Harness) -> None:
        leased = await harness.leased(harness.stranger())
        ready, delayed = await harness.put(queue="other"), await harness.put(delay_seconds=60.0)
        ids = [delayed.id, "f" * 32, leased.id, ready.id]
        answers = await harness.broker.cancel(ids)
        assert answers == [MessageState.DELAYED, None, MessageState.LEASED, MessageState.READY]

    async def test_one_id_twice_in_a_batch_is_cancelled_once(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        message = await harness.put()
        answers = await harness.broker.cancel([lease.id, message.id, message.id, lease.id])
        assert answers == [MessageState.LEASED, MessageState.READY, None, None]
        assert [one.how for one in (await harness.record(lease.id)).history] == ["cancelled"]

    async def test_what_is_finished_dead_or_unknown_is_left_alone(self, harness: Harness) -> None:
        done = await harness.leased(harness.stranger())
        await harness.complete(done, b"42")
        dead = await harness.leased(harness.stranger())
        await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
        deleted, cancelled = await harness.put(), await harness.put()
        await harness.broker.delete([deleted.id])
        await harness.broker.cancel([cancelled.id])
        ids = [done.id, dead.id, deleted.id, cancelled.id]
        before = [await harness.record(id) for id in ids]
        await harness.advance(5.0)
        assert await harness.broker.cancel([*ids, "f" * 32]) == [None] * 5
        assert [await harness.record(id) for id in ids] == before
        assert await harness.broker.redrive([dead.id]) == [dead.id]

    async def test_nothing_to_cancel_is_no_error(self, harness: Harness) -> None:
        assert await harness.broker.cancel([]) == []

    async def test_the_record_tells_who_held_it_and_when(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        held, waiting = await harness.lease_one(harness.stranger()), await harness.put()
        await harness.advance(5.0)
        await harness.broker.cancel([held.id, waiting.id])
        now = harness.clock.wall()
        record = await harness.record(held.id)
        assert [one.how for one in record.history] == ["failed", "cancelled"]
        assert record.history[-1] == Ending(now, "cancelled", held.owner)
        assert record.finished_at == now
        record = await harness.record(waiting.id)
        assert (record.history, record.finished_at) == ((Ending(now, "cancelled"),), now)

    async def test_a_cancelled_run_keeps_its_number(self, harness: Harness) -> None:
        first = await harness.leased(harness.stranger(), queue="first")
        again = await harness.leased(harness.stranger(), queue="again")
        await harness.broker.nack([Nack(again, 0.0, BROKEN)])
        again = await harness.lease_one(harness.stranger(), queues=("again",))
        waiting = await harness.leased(harness.stranger(), queue="waiting")
        await harness.broker.nack([Nack(waiting, 60.0, BROKEN)])
        never = await harness.put(queue="never")
        ids = [first.id, again.id, waiting.id, never.id]
        running = [(await harness.record(id)).attempt for id in ids[:2]]
        await harness.broker.cancel(ids)
        assert running == [1, 2]
        assert [(await harness.record(id)).attempt for id in ids] == [1, 2, 1, 0]

    async def test_only_the_cancelling_of_a_held_message_is_counted_on_the_board(self, harness: Harness) -> None:
        await harness.put_many(3)
        first, second, third = await harness.lease(harness.stranger(), 3)
        ready, delayed = await harness.put(), await harness.put(delay_seconds=60.0)
        assert await _cancels(harness) == 0
        await harness.broker.cancel([ready.id, delayed.id, "f" * 32])
        assert await _cancels(harness) == 0
        await harness.broker.cancel([first.id])
        assert await _cancels(harness) == 1
        await harness.broker.cancel([second.id, first.id, third.id, third.id])
        assert await _cancels(harness) == 3

    async def test_the_last_held_messages_that_were_cancelled_are_named_on_the_board(self, harness: Harness) -> None:
        """Their holder asks about them, and no other worker asks about all that it holds."""
        await harness.put_many(KEPT_CANCELS + 3)
        owner, held = harness.stranger(), list[Lease]()
        while len(held) < KEPT_CANCELS + 3:
            held += await harness.lease(owner, KEPT_CANCELS + 3 - len(held))
        waits = await harness.put()
        ids = [lease.id for lease in held]
        await harness.broker.cancel([waits.id])
        assert await _named(harness) == set()
        await harness.broker.cancel(ids[:2])
        assert await _named(harness) == set(ids[:2])
        for id in ids[2:]:
            await harness.broker.cancel([id])
        named = await _named(harness)
        assert set(ids[3:]) <= named <= set(ids)

    async def test_a_cancelled_message_frees_its_key(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        ready = await harness.put(key="ready")
        delayed = await harness.put(key="delayed", delay_seconds=60.0)
        held = await harness.leased(harness.stranger(), key="held", queue="other")
        await harness.broker.cancel([ready.id, delayed.id, held.id])
        await harness.put(key="ready", body={"to": "eve"})
        await harness.put(key="delayed", body={"to": "eve"})
        await harness.put(key="held", body={"to": "eve"}, queue="other")

    async def test_the_claim_of_a_cancelled_message_ends(self, harness: Harness) -> None:
        for key in (None, KEY):
            lease = await harness.leased(harness.stranger(), key=key)
            token = await _claimed(harness, decode(lease.envelope), lease.owner)
            await harness.broker.cancel([lease.id])
            assert await harness.state.ledger.renew([token]) == [False]
            assert await harness.state.ledger.seal([Seal(token, b"late")]) == [False]
            assert await harness.state.ledger.release([token]) == [False]
            assert await harness.state_of(lease.id) == MessageState.CANCELLED

    async def test_the_key_of_a_claimed_message_can_be_claimed_for_other_work(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger(), key=KEY)
        old = await _claimed(harness, decode(lease.envelope), lease.owner)
        await harness.broker.cancel([lease.id])
        again = await harness.leased(harness.stranger(), key=KEY, body={"to": "eve"})
        new = await _claimed(harness, decode(again.envelope), again.owner)
        assert new.fence > old.fence
        # Nor does the late word of the one that was cancelled end what came after it.
        assert await harness.state.ledger.release([old]) == [False]
        assert await harness.state.ledger.seal([Seal(old, b"late")]) == [False]
        assert await harness.state.ledger.renew([new]) == [True]

    async def test_only_its_own_claim_ends_where_others_have_the_same_key(self, harness: Harness) -> None:
        harness.need("keys_at_send", lambda at_send: not at_send)
        await harness.put_many(2, key=KEY)
        one, two = await harness.lease(harness.stranger(), 2)
        first = await _claimed(harness, decode(one.envelope), one.owner)
        await harness.broker.cancel([two.id])
        assert await harness.state.ledger.renew([first]) == [True]
        assert await harness.state.ledger.release([first]) == [True]
        again = await harness.leased(harness.stranger(), key=KEY)
        second = await _claimed(harness, decode(again.envelope), again.owner)
        await harness.broker.cancel([again.id])
        assert await harness.state.ledger.renew([second]) == [False]
        await _claimed(harness, decode(one.envelope), one.owner)

    async def test_a_claim_that_comes_after_the_cancelling_takes_no_key(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        lease = await harness.leased(harness.stranger(), key=KEY)
        await harness.broker.cancel([lease.id])
        # It was leased before the cancel, so the next claim does not know of it yet.
        token = await _claimed(harness, decode(lease.envelope), lease.owner)
        assert await harness.state.ledger.renew([token]) == [False]
        again = await harness.leased(harness.stranger(), key=KEY, body={"to": "eve"})
        await _claimed(harness, decode(again.envelope), again.owner)
        assert await harness.state.ledger.release([token]) == [False]

    async def test_what_is_sealed_is_done_though_it_is_still_held(self, harness: Harness) -> None:
        harness.need("settles_exactly_once", lambda exact: not exact)
        lease = await harness.leased(harness.stranger())
        token = await _claimed(harness, decode(lease.envelope), lease.owner)
        assert await harness.state.ledger.seal([Seal(token, b"42")]) == [True]
        assert await harness.broker.cancel([lease.id]) == [None]
        record = await harness.record(lease.id)
        assert (record.state, record.result) == (MessageState.COMPLETED, b"42")
        assert await _cancels(harness) == 0
        (settlement,) = await harness.broker.ack([Ack(lease, b"42")])
        assert settlement.outcome == Outcome.DELETED

    async def test_a_cancelled_id_is_still_known_to_send(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        message = decode(lease.envelope)
        await harness.broker.cancel([lease.id])
        await harness.advance(590.0)
        assert await harness.send(message) == [Sent(message.id, duplicate=True)]
        assert await harness.lease_all(harness.stranger()) == []

    async def test_what_was_cancelled_is_never_revived(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner)
        await harness.broker.cancel([lease.id])
        assert (await harness.advance(harness.lease_seconds * 3)).moved == 0
        assert not (await harness.broker.retire(owner.id, crashed=True)).moved
        assert await harness.broker.redrive([lease.id]) == []
        assert await harness.broker.delete([lease.id]) == []
        assert await harness.lease_all(harness.stranger()) == []
        assert (await harness.record(lease.id)).counters == Counters(deliveries=1)

    async def test_nothing_of_it_is_left_to_browse_or_to_count(self, harness: Harness) -> None:
        states = (MessageState.READY, MessageState.DELAYED, MessageState.LEASED, MessageState.DEAD)
        harness.need_shown(*states)
        lease = await harness.leased(harness.stranger())
        ready, delayed = await harness.put(), await harness.put(delay_seconds=60.0)
        await harness.broker.cancel([lease.id, ready.id, delayed.id])
        for state in states:
            assert await harness.browse(lease.queue, state) == []
        # A broker that finds a waiting message only by a scan cannot take it out either: it drops it at the next lease.
        if harness.traits.browsable.issuperset(states):
            depth = await harness.depth()
            assert (depth.ready, depth.delayed, depth.leased, depth.dead) == (0, 0, 0, 0)

    async def test_of_a_cancel_and_an_ack_at_once_one_wins(self, harness: Harness) -> None:
        harness.need("receipts_fence")
        second = await harness.second()
        for number in range(ROUNDS):
            lease = await harness.leased(harness.stranger(), queue=f"queue-{number}")
            cancel, ack = harness.broker.cancel([lease.id]), second.ack([Ack(lease, b"1")])
            pair = (cancel, ack) if number % 2 else (ack, cancel)
            answers = await asyncio.gather(*pair)
            (met,), (settlement,) = answers if number % 2 else reversed(answers)
            assert (met, settlement.outcome) in {
                (MessageState.LEASED, Outcome.ALREADY_GONE),
                (None, Outcome.DELETED),
            }
            if met is None:
                assert await harness.is_completed(lease.id)
            else:
                assert await harness.state_of(lease.id) == MessageState.CANCELLED

    async def test_of_cancels_at_once_one_takes_effect(self, harness: Harness) -> None:
        second = await harness.second()
        lease = await harness.leased(harness.stranger())
        answers = await asyncio.gather(*(broker.cancel([lease.id]) for broker in [harness.broker, second] * 3))
        assert sorted(str(met) for (met,) in answers) == ["None"] * 5 + ["leased"]
        assert await _cancels(harness) == 1

    async def test_of_a_cancel_and_a_lease_at_once_nothing_stays_held(self, harness: Harness) -> None:
        second = await harness.second()
        for number in range(ROUNDS):
            message = await harness.put(queue=f"queue-{number}")
            request = harness.request(harness.stranger(), queues=(message.queue,))
            (met,), leases = await asyncio.gather(harness.broker.cancel([message.id]), second.lease(request))
            assert met == (MessageState.LEASED if leases else MessageState.READY)
            assert [one.state for one in await second.touch(leases)] == [LeaseState.LOST] * len(leases)
            assert await harness.state_of(message.id) == MessageState.CANCELLED
            assert await harness.broker.held(request.owner) == []


async def _settle(harness: Harness, way: int, lease: Lease) -> Settlement:
    broker = harness.broker
    match way:
        case 0:
            settlements = await broker.ack([Ack(lease, b"late")])
        case 1:
            settlements = await broker.nack([Nack(lease, 0.0, BROKEN)])
        case 2:
            settlements = await broker.give_back([GiveBack(lease, 0.0, BROKEN)])
        case _:
            settlements = await broker.dead_letter([DeadLetter(lease, BROKEN, counted=True)])
    return settlements[0]


async def _claimed(harness: Harness, message: Message, owner: str) -> Token:
    request = ClaimRequest(Scope.of(message), message.id, owner, harness.lease_seconds, digest(message))
    (answer,) = await harness.state.ledger.claim([request])
    assert isinstance(answer, Fresh), f"the holder of a lease could not claim: {answer}"
    return answer.token


async def _named(harness: Harness) -> set[str]:
    return set((await harness.state.board.read()).cancelled)


async def _cancels(harness: Harness) -> int:
    return (await harness.state.board.read()).cancels
