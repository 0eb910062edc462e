"""Fencing: the fence of a message only rises, and a stale holder changes nothing, whatever it tries."""

from tenure.envelope import decode
from tenure.lease import Lease
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack
from tenure.testing.conformance.broker.staleness import all_kinds, unchanged
from tenure.testing.harness import BROKEN, Harness
from tenure.verdict import Reason

LATE = Reason("too_late", "said by a holder whose time was over")


class Fencing:
    """Tests that a frozen or forgotten holder can change nothing."""

    async def test_a_stale_holder_cannot_ack(self, harness: Harness) -> None:
        for stale in await all_kinds(harness):
            ack = await unchanged(harness, stale, lambda lease: harness.broker.ack([Ack(lease, b'"stale"')]))
            assert [one.outcome for one in ack] == [stale.outcome], stale.how

    async def test_a_stale_holder_cannot_nack(self, harness: Harness) -> None:
        for stale in await all_kinds(harness):
            nack = await unchanged(harness, stale, lambda lease: harness.broker.nack([Nack(lease, 60.0, LATE)]))
            assert [one.outcome for one in nack] == [stale.outcome], stale.how

    async def test_a_stale_holder_cannot_give_back(self, harness: Harness) -> None:
        for stale in await all_kinds(harness):
            back = await unchanged(harness, stale, lambda lease: harness.broker.give_back([GiveBack(lease, 60.0)]))
            assert [one.outcome for one in back] == [stale.outcome], stale.how

    async def test_a_stale_holder_cannot_dead_letter(self, harness: Harness) -> None:
        for stale in await all_kinds(harness):
            dead = await unchanged(
                harness, stale, lambda lease: harness.broker.dead_letter([DeadLetter(lease, LATE, counted=True)])
            )
            assert [one.outcome for one in dead] == [stale.outcome], stale.how

    async def test_a_stale_settle_does_no_harm_to_the_new_holder(self, harness: Harness) -> None:
        harness.need("receipts_fence")
        stale = await harness.leased(harness.stranger())
        await harness.lapse()
        new = await harness.lease_one(harness.stranger())
        await harness.broker.ack([Ack(stale)])
        await harness.broker.nack([Nack(stale, 0.0, LATE)])
        await harness.broker.give_back([GiveBack(stale)])
        await harness.broker.dead_letter([DeadLetter(stale, LATE)])
        assert await harness.lease_all(harness.stranger()) == []
        assert (await harness.advance(harness.lease_seconds - 1)).moved == 0
        (settlement,) = await harness.broker.ack([Ack(new)])
        assert settlement.took_effect

    async def test_the_fence_rises_each_time_it_is_given_back(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.give_back([GiveBack(lease)])
        await self._rises(harness, lease)

    async def test_the_fence_rises_each_time_it_failed(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        await self._rises(harness, lease)

    async def test_the_fence_rises_over_a_sweep(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.lapse()
        await self._rises(harness, lease)

    async def test_the_fence_rises_over_a_retirement(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner)
        await harness.broker.retire(owner.id, crashed=True)
        await self._rises(harness, lease)

    async def test_the_fence_rises_over_a_redrive(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        await harness.broker.redrive([lease.id])
        await self._rises(harness, lease)

    async def test_the_fence_rises_over_a_repeated_send(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.give_back([GiveBack(lease)])
        await harness.send(decode(lease.envelope))
        await self._rises(harness, lease)

    async def test_the_fence_of_a_key_rises_when_its_message_is_sent_anew(self, harness: Harness) -> None:
        harness.need("keys_at_send")
        lease = await harness.leased(harness.stranger(), key="invoice-7")
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        await harness.put(key="invoice-7")
        again = await harness.lease_one(harness.stranger())
        assert again.fence > lease.fence

    async def test_the_fence_rises_whichever_connection_lends(self, harness: Harness) -> None:
        second = await harness.second()
        lease = await harness.leased(harness.stranger())
        for broker in (second, harness.broker, second):
            await broker.give_back([GiveBack(lease)])
            (again,) = await broker.lease(harness.request(harness.stranger()))
            assert again.fence > lease.fence
            lease = again

    async def _rises(self, harness: Harness, lease: Lease) -> None:
        again = await harness.lease_one(harness.stranger())
        assert again.id == lease.id
        assert again.fence > lease.fence, f"fence {lease.fence} came again as {again.fence}"
