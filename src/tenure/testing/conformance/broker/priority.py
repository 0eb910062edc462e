"""Order: highest priority first within the stated fairness, first come first served, returned before backlog."""

import itertools

from tenure.envelope import decode
from tenure.lease import Lease
from tenure.owner import Owner
from tenure.settlement import GiveBack, Nack
from tenure.testing.harness import BROKEN, Harness

LOW, MIDDLE, HIGH = 1, 5, 9


class Priority:
    """The order in which messages are lent."""

    async def test_within_one_priority_the_first_to_come_is_the_first_to_go(self, harness: Harness) -> None:
        harness.need("in_order")
        messages = await harness.put_many(12)
        leases = await harness.lease_all(harness.stranger())
        assert [lease.id for lease in leases] == [message.id for message in messages]

    async def test_a_batch_and_single_leases_go_in_the_same_order(self, harness: Harness) -> None:
        harness.need("in_order")
        messages = await harness.put_many(6)
        owner = harness.stranger()
        leases = await harness.lease(owner, 3) + [await harness.lease_one(owner) for _ in range(3)]
        assert [lease.id for lease in leases] == [message.id for message in messages]

    async def test_a_higher_priority_goes_first(self, harness: Harness) -> None:
        harness.need("priority_levels", lambda levels: levels > 1)
        low = await harness.put_many(4, priority=LOW)
        high = await harness.put_many(4, priority=HIGH)
        owner = harness.stranger()
        first = [(await harness.lease_one(owner)).id for _ in range(4)]
        # Within four lendings a fair broker may look at a lower priority once.
        allowed = 0 if harness.traits.fairness is None else 1
        assert len(set(first) & {message.id for message in low}) <= allowed
        assert len(set(first) & {message.id for message in high}) >= 4 - allowed

    async def test_a_batch_too_begins_with_the_highest(self, harness: Harness) -> None:
        harness.need("priority_levels", lambda levels: levels > 1)
        await harness.put_many(4, priority=LOW)
        high = await harness.put_many(4, priority=HIGH)
        leases = await harness.lease(harness.stranger(), 4)
        allowed = 0 if harness.traits.fairness is None else 1
        assert len({lease.id for lease in leases} & {message.id for message in high}) >= 4 - allowed

    async def test_every_level_is_kept_apart(self, harness: Harness) -> None:
        harness.need("priority_levels", lambda levels: levels == HIGH + 1)
        for priority in (3, 9, 0, 6, 1, 8, 2, 7, 5, 4):
            await harness.put(priority=priority)
        lent = await _priorities(harness, 10)
        # One may have been taken out of turn, for fairness.
        out_of_turn = sum(1 for before, after in itertools.pairwise(lent) if after > before)
        assert sorted(lent) == list(range(10))
        assert out_of_turn <= (0 if harness.traits.fairness is None else 1)

    async def test_a_lower_priority_is_not_starved(self, harness: Harness) -> None:
        fairness = _fairness(harness)
        await harness.put_many(fairness, priority=LOW)
        await harness.put_many(fairness * 4, priority=HIGH)
        lent = await _priorities(harness, fairness * 3)
        assert lent.count(LOW) >= 2, f"one in {fairness} is promised, {lent.count(LOW)} of {len(lent)} came"

    async def test_fairness_takes_no_more_than_it_says(self, harness: Harness) -> None:
        fairness = _fairness(harness)
        await harness.put_many(fairness, priority=LOW)
        await harness.put_many(fairness * 4, priority=HIGH)
        lent = await _priorities(harness, fairness * 3)
        assert lent.count(LOW) <= 4, f"one in {fairness} is promised, {lent.count(LOW)} of {len(lent)} came"

    async def test_fairness_holds_for_batches_too(self, harness: Harness) -> None:
        fairness = _fairness(harness)
        await harness.put_many(fairness, priority=LOW)
        await harness.put_many(fairness * 5, priority=HIGH)
        owner, lent = harness.stranger(), list[int]()
        for _ in range(fairness):
            lent += [_priority(lease) for lease in await harness.lease(owner, 4)]
        assert 3 <= lent.count(LOW) <= 5

    async def test_the_lowest_of_three_is_not_starved_by_the_middle(self, harness: Harness) -> None:
        fairness = _fairness(harness)
        await harness.put(priority=LOW)
        await harness.put_many(fairness * 3, priority=MIDDLE)
        await harness.put_many(fairness * 5, priority=HIGH)
        assert LOW in await _priorities(harness, fairness * 3)

    async def test_with_nothing_else_to_do_the_lowest_runs_at_once(self, harness: Harness) -> None:
        message = await harness.put(priority=0)
        assert (await harness.lease_one(harness.stranger())).id == message.id

    async def test_what_was_given_back_comes_before_the_backlog(self, harness: Harness) -> None:
        lease = await self._lease_before_a_backlog(harness, harness.stranger())
        await harness.broker.give_back([GiveBack(lease)])
        assert (await harness.lease_one(harness.stranger())).id == lease.id

    async def test_what_failed_comes_before_the_backlog(self, harness: Harness) -> None:
        lease = await self._lease_before_a_backlog(harness, harness.stranger())
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        assert (await harness.lease_one(harness.stranger())).id == lease.id

    async def test_what_was_swept_comes_before_the_backlog(self, harness: Harness) -> None:
        lease = await self._lease_before_a_backlog(harness, harness.stranger())
        assert (await harness.lapse()).returned == (lease.id,)
        assert (await harness.lease_one(harness.stranger())).id == lease.id

    async def test_what_a_dead_owner_held_comes_before_the_backlog(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await self._lease_before_a_backlog(harness, owner)
        await harness.broker.retire(owner.id, crashed=True)
        assert (await harness.lease_one(harness.stranger())).id == lease.id

    async def _lease_before_a_backlog(self, harness: Harness, owner: Owner | str) -> Lease:
        harness.need("returned_first")
        lease = await harness.leased(owner)
        await harness.put_many(5)
        return lease


def _fairness(harness: Harness) -> int:
    harness.need("fairness")
    harness.need("priority_levels", lambda levels: levels > 1)
    fairness = harness.traits.fairness
    assert fairness is not None
    return fairness


def _priority(lease: Lease) -> int:
    return decode(lease.envelope).priority


async def _priorities(harness: Harness, count: int) -> list[int]:
    """The priorities of the next `count` messages, leased one by one."""
    owner = harness.stranger()
    return [_priority(await harness.lease_one(owner)) for _ in range(count)]
