"""Grace: after an outage a lease gets one fresh window between two touches, so that nothing is excused for ever.

The first lines on grace are in `returning.py`: what it is, and how long. Here are rare sweeps: a cron job, or a server
that is scaled to zero. Each of them comes after a gap, and each must not be the first.
"""

import msgspec

from tenure.broker import Swept
from tenure.lease import Lease, LeaseState
from tenure.message import Counters, MessageState
from tenure.settlement import GiveBack
from tenure.testing.harness import Harness

#: How long a rare sweeper sleeps, in leases.
_RARE = 20


class Grace:
    """A window after an outage, once between two touches."""

    async def test_rare_sweeps_return_what_nobody_touches(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        first = await _rare_sweep(harness)
        assert (first.grace, first.moved) == (True, 0)
        second = await _rare_sweep(harness)
        assert (second.grace, second.returned) == (False, (lease.id,))
        assert await harness.state_of(lease.id) == MessageState.READY

    async def test_rare_sweeps_bring_a_message_to_the_dead_letters(self, harness: Harness) -> None:
        message = await harness.put()
        for number in range(1, harness.max_attempts + 1):
            await harness.lease_one(harness.stranger())
            await _rare_sweep(harness)
            swept = await _rare_sweep(harness)
            is_last = number == harness.max_attempts
            assert (swept.returned, swept.dead) == (((), (message.id,)) if is_last else ((message.id,), ()))
        assert (await harness.record(message.id)).counters.attempts == harness.max_attempts

    async def test_a_touch_between_two_gaps_earns_another_window(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        for _ in range(3):
            assert (await _rare_sweep(harness)).grace
            (touched,) = await harness.broker.touch([lease])
            assert touched.state == LeaseState.HELD
        assert (await _rare_sweep(harness)).grace
        assert (await _rare_sweep(harness)).returned == (lease.id,)

    async def test_a_shorter_touch_earns_it_too(self, harness: Harness) -> None:
        # The grace may reach further than the touch: the deadline stays, but its holder was seen.
        lease = await harness.leased(harness.stranger(), seconds=harness.lease_seconds * 3)
        assert (await _rare_sweep(harness)).grace
        (touched,) = await harness.broker.touch([_with(lease, harness.lease_seconds)])
        assert touched.state == LeaseState.HELD
        swept = await _rare_sweep(harness)
        assert (swept.grace, swept.moved) == (True, 0)

    async def test_the_next_lease_of_a_message_has_its_own_window(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await _rare_sweep(harness)
        await harness.broker.give_back([GiveBack(lease)])
        again = await harness.lease_one(harness.stranger())
        swept = await _rare_sweep(harness)
        assert (again.id, swept.grace, swept.moved) == (lease.id, True, 0)

    async def test_new_leases_never_keep_an_old_one_from_being_returned(self, harness: Harness) -> None:
        old = await harness.leased(harness.stranger())
        await _rare_sweep(harness)
        new = await harness.leased(harness.stranger(), queue="other")
        swept = await _rare_sweep(harness)
        assert (swept.grace, swept.returned) == (True, (old.id,))
        assert await harness.state_of(new.id) == MessageState.LEASED

    async def test_a_worker_that_beats_keeps_its_lease_over_every_gap(self, harness: Harness) -> None:
        lease = await harness.leased(await harness.owner())
        for _ in range(4):
            for _ in range(8):
                await harness.advance(harness.lease_seconds / 3, sweeping=False)
                (lease,) = await harness.broker.touch([lease])
            assert (await harness.sweep()).moved == 0
        assert (await harness.record(lease.id)).counters == Counters(deliveries=1)

    async def test_grace_never_shortens_a_deadline(self, harness: Harness) -> None:
        # Touched for longer than it was leased for: the deadline is beyond a window from now.
        long = harness.lease_seconds * 8
        harness.need("max_hold_seconds", lambda seconds: seconds is None or seconds > long)
        lease = await harness.leased(harness.stranger())
        await harness.broker.touch([_with(lease, long)])
        await harness.advance(harness.lease_seconds * 3, sweeping=False)
        before = (await harness.record(lease.id)).deadline_in
        swept = await harness.sweep()
        after = (await harness.record(lease.id)).deadline_in
        assert swept.moved == 0
        assert before is not None
        assert before > harness.lease_seconds * 2
        assert after is not None
        assert after >= before - 1
        assert (await harness.advance(harness.lease_seconds + 1)).moved == 0


def _with(lease: Lease, seconds: float) -> Lease:
    """The same lease, to be touched for other seconds."""
    return msgspec.structs.replace(lease, seconds=seconds)


async def _rare_sweep(harness: Harness) -> Swept:
    """Let hours pass without a sweep, then sweep once."""
    await harness.advance(harness.lease_seconds * _RARE, sweeping=False)
    return await harness.sweep()
