"""Touching: the deadline is set from now; it never adds, never shortens, and never takes a message back."""

import msgspec

from tenure.lease import Lease, LeaseState
from tenure.message import Counters, MessageState, Overrides
from tenure.settlement import Ack, Outcome
from tenure.testing.conformance.broker.staleness import all_kinds, unchanged
from tenure.testing.harness import Harness


class Touching:
    """The promises of `touch`."""

    async def test_a_touch_sets_the_deadline_from_now(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.advance(20.0)
        touched = await _touch(harness, lease)
        assert touched.state == LeaseState.HELD
        assert _remaining(harness, touched) == harness.lease_seconds
        assert await _deadline_in(harness, lease) == harness.lease_seconds
        assert (await harness.advance(harness.lease_seconds - 1)).moved == 0
        assert (await harness.advance(2.0)).returned == (lease.id,)

    async def test_touching_again_and_again_does_not_add_up(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        for _ in range(3):
            lease = await _touch(harness, lease)
            await harness.advance(1.0)
        assert await _deadline_in(harness, lease) == harness.lease_seconds - 1
        assert (await harness.advance(harness.lease_seconds)).returned == (lease.id,)

    async def test_a_touch_never_shortens(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger(), seconds=harness.lease_seconds * 2)
        shorter = msgspec.structs.replace(lease, seconds=harness.lease_seconds)
        touched = await _touch(harness, shorter)
        assert touched.state == LeaseState.HELD
        assert touched.deadline >= lease.deadline
        assert await _deadline_in(harness, lease) == harness.lease_seconds * 2
        assert (await harness.advance(harness.lease_seconds * 2 - 1)).moved == 0
        assert (await harness.advance(2.0)).returned == (lease.id,)

    async def test_a_lease_that_is_touched_in_time_never_ends(self, harness: Harness) -> None:
        harness.need("max_hold_seconds", lambda seconds: seconds is None or seconds > harness.lease_seconds * 5)
        lease = await harness.leased(harness.stranger())
        for _ in range(15):
            assert (await harness.advance(harness.lease_seconds / 3)).moved == 0
            lease = await _touch(harness, lease)
            assert lease.state == LeaseState.HELD
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert settlement.outcome == Outcome.DELETED

    async def test_no_touch_holds_longer_than_the_broker_allows(self, harness: Harness) -> None:
        harness.need("max_hold_seconds", lambda seconds: seconds is not None)
        longest = harness.traits.max_hold_seconds or 0.0
        lease = await harness.leased(harness.stranger(), seconds=harness.lease_seconds)
        held = 0.0
        while held + harness.lease_seconds / 2 < longest:
            await harness.advance(harness.lease_seconds / 2)
            held += harness.lease_seconds / 2
            lease = await _touch(harness, lease)
            assert lease.state == LeaseState.HELD
            assert _remaining(harness, lease) <= longest - held
        assert (await harness.advance(longest - held + 1)).returned == (lease.id,)

    async def test_each_is_touched_for_its_own_seconds(self, harness: Harness) -> None:
        harness.need("lease_per_message")
        own = harness.lease_seconds * 2
        usual, longer = await harness.put(), await harness.put(overrides=Overrides(lease_seconds=own))
        leases = await harness.lease(harness.stranger(), 2)
        await harness.advance(10.0)
        touched = await harness.broker.touch(leases)
        remaining = {lease.id: _remaining(harness, lease) for lease in touched}
        assert remaining == {usual.id: harness.lease_seconds, longer.id: own}

    async def test_a_lease_that_lapsed_but_was_not_swept_can_still_be_kept(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.advance(harness.lease_seconds - 1)
        await harness.advance(3.0, sweeping=False)
        touched = await _touch(harness, lease)
        assert touched.state == LeaseState.HELD
        assert (await harness.sweep()).moved == 0
        assert (await harness.advance(harness.lease_seconds - 1)).moved == 0
        assert await harness.state_of(lease.id) == MessageState.LEASED

    async def test_a_touch_is_no_delivery(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        touched = await _touch(harness, lease)
        assert touched.counters == Counters(deliveries=1)
        assert (await harness.record(lease.id)).counters == Counters(deliveries=1)

    async def test_what_a_touch_returns_is_the_same_right(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        touched = await _touch(harness, lease)
        assert (touched.id, touched.queue, touched.owner, touched.fence) == (
            lease.id,
            lease.queue,
            lease.owner,
            lease.fence,
        )
        assert (touched.envelope, touched.seconds) == (lease.envelope, lease.seconds)
        (settlement,) = await harness.broker.ack([Ack(touched)])
        assert settlement.outcome == Outcome.DELETED

    async def test_a_stale_holder_cannot_touch(self, harness: Harness) -> None:
        for stale in await all_kinds(harness):
            (touched,) = await unchanged(harness, stale, lambda lease: harness.broker.touch([lease]))
            assert touched.state == LeaseState.LOST, stale.how
            assert touched.id == stale.lease.id

    async def test_a_touch_never_takes_a_message_back_from_its_new_holder(self, harness: Harness) -> None:
        harness.need("receipts_fence")
        lease = await harness.leased(harness.stranger())
        await harness.lapse()
        new = await harness.lease_one(harness.stranger())
        assert (await _touch(harness, lease)).state == LeaseState.LOST
        record = await harness.record(lease.id)
        assert (record.owner, record.fence) == (new.owner, new.fence)
        (settlement,) = await harness.broker.ack([Ack(new)])
        assert settlement.outcome == Outcome.DELETED

    async def test_each_lease_of_a_batch_is_answered_for_itself(self, harness: Harness) -> None:
        harness.need("receipts_fence")
        await harness.put_many(3)
        first, second, third = await harness.lease(harness.stranger(), 3)
        await harness.broker.ack([Ack(second)])
        touched = await harness.broker.touch([third, second, first])
        assert [(lease.id, lease.state) for lease in touched] == [
            (third.id, LeaseState.HELD),
            (second.id, LeaseState.LOST),
            (first.id, LeaseState.HELD),
        ]

    async def test_an_unknown_message_is_lost(self, harness: Harness) -> None:
        harness.need("receipts_fence")
        lease = msgspec.structs.replace(await harness.leased(harness.stranger()), id="f" * 32)
        assert (await _touch(harness, lease)).state == LeaseState.LOST


async def _touch(harness: Harness, lease: Lease) -> Lease:
    (touched,) = await harness.broker.touch([lease])
    return touched


def _remaining(harness: Harness, lease: Lease) -> float:
    return round(lease.remaining(harness.clock.monotonic()), 3)


async def _deadline_in(harness: Harness, lease: Lease) -> float:
    """Return the broker's own figure for the deadline, to the millisecond."""
    deadline_in = (await harness.record(lease.id)).deadline_in
    assert deadline_in is not None
    return round(deadline_in, 3)
