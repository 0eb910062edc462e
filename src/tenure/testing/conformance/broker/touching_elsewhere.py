"""Touching elsewhere: an operator gives a holder more time. It finds the lease by its name, from another process."""

import msgspec

from tenure.lease import Lease, LeaseState
from tenure.message import MessageState
from tenure.settlement import Ack, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, Harness

#: Longer than the usual lease, and no longer than a lease may be on any store.
LONG = 55.0


class TouchingElsewhere:
    """The fate of a holder whose lease another caller has touched."""

    async def test_the_lease_lasts_as_long_as_was_asked(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        assert (await _touch(harness, lease, LONG)).state is LeaseState.HELD
        assert await _deadline_in(harness, lease) >= LONG
        assert (await harness.advance(LONG - 1)).moved == 0
        assert (await harness.advance(2.0)).returned == (lease.id,)

    async def test_the_lease_stays_with_its_holder(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await _touch(harness, lease, LONG)
        record = await harness.record(lease.id)
        assert (record.state, record.owner, record.fence) == (MessageState.LEASED, lease.owner, lease.fence)
        assert await harness.lease_all(harness.stranger()) == []

    async def test_the_holder_goes_on_beating(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        for _ in range(2):
            await _touch(harness, lease, 40.0)
            await harness.advance(harness.lease_seconds / 2)
            (lease,) = await harness.broker.touch([lease])
            assert lease.state is LeaseState.HELD
            assert (await harness.advance(harness.lease_seconds / 2)).moved == 0
            (lease,) = await harness.broker.touch([lease])
            assert lease.state is LeaseState.HELD
        assert await harness.lease_all(harness.stranger()) == []
        await harness.complete(lease)
        await harness.advance(600.0)
        assert await harness.lease_all(harness.stranger()) == []

    async def test_the_holders_next_beat_does_not_shorten_it(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await _touch(harness, lease, LONG)
        await harness.advance(5.0)
        (touched,) = await harness.broker.touch([lease])
        assert touched.state is LeaseState.HELD
        assert await _deadline_in(harness, lease) >= LONG - 6
        assert (await harness.advance(LONG - 7)).moved == 0
        assert await harness.lease_all(harness.stranger()) == []
        assert (await harness.advance(3.0)).returned == (lease.id,)

    async def test_it_never_shortens(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger(), seconds=LONG)
        assert (await _touch(harness, lease, 10.0)).state is LeaseState.HELD
        assert await _deadline_in(harness, lease) >= LONG - 1
        assert (await harness.advance(LONG - 2)).moved == 0

    async def test_it_never_shortens_what_the_holder_has_renewed_since(self, harness: Harness) -> None:
        """The one who touches may remember the lease as it was."""
        lease = await harness.leased(harness.stranger())
        elsewhere = await harness.elsewhere()
        for seconds in (20.0, 10.0):
            found = await elsewhere.find(lease.id, lease.owner, lease.fence)
            assert found is not None
            await harness.advance(1.0)
            (lease,) = await harness.broker.touch([msgspec.structs.replace(lease, seconds=LONG)])
            await harness.advance(1.0)
            (touched,) = await elsewhere.touch([msgspec.structs.replace(found, seconds=seconds)])
            assert touched.state is LeaseState.HELD
            assert await _deadline_in(harness, lease) >= LONG - 2

    async def test_the_holder_can_end_its_run_at_once(self, harness: Harness) -> None:
        done, failed, back = [await harness.leased(harness.stranger(), queue=f"queue-{number}") for number in range(3)]
        for lease in (done, failed, back):
            await _touch(harness, lease, LONG)
        await harness.complete(done)
        assert await harness.is_completed(done.id)
        (settlement,) = await harness.broker.nack([Nack(failed, 0.0, BROKEN)])
        assert settlement.outcome is Outcome.RETURNED
        (settlement,) = await harness.broker.give_back([GiveBack(back)])
        assert settlement.outcome is Outcome.RETURNED
        await harness.advance(LONG + 1)
        queues = (done.queue, failed.queue, back.queue)
        leases = await harness.lease_all(harness.stranger(), queues=queues)
        assert {one.id for one in leases} == {failed.id, back.id}

    async def test_a_lease_that_ended_is_not_revived(self, harness: Harness) -> None:
        elsewhere = await harness.elsewhere()
        done, lapsed, taken = [await harness.leased(harness.stranger(), queue=f"queue-{number}") for number in range(3)]
        found = [await elsewhere.find(lease.id, lease.owner, lease.fence) for lease in (done, lapsed, taken)]
        await harness.broker.ack([Ack(done)])
        assert {*(await harness.lapse()).returned} == {lapsed.id, taken.id}
        new = await harness.lease_one(harness.stranger(), queues=(taken.queue,))
        touched = await elsewhere.touch([msgspec.structs.replace(one, seconds=LONG) for one in found if one])
        assert [one.state for one in touched] == [LeaseState.LOST] * 3
        assert await harness.state_of(lapsed.id) == MessageState.READY
        record = await harness.record(taken.id)
        assert (record.owner, record.fence) == (new.owner, new.fence)
        assert await _deadline_in(harness, new) <= harness.lease_seconds
        assert (await harness.lease_one(harness.stranger(), queues=(lapsed.queue,))).id == lapsed.id


async def _touch(harness: Harness, lease: Lease, seconds: float) -> Lease:
    """Touch as an operator does: find the lease by its name, in a process that did not receive it."""
    elsewhere = await harness.elsewhere()
    found = await elsewhere.find(lease.id, lease.owner, lease.fence)
    assert found is not None, "a lease that is held was not found"
    (touched,) = await elsewhere.touch([msgspec.structs.replace(found, seconds=seconds)])
    return touched


async def _deadline_in(harness: Harness, lease: Lease) -> float:
    """Return the store's own figure for the deadline, to the millisecond."""
    deadline_in = (await harness.record(lease.id)).deadline_in
    assert deadline_in is not None
    return round(deadline_in, 3)
