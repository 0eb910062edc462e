"""The roster: it lists the owners at work, and only proof makes one dead: not silence, a name or a lost connection."""

import msgspec

from tenure.owner import Owner
from tenure.rules.presence import SILENT_SECONDS
from tenure.settlement import Ack, Outcome
from tenure.testing.harness import Harness

HOUR = 3600.0


class Roster:
    """The promises of the roster."""

    async def test_nobody_is_there_at_first(self, harness: Harness) -> None:
        assert await harness.state.roster.members() == []

    async def test_whoever_joined_is_alive(self, harness: Harness) -> None:
        one, two = await harness.owner("one"), await harness.owner("two")
        assert await harness.living() == sorted([one.id, two.id])
        assert await harness.dead() == {}

    async def test_an_owner_is_told_as_it_joined(self, harness: Harness) -> None:
        made = harness.new_owner("one")
        owner = msgspec.structs.replace(
            made, queues=("mail", "web"), concurrency=7, tasks=("deliver", "größe"), slot="pod 1/wörker"
        )
        await harness.state.roster.join(owner)
        (member,) = await harness.state.roster.members()
        assert member.owner == owner
        assert (member.left, member.is_retired) == (False, False)

    async def test_an_owner_of_whom_little_is_known_is_listed(self, harness: Harness) -> None:
        owner = Owner("old", "1")
        await harness.state.roster.join(owner)
        assert await harness.living() == [owner.id]

    async def test_joining_twice_makes_no_second_owner(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.state.roster.join(owner)
        assert await harness.living() == [owner.id]

    async def test_a_killed_owner_is_proven_dead(self, harness: Harness) -> None:
        killed, other = await harness.owner("one"), await harness.owner("two")
        await harness.kill(killed)
        assert await harness.dead() == {killed.id: False}
        assert await harness.living() == [other.id]
        (dead,) = (await harness.judged()).dead
        assert f"pid {killed.pid}" in dead.proof

    async def test_an_owner_that_said_goodbye_has_left(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.state.roster.leave(owner)
        assert await harness.dead() == {owner.id: True}
        assert await harness.living() == []

    async def test_silence_proves_nothing_however_long(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner, seconds=HOUR)
        for seconds in (10.0, 20.0, 300.0):  # as a connection that is cut, a handler that holds the GIL, a freeze
            await harness.advance(seconds, sweeping=False)
            assert await harness.living() == [owner.id]
            assert await harness.dead() == {}
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert settlement.outcome == Outcome.DELETED

    async def test_an_owner_that_beats_stays_alive(self, harness: Harness) -> None:
        owner = await harness.owner()
        for _ in range(30):
            await harness.advance(5.0)
            await harness.state.roster.beat(owner)
        (member,) = await harness.state.roster.members()
        assert member.silent_seconds < SILENT_SECONDS / 2
        assert await harness.living() == [owner.id]

    async def test_an_owner_whose_lease_lapsed_is_still_alive(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner)
        assert (await harness.lapse()).returned == (lease.id,)
        assert await harness.living() == [owner.id]

    async def test_a_retired_owner_is_not_listed(self, harness: Harness) -> None:
        killed, left, alive = [await harness.owner(name) for name in ("one", "two", "three")]
        await harness.kill(killed)
        await harness.state.roster.leave(left)
        for owner in (killed, left, alive):
            await harness.broker.retire(owner.id, crashed=True)
        assert await harness.state.roster.members() == []

    async def test_a_new_boot_does_not_revive_the_old_one(self, harness: Harness) -> None:
        old = await harness.owner("worker-1")
        await harness.kill(old)
        new = await harness.owner("worker-1")
        assert await harness.living() == [new.id]
        assert await harness.dead() == {old.id: False}

    async def test_a_name_proves_nothing(self, harness: Harness) -> None:
        old = await harness.owner("worker-1")
        lease = await harness.leased(old, seconds=HOUR)
        await harness.advance(20.0)  # replicas of one deployment may all be called the same, and one is silent
        new = await harness.owner("worker-1")
        assert await harness.living() == sorted([old.id, new.id])
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert settlement.outcome == Outcome.DELETED

    async def test_the_dead_stay_on_the_list_until_they_are_retired(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner, seconds=HOUR)
        await harness.kill(owner)
        for _ in range(3):
            assert await harness.dead() == {owner.id: False}
            await harness.advance(5.0)
        assert (await harness.broker.retire(owner.id, crashed=True)).returned == (lease.id,)
        assert await harness.dead() == {}

    async def test_holders_without_presence_are_not_on_the_roster(self, harness: Harness) -> None:
        await harness.leased(harness.stranger())
        assert await harness.state.roster.members() == []

    # --- slots ------------------------------------------------------------------------------------------

    async def test_a_newer_owner_in_its_slot_proves_an_owner_dead(self, harness: Harness) -> None:
        old, new = await _elsewhere(harness, "pod/a"), await _elsewhere(harness, "pod/a")
        assert await harness.dead() == {old.id: False}
        assert await harness.living() == [new.id]
        (dead,) = (await harness.judged()).dead
        assert "slot" in dead.proof
        assert new.id in dead.proof

    async def test_the_order_in_a_slot_survives_a_goodbye_and_beats(self, harness: Harness) -> None:
        old, new = await _elsewhere(harness, "pod/a"), await _elsewhere(harness, "pod/a")
        await harness.advance(5.0)
        await harness.state.roster.beat(old)
        await harness.advance(5.0)
        await harness.state.roster.leave(old)
        assert await harness.dead() == {old.id: True}
        assert await harness.living() == [new.id]

    async def test_other_slots_and_no_slot_prove_nothing(self, harness: Harness) -> None:
        owners = [await _elsewhere(harness, slot) for slot in ("pod/a", "pod/b", "", "")]
        assert await harness.living() == sorted(owner.id for owner in owners)

    async def test_who_comes_back_late_does_not_take_its_slot_back(self, harness: Harness) -> None:
        old = await _elsewhere(harness, "pod/a")
        await harness.advance(SILENT_SECONDS - 30.0)
        new = await _elsewhere(harness, "pod/a")
        await _until_missing(harness, old)
        assert await harness.state.roster.remove(old.id, SILENT_SECONDS)
        await harness.state.roster.beat(old)
        await harness.go_unseen(old)
        assert await harness.dead() == {old.id: False}
        assert await harness.living() == [new.id]

    # --- those who are not there any more ---------------------------------------------------------------

    async def test_a_silent_owner_that_holds_nothing_is_removed(self, harness: Harness) -> None:
        silent = await _silent(harness)
        assert await harness.state.roster.remove(silent.id, SILENT_SECONDS)
        assert await harness.state.roster.members() == []
        assert not await harness.state.roster.remove(silent.id, SILENT_SECONDS)

    async def test_an_owner_that_was_heard_is_not_removed(self, harness: Harness) -> None:
        owner = await _silent(harness)
        await harness.state.roster.beat(owner)
        assert not await harness.state.roster.remove(owner.id, SILENT_SECONDS)
        assert await harness.living() == [owner.id]

    async def test_a_silent_owner_that_holds_something_is_not_removed(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.leased(owner, seconds=HOUR)
        await _until_missing(harness, owner)
        assert not await harness.state.roster.remove(owner.id, SILENT_SECONDS)
        assert await harness.living() == [owner.id]

    async def test_a_removed_owner_joins_again_when_it_speaks(self, harness: Harness) -> None:
        owner = await _silent(harness)
        assert await harness.state.roster.remove(owner.id, SILENT_SECONDS)
        await harness.state.roster.beat(owner)
        (member,) = await harness.state.roster.members()
        assert member.owner == owner
        lease = await harness.leased(owner)  # and it was never banned
        assert lease.owner == owner.id

    async def test_a_removed_owner_may_lease_before_it_speaks(self, harness: Harness) -> None:
        owner = await _silent(harness)
        assert await harness.state.roster.remove(owner.id, SILENT_SECONDS)
        lease = await harness.leased(owner)
        await harness.state.roster.beat(owner)
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert settlement.outcome == Outcome.DELETED

    async def test_a_beat_does_not_bring_a_retired_owner_back(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.broker.retire(owner.id, crashed=True)
        await harness.advance(10.0)
        await harness.state.roster.beat(owner)
        assert await harness.state.roster.members() == []


async def _elsewhere(harness: Harness, slot: str) -> Owner:
    """An owner on a machine of which nothing can be seen from here."""
    await harness.advance(1.0)
    made = harness.new_owner()
    owner = msgspec.structs.replace(made, boot_id="another machine", slot=slot)
    await harness.state.roster.join(owner)
    await harness.go_unseen(owner)
    return owner


async def _silent(harness: Harness) -> Owner:
    """An owner that was silent for long, and holds nothing."""
    owner = await harness.owner()
    await _until_missing(harness, owner)
    return owner


async def _until_missing(harness: Harness, owner: Owner) -> None:
    await harness.go_unseen(owner)
    await harness.state.roster.members()
    await harness.advance(SILENT_SECONDS + 1.0)
