"""Promoting: a delayed message is made ready before its time, and runs once."""

import asyncio

from tenure.broker import Promoted
from tenure.claim import ClaimRequest, Done, Scope, digest
from tenure.envelope import decode
from tenure.lease import Lease
from tenure.message import Counters, MessageState
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE, Harness

#: Waiters wake at most so late.
WAKING_SECONDS = 1.0
HOUR = 3_600.0

WAS_DELAYED = Promoted(MessageState.DELAYED)


class Promoting:
    """The promises of `promote`."""

    async def test_a_delayed_message_can_be_leased_at_once(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=HOUR)
        assert await harness.broker.promote([message.id]) == [WAS_DELAYED]
        record = await harness.record(message.id)
        assert (record.state, record.due_in) == (MessageState.READY, None)
        lease = await harness.lease_one(harness.stranger())
        assert (lease.id, lease.counters) == (message.id, Counters(deliveries=1))
        assert decode(lease.envelope).body == message.body

    async def test_a_delayed_message_that_nobody_looked_at_for_hours_can_be_leased_at_once(
        self, harness: Harness
    ) -> None:
        message = await harness.put(delay_seconds=10 * HOUR)
        for _ in range(2):
            await harness.advance(HOUR, sweeping=False)
            assert await harness.lease(harness.stranger()) == []
        assert await harness.broker.promote([message.id]) == [WAS_DELAYED]
        assert (await harness.lease_one(harness.stranger())).id == message.id

    async def test_a_message_that_waits_for_its_retry_can_be_leased_at_once(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.nack([Nack(lease, HOUR, BROKEN)])
        before = await harness.record(lease.id)
        assert await harness.broker.promote([lease.id]) == [WAS_DELAYED]
        after = await harness.record(lease.id)
        assert (after.history, after.reason) == (before.history, before.reason)
        again = await harness.lease_one(harness.stranger())
        assert (again.id, again.counters) == (lease.id, Counters(deliveries=2, attempts=1))
        assert again.fence > lease.fence
        assert decode(again.envelope).generation == 0

    async def test_a_message_that_was_given_back_for_later_can_be_leased_at_once(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.give_back([GiveBack(lease, HOUR)])
        assert await harness.broker.promote([lease.id]) == [WAS_DELAYED]
        assert (await harness.lease_one(harness.stranger())).counters == Counters(deliveries=2)

    async def test_it_runs_once_though_its_time_comes(self, harness: Harness) -> None:
        sent = await harness.put(delay_seconds=60.0, queue="sent")
        failed = await harness.leased(harness.stranger(), queue="failed")
        await harness.broker.nack([Nack(failed, 60.0, BROKEN)])
        assert await harness.broker.promote([sent.id, failed.id]) == [WAS_DELAYED] * 2
        for id, queue in ((sent.id, "sent"), (failed.id, "failed")):
            lease = await harness.lease_one(harness.stranger(), queues=(queue,))
            assert lease.id == id
            await harness.complete(lease)
        await harness.advance(120.0)
        assert await _runs_again(harness, "sent", "failed") == []

    async def test_nobody_else_gets_it_when_its_time_comes_while_it_is_held(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=60.0)
        await harness.broker.promote([message.id])
        lease = await harness.lease_one(harness.stranger(), seconds=600.0)
        await harness.advance(120.0)
        assert await harness.lease_all(harness.stranger()) == []
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert settlement.outcome == Outcome.DELETED
        await harness.advance(600.0)
        assert await harness.lease_all(harness.stranger()) == []

    async def test_a_later_delay_is_kept_though_its_first_time_comes(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=60.0)
        await harness.broker.promote([message.id])
        lease = await harness.lease_one(harness.stranger())
        await harness.broker.nack([Nack(lease, 300.0, BROKEN)])
        await harness.advance(120.0)
        assert await harness.lease_all(harness.stranger()) == []
        await harness.advance(181.0)
        again = await harness.lease_one(harness.stranger())
        assert (again.id, again.counters) == (message.id, Counters(deliveries=2, attempts=1))
        await harness.complete(again)
        await harness.advance(600.0)
        assert await _runs_again(harness) == []

    async def test_it_can_be_promoted_after_each_of_its_failures(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=HOUR)
        for attempts in range(3):
            assert await harness.broker.promote([message.id]) == [WAS_DELAYED]
            lease = await harness.lease_one(harness.stranger())
            assert lease.counters == Counters(deliveries=attempts + 1, attempts=attempts)
            await harness.broker.nack([Nack(lease, HOUR, BROKEN)])

    async def test_it_keeps_its_priority(self, harness: Harness) -> None:
        harness.need("priority_levels", lambda levels: levels > 1)
        low = await harness.put(priority=1, delay_seconds=HOUR)
        usual, high = await harness.put(priority=5), await harness.put(priority=9, delay_seconds=HOUR)
        await harness.broker.promote([low.id, high.id])
        ids = [(await harness.lease_one(harness.stranger())).id for _ in range(3)]
        assert ids == [high.id, usual.id, low.id]

    async def test_it_keeps_its_generation(self, harness: Harness) -> None:
        dead = await harness.leased(harness.stranger())
        await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
        await harness.broker.redrive([dead.id])
        lease = await harness.lease_one(harness.stranger())
        await harness.broker.nack([Nack(lease, HOUR, BROKEN)])
        await harness.broker.promote([lease.id])
        again = await harness.lease_one(harness.stranger())
        assert (decode(again.envelope).generation, again.counters.attempts) == (1, 1)
        await harness.complete(again)
        assert await harness.is_completed(lease.id)

    async def test_while_it_is_ready_it_is_still_the_only_one_of_its_kind(self, harness: Harness) -> None:
        harness.need("unique_at_send")
        message = await harness.put(unique="nightly", delay_seconds=HOUR)
        await harness.broker.promote([message.id])
        (sent,) = await harness.send(harness.message(unique="nightly"))
        assert (sent.id, sent.duplicate) == (message.id, True)

    async def test_a_ready_message_stays_as_it_is(self, harness: Harness) -> None:
        message = await harness.put()
        before = await harness.record(message.id)
        assert await harness.broker.promote([message.id]) == [Promoted(MessageState.READY)]
        assert await harness.record(message.id) == before
        assert [lease.id for lease in await harness.lease_all(harness.stranger())] == [message.id]

    async def test_a_held_message_stays_with_its_holder(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        before = await harness.record(lease.id)
        assert await harness.broker.promote([lease.id]) == [Promoted(MessageState.LEASED)]
        assert await harness.record(lease.id) == before
        assert await harness.lease_all(harness.stranger()) == []
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert settlement.outcome == Outcome.DELETED

    async def test_a_dead_letter_stays_where_it_is(self, harness: Harness) -> None:
        dead = await harness.leased(harness.stranger())
        await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
        before = await harness.record(dead.id)
        assert await harness.broker.promote([dead.id]) == [Promoted(MessageState.DEAD)]
        assert await harness.record(dead.id) == before
        assert await harness.lease_all(harness.stranger()) == []
        assert await harness.broker.redrive([dead.id]) == [dead.id]

    async def test_what_has_ended_or_is_unknown_is_left_alone(self, harness: Harness) -> None:
        done = await harness.leased(harness.stranger())
        await harness.complete(done)
        cancelled = await harness.put(delay_seconds=HOUR)
        await harness.broker.cancel([cancelled.id])
        assert await harness.broker.promote([done.id, cancelled.id, "f" * 32]) == [Promoted(None)] * 3
        assert await harness.state_of(cancelled.id) == MessageState.CANCELLED
        assert await harness.lease_all(harness.stranger()) == []

    async def test_each_is_answered_in_order(self, harness: Harness) -> None:
        held = await harness.leased(harness.stranger())
        delayed, ready = await harness.put(delay_seconds=HOUR), await harness.put(queue="other")
        answers = await harness.broker.promote([held.id, "f" * 32, delayed.id, ready.id])
        assert [one.was for one in answers] == [
            MessageState.LEASED,
            None,
            MessageState.DELAYED,
            MessageState.READY,
        ]

    async def test_one_id_twice_in_a_batch_is_promoted_once(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=HOUR)
        answers = await harness.broker.promote([message.id, message.id])
        assert answers == [WAS_DELAYED, Promoted(MessageState.READY)]
        assert [lease.id for lease in await harness.lease_all(harness.stranger())] == [message.id]

    async def test_nothing_to_promote_is_no_error(self, harness: Harness) -> None:
        assert await harness.broker.promote([]) == []

    async def test_of_several_at_once_it_becomes_ready_once(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=HOUR)
        second = await harness.second()
        told = await asyncio.gather(*(broker.promote([message.id]) for broker in (harness.broker, second) * 2))
        met = [answer.was for (answer,) in told]
        assert met.count(MessageState.DELAYED) == 1
        assert {*met} == {MessageState.DELAYED, MessageState.READY}
        lease = await harness.lease_one(harness.stranger())
        assert await harness.lease_all(harness.stranger()) == []
        await harness.complete(lease)
        await harness.advance(2 * HOUR, sweeping=False)
        assert await _runs_again(harness) == []

    async def test_of_a_promotion_and_a_cancel_at_once_nothing_is_left(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=HOUR)
        await asyncio.gather(harness.broker.promote([message.id]), harness.broker.cancel([message.id]))
        assert await harness.state_of(message.id) == MessageState.CANCELLED
        assert await harness.lease_all(harness.stranger()) == []

    async def test_whoever_waits_is_woken(self, harness: Harness) -> None:
        message = await harness.put(delay_seconds=HOUR)
        assert await _woken_by_promoting(harness, message.id) <= WAKING_SECONDS

    async def test_whoever_waits_is_woken_for_a_retry(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.nack([Nack(lease, HOUR, BROKEN)])
        assert await _woken_by_promoting(harness, lease.id) <= WAKING_SECONDS

    async def test_any_hint_will_do(self, harness: Harness) -> None:
        await harness.put(queue="other")
        for hint in (QUEUE, "other", "nowhere", None):
            message = await harness.put(delay_seconds=HOUR)
            assert await harness.broker.promote([message.id], hint) == [WAS_DELAYED], hint
            assert (await harness.lease_one(harness.stranger())).id == message.id

    async def test_another_connection_can_do_it(self, harness: Harness) -> None:
        lease: Lease = await harness.leased(harness.stranger())
        await harness.broker.nack([Nack(lease, HOUR, BROKEN)])
        message = await harness.put(delay_seconds=HOUR)
        elsewhere = await harness.elsewhere()
        assert await elsewhere.promote([message.id, lease.id]) == [WAS_DELAYED] * 2
        ids = {one.id for one in await harness.lease_all(harness.stranger())}
        assert ids == {message.id, lease.id}


async def _runs_again(harness: Harness, *queues: str) -> list[str]:
    """Return the messages that a worker would run now, without copies that the ledger knows as done."""
    found = []
    for lease in await harness.lease_all(harness.stranger(), queues=queues or (QUEUE,)):
        message = decode(lease.envelope)
        request = ClaimRequest(Scope.of(message), message.id, lease.owner, harness.lease_seconds, digest(message))
        (answer,) = await harness.state.ledger.claim([request])
        if harness.traits.settles_exactly_once or not isinstance(answer, Done):
            found.append(lease.id)
    return found


async def _woken_by_promoting(harness: Harness, id: str) -> float:
    """Measure how soon a promote wakes a waiter that had waited for half a minute."""
    waiter = asyncio.create_task(harness.broker.wait([QUEUE], 600.0))
    await asyncio.sleep(29.0)
    assert not waiter.done(), "it woke although there was nothing to lease"
    before = harness.clock.monotonic()
    await harness.broker.promote([id])
    await waiter
    return harness.clock.monotonic() - before
