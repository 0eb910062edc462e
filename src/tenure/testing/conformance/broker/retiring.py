"""Retiring: what a dead owner held is free at once, and its later calls change nothing."""

import asyncio
import contextlib

from tenure.broker import Swept
from tenure.claim import ClaimRequest, Fresh, Running, Scope
from tenure.errors import OwnerRetired
from tenure.lease import Lease, LeaseState
from tenure.message import Counters, MessageState
from tenure.owner import Owner
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE, TASK, Harness

HOUR = 3600.0


class Retiring:
    """The promises of `retire`."""

    async def test_everything_an_owner_held_is_free_at_once(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put_many(12)
        leases = await _hold(harness, owner, 12)
        swept = await harness.broker.retire(owner.id, crashed=True)
        assert sorted(swept.returned) == sorted(lease.id for lease in leases)
        assert (swept.dead, swept.grace) == ((), False)
        again = await harness.lease_all(harness.stranger())
        assert sorted(lease.id for lease in again) == sorted(lease.id for lease in leases)

    async def test_more_than_one_call_of_lease_is_returned(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put_many(130)
        leases = await _hold(harness, owner, 130)
        swept = await harness.broker.retire(owner.id, crashed=True)
        assert len(swept.returned) == len(leases)
        assert await harness.broker.held(owner.id) == []

    async def test_a_crash_is_counted_as_a_crash(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner)
        await harness.broker.retire(owner.id, crashed=True)
        record = await harness.record(lease.id)
        assert record.counters == Counters(deliveries=1, crashes=1)
        assert [(one.how, one.owner) for one in record.history] == [("crashed", owner.id)]
        assert (record.state, record.owner, record.deadline_in) == (MessageState.READY, None, None)

    async def test_an_owner_that_left_counts_nothing(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner)
        await harness.state.roster.leave(owner)
        swept = await harness.broker.retire(owner.id, crashed=False)
        assert swept.returned == (lease.id,)
        record = await harness.record(lease.id)
        assert (record.counters, record.history) == (Counters(deliveries=1), ())

    async def test_crashing_again_and_again_never_uses_an_attempt(self, harness: Harness) -> None:
        message = await harness.put()
        times = harness.max_attempts + 2
        for _ in range(times):
            owner = await harness.owner()
            await harness.lease_one(owner)
            swept = await harness.broker.retire(owner.id, crashed=True)
            assert (swept.returned, swept.dead) == ((message.id,), ())
        assert (await harness.record(message.id)).counters == Counters(deliveries=times, crashes=times)

    async def test_what_others_hold_is_left_alone(self, harness: Harness) -> None:
        dead, alive = await harness.owner("one"), await harness.owner("two")
        await harness.put_many(2)
        gone, kept = await harness.lease_one(dead), await harness.lease_one(alive)
        before = await harness.record(kept.id)
        assert (await harness.broker.retire(dead.id, crashed=True)).returned == (gone.id,)
        assert await harness.record(kept.id) == before

    async def test_a_retired_owner_is_lent_nothing_more(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.broker.retire(owner.id, crashed=True)
        await harness.put()
        assert await _is_banned(harness, owner)
        assert len(await harness.lease(harness.stranger())) == 1

    async def test_a_retired_owner_is_refused_even_if_there_is_nothing_to_lend(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.broker.retire(owner.id, crashed=False)
        assert await _is_banned(harness, owner)

    async def test_a_retired_owner_is_still_refused_after_many_sweeps(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.broker.retire(owner.id, crashed=True)
        await harness.put()
        await harness.advance(900.0)
        assert await _is_banned(harness, owner)

    async def test_a_late_goodbye_of_a_retired_owner_changes_nothing(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.broker.retire(owner.id, crashed=True)
        await harness.state.roster.leave(owner)
        assert await harness.state.roster.members() == []
        assert await _is_banned(harness, owner)

    async def test_a_retired_owner_cannot_join_again(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.broker.retire(owner.id, crashed=True)
        # It may get the error at once, or with its next lease.
        with contextlib.suppress(OwnerRetired):
            await harness.state.roster.join(owner)
        assert await harness.state.roster.members() == []
        assert await _is_banned(harness, owner)

    async def test_a_new_boot_of_a_retired_owner_is_welcome(self, harness: Harness) -> None:
        owner = await harness.owner("worker-1")
        await harness.broker.retire(owner.id, crashed=True)
        again = await harness.owner("worker-1")
        lease = await harness.leased(again)
        assert lease.owner == again.id

    async def test_a_late_command_of_a_retired_owner_changes_nothing(self, harness: Harness) -> None:
        harness.need("receipts_fence")
        owner = await harness.owner()
        lease = await harness.leased(owner)
        await harness.broker.retire(owner.id, crashed=True)
        before = await harness.record(lease.id)
        (touched,) = await harness.broker.touch([lease])
        assert touched.state == LeaseState.LOST
        settlements = [
            *await harness.broker.ack([Ack(lease)]),
            *await harness.broker.nack([Nack(lease, 0.0, BROKEN)]),
            *await harness.broker.give_back([GiveBack(lease)]),
            *await harness.broker.dead_letter([DeadLetter(lease, BROKEN)]),
        ]
        assert [one.outcome for one in settlements] == [Outcome.ALREADY_GONE] * 4
        assert await harness.record(lease.id) == before

    async def test_retiring_knows_no_grace(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner, seconds=HOUR)
        await harness.advance(harness.sweep_interval_seconds * 10, sweeping=False)
        assert (await harness.broker.retire(owner.id, crashed=True)).returned == (lease.id,)
        assert (await harness.lease_one(harness.stranger())).id == lease.id

    async def test_retiring_twice_counts_once(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner)
        await harness.broker.retire(owner.id, crashed=True)
        assert await harness.broker.retire(owner.id, crashed=True) == Swept()
        assert (await harness.record(lease.id)).counters == Counters(deliveries=1, crashes=1)

    async def test_retirements_at_once_count_once(self, harness: Harness) -> None:
        second, owner = await harness.second(), await harness.owner()
        lease = await harness.leased(owner)
        brokers = [harness.broker, second, harness.broker, second]
        swept = await asyncio.gather(*(broker.retire(owner.id, crashed=True) for broker in brokers))
        assert sum(one.moved for one in swept) == 1
        assert (await harness.record(lease.id)).counters == Counters(deliveries=1, crashes=1)

    async def test_a_retirement_returns_no_more_than_its_limit(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put_many(12)
        leases = await _hold(harness, owner, 12)
        returned: list[str] = []
        for left in (7, 2, 0):
            swept = await harness.broker.retire(owner.id, crashed=True, limit=5)
            assert len(swept.returned) <= 5
            returned += swept.returned
            assert len(await harness.broker.held(owner.id)) == left
            assert swept.more or not left
        assert sorted(returned) == sorted(lease.id for lease in leases)
        for lease in leases:
            assert (await harness.record(lease.id)).counters == Counters(deliveries=1, crashes=1)

    async def test_a_limit_counts_over_all_queues(self, harness: Harness) -> None:
        owner = await harness.owner()
        for queue in ("one", "two", "three"):
            for _ in range(2):
                await harness.leased(owner, queue=queue, seconds=HOUR)
        swept = await harness.broker.retire(owner.id, crashed=True, limit=3)
        assert (len(swept.returned), swept.more) == (3, True)
        assert len(await harness.broker.held(owner.id)) == 3

    async def test_a_retirement_bans_before_it_returns(self, harness: Harness) -> None:
        owner, other = await harness.owner("one"), await harness.owner("two")
        scope = Scope(QUEUE, TASK, "invoice-7")
        await harness.state.ledger.claim([ClaimRequest(scope, "a", owner.id, HOUR, "same")])
        await harness.put_many(3)
        await _hold(harness, owner, 3)
        assert (await harness.broker.retire(owner.id, crashed=True, limit=1)).more
        # It still holds two, and may have no more; and its claims went first.
        assert await _is_banned(harness, owner)
        (answer,) = await harness.state.ledger.claim([ClaimRequest(scope, "a", other.id, HOUR, "same")])
        assert isinstance(answer, Fresh)

    async def test_whoever_comes_next_finishes_a_retirement(self, harness: Harness) -> None:
        crashed, left = await harness.owner("one"), await harness.owner("two")
        await harness.put_many(6)
        leases = [*await _hold(harness, crashed, 3), *await _hold(harness, left, 3)]
        # The one that began has died: the process of the first can be seen to run, and is not asked any more.
        assert (await harness.broker.retire(crashed.id, crashed=True, limit=1)).more
        assert (await harness.broker.retire(left.id, crashed=False, limit=1)).more
        assert await harness.dead() == {crashed.id: False, left.id: True}
        for id, has_left in (await harness.dead()).items():
            assert len((await harness.broker.retire(id, crashed=not has_left)).returned) == 2
        assert await harness.state.roster.members() == []
        crashes = [(await harness.record(lease.id)).counters.crashes for lease in leases]
        assert crashes == [1, 1, 1, 0, 0, 0]

    async def test_one_that_never_joined_is_listed_until_its_retirement_is_finished(self, harness: Harness) -> None:
        owner = harness.new_owner()
        await harness.put_many(2)
        await _hold(harness, owner, 2)
        assert (await harness.broker.retire(owner.id, crashed=True, limit=1)).more
        assert await harness.dead() == {owner.id: False}
        await harness.broker.retire(owner.id, crashed=True)
        assert await harness.state.roster.members() == []

    async def test_what_is_not_returned_yet_may_still_be_settled_by_its_holder(self, harness: Harness) -> None:
        harness.need("settles_exactly_once")
        owner = await harness.owner()
        await harness.put_many(2)
        leases = {lease.id: lease for lease in await _hold(harness, owner, 2)}
        (gone,) = (await harness.broker.retire(owner.id, crashed=True, limit=1)).returned
        (kept,) = leases.keys() - {gone}
        late, done = await harness.broker.ack([Ack(leases[gone]), Ack(leases[kept])])
        assert (late.outcome, done.outcome) == (Outcome.ALREADY_GONE, Outcome.DELETED)
        assert await harness.broker.retire(owner.id, crashed=True) == Swept()
        assert await harness.state.roster.members() == []

    async def test_only_the_first_call_declares_it_dead(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.put_many(2)
        await _hold(harness, owner, 2)
        first = await harness.broker.retire(owner.id, crashed=True, limit=1)
        assert (first.declared, first.more) == (True, True)
        assert not (await harness.broker.retire(owner.id, crashed=True)).declared

    async def test_an_owner_that_never_joined_can_be_retired(self, harness: Harness) -> None:
        owner = harness.new_owner()
        lease = await harness.leased(owner)
        assert (await harness.broker.retire(owner.id, crashed=True)).returned == (lease.id,)
        assert await _is_banned(harness, owner)

    async def test_a_retired_owner_is_off_the_roster(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.kill(owner)
        await harness.broker.retire(owner.id, crashed=True)
        assert await harness.state.roster.members() == []

    async def test_retiring_releases_the_claims(self, harness: Harness) -> None:
        owner, other = await harness.owner("one"), await harness.owner("two")
        scope = Scope(QUEUE, TASK, "invoice-7")
        (first,) = await harness.state.ledger.claim([ClaimRequest(scope, "a", owner.id, HOUR, "same")])
        assert isinstance(first, Fresh)
        (busy,) = await harness.state.ledger.claim([ClaimRequest(scope, "a", other.id, HOUR, "same")])
        assert isinstance(busy, Running)
        await harness.broker.retire(owner.id, crashed=True)
        (second,) = await harness.state.ledger.claim([ClaimRequest(scope, "a", other.id, HOUR, "same")])
        assert isinstance(second, Fresh)
        assert second.token.fence > first.token.fence

    async def test_of_a_retirement_and_an_ack_at_once_one_wins(self, harness: Harness) -> None:
        harness.need("receipts_fence")
        second = await harness.second()
        for turn in range(6):
            owner = await harness.owner()
            lease = await harness.leased(owner, queue=f"queue-{turn}")
            retire, ack = second.retire(owner.id, crashed=True), harness.broker.ack([Ack(lease)])
            if turn % 2:
                swept, (settlement,) = await asyncio.gather(retire, ack)
            else:
                (settlement,), swept = await asyncio.gather(ack, retire)
            if settlement.outcome == Outcome.DELETED:
                assert swept.returned == ()
                assert await harness.is_completed(lease.id)
            else:
                assert (settlement.outcome, swept.returned) == (Outcome.ALREADY_GONE, (lease.id,))
                assert await harness.state_of(lease.id) == MessageState.READY

    async def test_of_a_retirement_and_a_lease_at_once_nothing_stays_held(self, harness: Harness) -> None:
        second = await harness.second()
        for turn in range(6):
            owner = await harness.owner()
            message = await harness.put(queue=f"queue-{turn}")
            lease = harness.broker.lease(harness.request(owner, queues=(message.queue,)))
            retire = second.retire(owner.id, crashed=True)
            acts = (retire, lease) if turn % 2 else (lease, retire)
            answers = await asyncio.gather(*acts, return_exceptions=True)
            errors = [one for one in answers if isinstance(one, BaseException)]
            assert all(isinstance(error, OwnerRetired) for error in errors), errors
            assert await harness.broker.held(owner.id) == []
            assert await harness.state_of(message.id) == MessageState.READY


async def _hold(harness: Harness, owner: Owner, count: int) -> list[Lease]:
    leases: list[Lease] = []
    for _ in range(count // 10 + 1):
        leases += await harness.lease(owner, min(10, count - len(leases)), seconds=HOUR)
    assert len(leases) == count
    return leases


async def _is_banned(harness: Harness, owner: Owner) -> bool:
    try:
        await harness.lease(owner)
    except OwnerRetired:
        return True
    return False
