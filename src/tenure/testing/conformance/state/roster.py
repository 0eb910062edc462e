"""The roster: only what is proven dead is called dead; the frozen and the silent are not."""

import msgspec

from tenure.settlement import Ack, Outcome
from tenure.testing.harness import Harness

HOUR = 3600.0


class Roster:
    """What the roster promises."""

    async def test_nobody_is_there_at_first(self, harness: Harness) -> None:
        assert await _alive(harness) == []
        assert await _dead(harness) == {}

    async def test_whoever_joined_is_alive(self, harness: Harness) -> None:
        one, two = await harness.owner("one"), await harness.owner("two")
        assert await _alive(harness) == sorted([one.id, two.id])
        assert await _dead(harness) == {}

    async def test_an_owner_is_told_as_it_joined(self, harness: Harness) -> None:
        made = harness.new_owner("one")
        owner = msgspec.structs.replace(made, queues=("mail", "web"), concurrency=7, tasks=("deliver", "größe"))
        await harness.state.roster.join(owner)
        (alive,) = await harness.state.roster.alive()
        assert alive == owner

    async def test_joining_twice_makes_no_second_owner(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.state.roster.join(owner)
        assert await _alive(harness) == [owner.id]

    async def test_a_killed_owner_is_proven_dead(self, harness: Harness) -> None:
        killed, other = await harness.owner("one"), await harness.owner("two")
        await harness.kill(killed)
        assert await _dead(harness) == {killed.id: False}
        assert await _alive(harness) == [other.id]
        (dead,) = await harness.state.roster.dead()
        assert dead.proof

    async def test_an_owner_that_said_goodbye_has_left(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.state.roster.leave(owner)
        assert await _dead(harness) == {owner.id: True}
        assert await _alive(harness) == []

    async def test_a_frozen_owner_is_not_dead(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner, seconds=HOUR)
        # Nothing is heard of it, and it lives: within its presence that is no proof.
        await harness.advance(10.0, sweeping=False)
        assert await _alive(harness) == [owner.id]
        assert await _dead(harness) == {}
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert settlement.outcome == Outcome.DELETED

    async def test_an_owner_that_beats_stays_alive(self, harness: Harness) -> None:
        owner = await harness.owner()
        for _ in range(30):
            await harness.advance(5.0)
            await harness.state.roster.beat(owner)
        assert await _alive(harness) == [owner.id]
        assert await _dead(harness) == {}

    async def test_an_owner_whose_lease_lapsed_is_still_alive(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.leased(owner)
        await harness.state.roster.beat(owner)
        await harness.advance(5.0)
        await harness.state.roster.beat(owner)
        assert await _alive(harness) == [owner.id]

    async def test_a_retired_owner_is_on_neither_list(self, harness: Harness) -> None:
        killed, left, alive = [await harness.owner(name) for name in ("one", "two", "three")]
        await harness.kill(killed)
        await harness.state.roster.leave(left)
        for owner in (killed, left, alive):
            await harness.broker.retire(owner.id, crashed=True)
        assert await _alive(harness) == []
        assert await _dead(harness) == {}

    async def test_a_new_boot_does_not_revive_the_old_one(self, harness: Harness) -> None:
        old = await harness.owner("worker-1")
        await harness.kill(old)
        new = await harness.owner("worker-1")
        assert await _alive(harness) == [new.id]
        assert await _dead(harness) == {old.id: False}

    async def test_the_dead_stay_on_the_list_until_they_are_retired(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner, seconds=HOUR)
        await harness.kill(owner)
        for _ in range(3):
            assert await _dead(harness) == {owner.id: False}
            await harness.advance(5.0)
        assert (await harness.broker.retire(owner.id, crashed=True)).returned == (lease.id,)
        assert await _dead(harness) == {}

    async def test_holders_without_presence_are_not_on_the_roster(self, harness: Harness) -> None:
        await harness.leased(harness.stranger())
        assert await _alive(harness) == []
        assert await _dead(harness) == {}


async def _alive(harness: Harness) -> list[str]:
    return sorted(owner.id for owner in await harness.state.roster.alive())


async def _dead(harness: Harness) -> dict[str, bool]:
    """Who is dead, and whether it said goodbye."""
    return {one.owner.id: one.left for one in await harness.state.roster.dead()}
