"""Clocks: the wall clock may jump by an hour either way, and nothing is decided differently."""

from tenure.claim import ClaimRequest, Fresh, Running, Scope
from tenure.lease import LeaseState
from tenure.message import MessageState
from tenure.settlement import Ack, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE, TASK, Harness

HOUR = 3600.0


class Clocks:
    """Deadlines, delays and gaps are measured by a clock that never jumps."""

    async def test_a_wall_clock_that_jumps_forward_ends_no_lease(self, harness: Harness) -> None:
        await self._lease_ends_on_time(harness, HOUR)

    async def test_a_wall_clock_that_jumps_back_keeps_no_lease_alive(self, harness: Harness) -> None:
        await self._lease_ends_on_time(harness, -HOUR)

    async def test_a_wall_clock_that_jumps_forward_makes_nothing_due(self, harness: Harness) -> None:
        await self._delay_ends_on_time(harness, HOUR)

    async def test_a_wall_clock_that_jumps_back_holds_nothing_up(self, harness: Harness) -> None:
        await self._delay_ends_on_time(harness, -HOUR)

    async def test_a_wall_clock_that_jumps_is_no_outage(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.advance(harness.lease_seconds - 1)
        await harness.move_wall(HOUR)
        swept = await harness.advance(2.0)
        assert (swept.grace, swept.returned) == (False, (lease.id,))

    async def test_a_wall_clock_that_jumps_back_hides_no_outage(self, harness: Harness) -> None:
        await harness.leased(harness.stranger())
        await harness.move_wall(-HOUR)
        await harness.advance(harness.lease_seconds * 2, sweeping=False)
        swept = await harness.sweep()
        assert (swept.grace, swept.moved) == (True, 0)

    async def test_a_touch_over_a_jump_sets_the_deadline_from_now(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        for jump in (HOUR, -2 * HOUR, HOUR):
            await harness.move_wall(jump)
            await harness.advance(harness.lease_seconds / 2)
            (lease,) = await harness.broker.touch([lease])
            assert lease.state == LeaseState.HELD
            deadline_in = (await harness.record(lease.id)).deadline_in
            assert deadline_in is not None
            assert round(deadline_in, 3) == harness.lease_seconds
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert settlement.outcome == Outcome.DELETED

    async def test_a_claim_lapses_by_its_seconds_alone(self, harness: Harness) -> None:
        request = ClaimRequest(Scope(QUEUE, TASK, "key"), "a", "client/1", harness.lease_seconds, "same")
        other = ClaimRequest(Scope(QUEUE, TASK, "key"), "a", "client/2", harness.lease_seconds, "same")
        (fresh,) = await harness.state.ledger.claim([request])
        assert isinstance(fresh, Fresh)
        await harness.move_wall(HOUR)
        (busy,) = await harness.state.ledger.claim([other])
        assert isinstance(busy, Running)
        await harness.move_wall(-2 * HOUR)
        await harness.advance(harness.lease_seconds + 1)
        (taken,) = await harness.state.ledger.claim([other])
        assert isinstance(taken, Fresh)

    async def _lease_ends_on_time(self, harness: Harness, jump: float) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.move_wall(jump)
        assert (await harness.advance(harness.lease_seconds - 1)).moved == 0
        assert (await harness.advance(2.0)).returned == (lease.id,)

    async def _delay_ends_on_time(self, harness: Harness, jump: float) -> None:
        sent = await harness.put(delay_seconds=20.0)
        lease = await harness.leased(harness.stranger())
        await harness.broker.nack([Nack(lease, 20.0, BROKEN)])
        await harness.move_wall(jump)
        await harness.advance(19.0)
        assert await harness.lease_all(harness.stranger()) == []
        assert await harness.state_of(sent.id) == MessageState.DELAYED
        await harness.advance(2.0)
        leases = await harness.lease_all(harness.stranger())
        assert {one.id for one in leases} == {sent.id, lease.id}
