"""Durability: what was acknowledged is still there when the store is opened again."""

from tenure.broker import Sent
from tenure.claim import ClaimRequest, Done, Scope, digest
from tenure.envelope import decode, encode
from tenure.errors import OwnerRetired
from tenure.lease import LeaseState
from tenure.message import Counters, MessageState
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE, Harness


class Durability:
    """Tests of data after `close` and `open`; only for stores that outlive their connection."""

    async def test_what_was_sent_is_still_there(self, harness: Harness) -> None:
        ready, delayed = await harness.put(), await harness.put(delay_seconds=60.0)
        await harness.reopen()
        assert await harness.send(ready) == [Sent(ready.id, duplicate=True)]
        lease = await harness.lease_one(harness.stranger())
        assert (lease.id, lease.envelope) == (ready.id, encode(ready))
        record = await harness.record(delayed.id)
        assert record.due_in is not None
        assert 59.0 <= record.due_in <= 60.0

    async def test_what_was_held_is_still_held(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        before = await harness.record(lease.id)
        await harness.reopen()
        assert await harness.record(lease.id) == before
        assert await harness.lease_all(harness.stranger()) == []
        (touched,) = await harness.broker.touch([lease])
        assert touched.state == LeaseState.HELD
        (settlement,) = await harness.broker.ack([Ack(touched)])
        assert settlement.outcome == Outcome.DELETED

    async def test_what_is_done_stays_done(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.complete(lease, b"42")
        before = await harness.record(lease.id)
        await harness.reopen()
        assert await harness.record(lease.id) == before
        assert await harness.lease_all(harness.stranger()) == []

    async def test_counters_reason_and_history_stay(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        before = await harness.record(lease.id)
        await harness.reopen()
        assert await harness.record(lease.id) == before
        assert (await harness.lease_one(harness.stranger())).counters == Counters(deliveries=2, attempts=1)

    async def test_dead_letters_stay_whole(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD)
        lease = await harness.leased(harness.stranger())
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        await harness.reopen()
        (browsed,) = await harness.browse(QUEUE, MessageState.DEAD)
        assert (browsed.id, browsed.envelope, browsed.reason) == (lease.id, lease.envelope, BROKEN)

    async def test_what_was_cancelled_stays_cancelled(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.cancel([lease.id])
        before = await harness.record(lease.id)
        await harness.reopen()
        assert await harness.record(lease.id) == before
        assert await harness.lease_all(harness.stranger()) == []
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert settlement.outcome == Outcome.ALREADY_GONE

    async def test_the_fence_goes_on_rising(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.give_back([GiveBack(lease)])
        await harness.reopen()
        assert (await harness.lease_one(harness.stranger())).fence > lease.fence

    async def test_a_retired_owner_stays_retired(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.broker.retire(owner.id, crashed=True)
        await harness.reopen()
        try:
            await harness.lease(owner)
        except OwnerRetired:
            return
        raise AssertionError("an owner that was retired before the store was opened again got a lease")

    async def test_a_done_key_stays_done(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        lease = await harness.leased(harness.stranger(), key="invoice-7")
        message = decode(lease.envelope)
        await harness.broker.ack([Ack(lease, b"42")])
        await harness.reopen()
        request = ClaimRequest(Scope.of(message), message.id, harness.stranger(), 30.0, digest(message))
        (answer,) = await harness.state.ledger.claim([request])
        assert isinstance(answer, Done)
        assert answer.result == b"42"

    async def test_an_outage_of_the_store_ends_with_grace(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.advance(harness.lease_seconds * 4, sweeping=False)
        await harness.reopen()
        swept = await harness.sweep()
        assert (swept.grace, swept.moved) == (True, 0)
        assert (await harness.lapse()).returned == (lease.id,)
