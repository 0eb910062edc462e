"""Named leases: a holder that kept id, owner and fence gets its lease back, and only while it is the holder."""

from collections.abc import Awaitable, Callable

from tenure.lease import Lease, LeaseState
from tenure.message import Counters, MessageState
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement
from tenure.testing.harness import BROKEN, QUEUE, Harness


class NamedLeases:
    """The promises of `find`."""

    async def test_a_lease_is_found_by_its_name(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        found = await _found(harness, lease)
        assert (found.id, found.queue, found.envelope) == (lease.id, lease.queue, lease.envelope)
        assert (found.owner, found.fence, found.seconds) == (lease.owner, lease.fence, lease.seconds)
        assert (found.counters, found.state) == (Counters(deliveries=1), LeaseState.HELD)
        assert found.deadline <= lease.deadline + 1.0
        assert not found.has_expired(harness.clock.monotonic())

    async def test_any_hint_will_do(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.put(queue="other")
        for hint in (QUEUE, "other", "nowhere", None):
            found = await harness.broker.find(lease.id, lease.owner, lease.fence, hint)
            assert found is not None, hint
            assert (found.id, found.fence) == (lease.id, lease.fence)

    async def test_another_connection_finds_it(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        second = await harness.second()
        found = await second.find(lease.id, lease.owner, lease.fence)
        assert found is not None
        assert await second.ack([Ack(found)]) == [Settlement(Outcome.DELETED)]

    async def test_what_is_found_can_be_touched(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.advance(20.0)
        (touched,) = await harness.broker.touch([await _found(harness, lease)])
        assert touched.state == LeaseState.HELD
        await harness.advance(20.0)
        assert await harness.state_of(lease.id) == MessageState.LEASED
        (held,) = (await harness.broker.leases()).leases
        assert held.beats == 1

    async def test_what_is_found_can_be_acked(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.complete(await _found(harness, lease))
        assert await harness.is_completed(lease.id)

    async def test_what_is_found_can_be_nacked(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        assert await harness.broker.nack([Nack(await _found(harness, lease), 0.0, BROKEN)]) == [_RETURNED]
        assert (await harness.lease_one(harness.stranger())).counters == Counters(deliveries=2, attempts=1)

    async def test_what_is_found_can_be_given_back(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        assert await harness.broker.give_back([GiveBack(await _found(harness, lease))]) == [_RETURNED]
        assert (await harness.lease_one(harness.stranger())).counters == Counters(deliveries=2)

    async def test_what_is_found_can_be_put_aside(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        found = await _found(harness, lease)
        assert await harness.broker.dead_letter([DeadLetter(found, BROKEN)]) == [Settlement(Outcome.DEAD)]
        assert await harness.state_of(lease.id) == MessageState.DEAD

    async def test_it_is_found_after_a_touch(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.advance(20.0)
        (touched,) = await harness.broker.touch([lease])
        found = await _found(harness, lease)
        assert found.remaining(harness.clock.monotonic()) > harness.lease_seconds - 5.0
        assert touched.fence == lease.fence
        assert await harness.broker.ack([Ack(found)]) == [Settlement(Outcome.DELETED)]

    async def test_it_is_found_as_often_as_it_is_looked_for(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.advance(10.0)
        before = await harness.record(lease.id)
        *_, found = [await _found(harness, lease) for _ in range(3)]
        assert await harness.record(lease.id) == before
        (touched,) = await harness.broker.touch([found])
        assert await harness.broker.ack([Ack(touched)]) == [Settlement(Outcome.DELETED)]

    async def test_a_lapsed_lease_is_found_until_it_is_returned(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.advance(harness.lease_seconds + 5.0, sweeping=False)
        (touched,) = await harness.broker.touch([await _found(harness, lease)])
        assert touched.state == LeaseState.HELD
        assert (await harness.advance(10.0)).moved == 0

    async def test_a_lease_that_was_returned_is_not_found(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        assert (await harness.lapse()).returned == (lease.id,)
        await _check_gone(harness, lease)

    async def test_a_lease_that_was_taken_over_is_not_found(self, harness: Harness) -> None:
        stale = await harness.leased(harness.stranger())
        await harness.lapse()
        new = await harness.lease_one(harness.stranger())
        await _check_gone(harness, stale)
        assert (await _found(harness, new)).owner == new.owner

    async def test_the_same_owner_does_not_find_its_lease_from_before(self, harness: Harness) -> None:
        owner = harness.stranger()
        stale = await harness.leased(owner)
        await harness.lapse()
        new = await harness.lease_one(owner)
        assert new.fence > stale.fence
        await _check_gone(harness, stale)
        assert (await _found(harness, new)).fence == new.fence

    async def test_a_wrong_name_finds_nothing(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        for id, owner, fence in (
            (lease.id, lease.owner, lease.fence + 1),
            (lease.id, lease.owner, lease.fence - 1),
            (lease.id, harness.stranger(), lease.fence),
            ("f" * 32, lease.owner, lease.fence),
            ("no id at all", lease.owner, lease.fence),
        ):
            assert await harness.broker.find(id, owner, fence) is None
            assert await harness.broker.find(id, owner, fence, QUEUE) is None

    async def test_what_nobody_holds_is_not_found(self, harness: Harness) -> None:
        message = await harness.put()
        assert await harness.broker.find(message.id, harness.stranger(), 1) is None
        assert await harness.broker.find(message.id, "", 0) is None

    async def test_a_lease_that_has_ended_is_not_found(self, harness: Harness) -> None:
        broker = harness.broker
        ends: list[Callable[[Lease], Awaitable[object]]] = [
            lambda lease: broker.ack([Ack(lease)]),
            lambda lease: broker.nack([Nack(lease, 60.0, BROKEN)]),
            lambda lease: broker.give_back([GiveBack(lease, 60.0)]),
            lambda lease: broker.dead_letter([DeadLetter(lease, BROKEN)]),
            lambda lease: broker.cancel([lease.id]),
        ]
        for end in ends:
            lease = await harness.leased(harness.stranger())
            await end(lease)
            await _check_gone(harness, lease)

    async def test_a_lease_of_a_retired_owner_is_not_found(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner)
        await harness.broker.retire(owner.id, crashed=True)
        await _check_gone(harness, lease)

    async def test_it_is_found_after_a_reconnect(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.reopen()
        found = await _found(harness, lease)
        if harness.finds_envelopes:
            assert found.envelope == lease.envelope
        assert await harness.broker.ack([Ack(found)]) == [Settlement(Outcome.DELETED)]


_RETURNED = Settlement(Outcome.RETURNED)


async def _found(harness: Harness, lease: Lease) -> Lease:
    found = await harness.broker.find(lease.id, lease.owner, lease.fence)
    assert found is not None, "a lease that is held was not found"
    return found


async def _check_gone(harness: Harness, lease: Lease) -> None:
    for hint in (None, lease.queue):
        assert await harness.broker.find(lease.id, lease.owner, lease.fence, hint) is None
