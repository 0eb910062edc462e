"""Held leases: who holds what until when, over all queues, in one look that changes nothing."""

import msgspec

from tenure.broker import Leases
from tenure.lease import Lease, LeaseState
from tenure.message import MessageState
from tenure.query import HeldLease
from tenure.record import Progress
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack
from tenure.testing.harness import BROKEN, QUEUE, TASK, Harness

#: A store may round times.
ROUNDING = 1.0


class HeldLeases:
    """The promises of `leases`."""

    async def test_a_lease_tells_everything_about_it(self, harness: Harness) -> None:
        owner = await harness.owner()
        lease = await harness.leased(owner)
        await harness.advance(10.0)
        told = await harness.broker.leases()
        (held,) = told.leases
        assert (held.id, held.queue, held.task) == (lease.id, QUEUE, TASK)
        assert (held.owner, held.fence, held.attempt) == (owner.id, lease.fence, 1)
        assert (held.seconds, held.beats, held.last_beat_at) == (harness.lease_seconds, 0, None)
        assert (held.progress, held.size, held.predicted_seconds, held.has_presence) == (None, None, None, True)
        assert _is_near(held.deadline_in, harness.lease_seconds - 10.0)
        assert _is_near(held.deadline, told.now + held.deadline_in)
        assert held.leased_at is None or _is_near(held.leased_at, told.now - 10.0)

    async def test_the_time_is_the_stores(self, harness: Harness) -> None:
        assert _is_near((await harness.broker.leases()).now, harness.state.wall())
        await harness.advance(30.0, sweeping=False)
        assert _is_near((await harness.broker.leases()).now, harness.state.wall())

    async def test_where_nothing_is_held_nothing_is_listed(self, harness: Harness) -> None:
        await harness.put()
        await harness.put(delay_seconds=60.0)
        told = await harness.broker.leases()
        assert (told.leases, told.is_cut) == ((), False)

    async def test_the_attempt_is_the_number_of_the_run(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.broker.give_back([GiveBack(lease)])
        lease = await harness.lease_one(harness.stranger())
        assert (await _only(harness)).attempt == 1
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        await harness.lease_one(harness.stranger())
        assert (await _only(harness)).attempt == 2

    async def test_the_soonest_deadline_comes_first(self, harness: Harness) -> None:
        leases = await _several(harness)
        told = await harness.broker.leases()
        assert [held.id for held in told.leases] == [lease.id for lease in reversed(leases)]
        assert [held.seconds for held in told.leases] == [lease.seconds for lease in reversed(leases)]

    async def test_a_touch_moves_it_back(self, harness: Harness) -> None:
        *others, first = await _several(harness)
        await harness.broker.touch([msgspec.structs.replace(first, seconds=95.0)])
        told = await harness.broker.leases()
        assert [held.id for held in told.leases] == [*(lease.id for lease in reversed(others)), first.id]

    async def test_each_touch_counts_a_beat(self, harness: Harness) -> None:
        lease, other = await harness.leased(harness.stranger()), await harness.leased(harness.stranger())
        for number in range(3):
            await harness.advance(10.0)
            lease, *_ = await harness.broker.touch([lease] if number else [lease, other])
        told = await harness.broker.leases()
        beats = {held.id: held.beats for held in told.leases}
        assert beats == {lease.id: 3, other.id: 1}
        last = {held.id: held.last_beat_at for held in told.leases}
        assert _is_near(last[lease.id], told.now)
        assert _is_near(last[other.id], told.now - 20.0)

    async def test_a_touch_in_vain_counts_nothing(self, harness: Harness) -> None:
        stale = await harness.leased(harness.stranger())
        await harness.lapse()
        await harness.lease_one(harness.stranger())
        (answer,) = await harness.broker.touch([msgspec.structs.replace(stale, size=7.0, predicted_seconds=9.0)])
        assert answer.state == LeaseState.LOST
        held = await _only(harness)
        assert (held.beats, held.last_beat_at, held.size, held.predicted_seconds) == (0, None, None, None)

    async def test_a_new_lease_has_no_beats_of_the_one_before(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        (lease,) = await harness.broker.touch([msgspec.structs.replace(lease, size=7.0, predicted_seconds=9.0)])
        assert (await _only(harness)).beats == 1
        await harness.broker.give_back([GiveBack(lease)])
        await harness.lease_one(harness.stranger())
        held = await _only(harness)
        assert (held.beats, held.last_beat_at, held.size, held.predicted_seconds) == (0, None, None, None)

    async def test_a_touch_keeps_what_the_worker_knows_of_the_work(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        (lease,) = await harness.broker.touch([msgspec.structs.replace(lease, size=1500.0, predicted_seconds=42.5)])
        assert (lease.size, lease.predicted_seconds) == (1500.0, 42.5)
        held = await _only(harness)
        assert (held.size, held.predicted_seconds) == (1500.0, 42.5)
        await harness.broker.touch([msgspec.structs.replace(lease, predicted_seconds=0.25)])
        held = await _only(harness)
        assert (held.size, held.predicted_seconds, held.beats) == (1500.0, 0.25, 2)

    async def test_progress_is_shown(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        progress = Progress(0.25, "a quarter")
        await harness.state.records.progress([(lease, progress)])
        assert (await _only(harness)).progress == progress

    async def test_a_holder_without_presence_is_known_for_one(self, harness: Harness) -> None:
        there, stranger = await harness.leased(await harness.owner()), await harness.leased(harness.stranger())
        told = await harness.broker.leases()
        assert {held.id: held.has_presence for held in told.leases} == {there.id: True, stranger.id: False}

    async def test_no_more_are_listed_than_were_asked_for(self, harness: Harness) -> None:
        leases = await _several(harness)
        told = await harness.broker.leases(limit=2)
        assert [held.id for held in told.leases] == [leases[-1].id, leases[-2].id]
        assert told.is_cut
        assert not (await harness.broker.leases(limit=len(leases))).is_cut

    async def test_one_may_ask_for_the_time_alone(self, harness: Harness) -> None:
        await harness.leased(harness.stranger())
        told = await harness.broker.leases(limit=0)
        assert told.leases == ()
        assert _is_near(told.now, harness.state.wall())
        assert told.last_sweep_at is not None

    async def test_an_overdue_lease_is_listed_until_it_is_returned(self, harness: Harness) -> None:
        lease = await harness.leased(harness.stranger())
        await harness.advance(harness.lease_seconds + 4.0, sweeping=False)
        told = await harness.broker.leases()
        (held,) = told.leases
        assert held.id == lease.id
        assert -4.0 - ROUNDING <= held.deadline_in < 0.0
        assert held.deadline < told.now
        # The first sweep after the gap grants a fresh window.
        assert (await harness.advance(harness.lease_seconds * 2)).returned == (lease.id,)
        assert (await harness.broker.leases()).leases == ()

    async def test_what_is_settled_or_cancelled_is_listed_no_more(self, harness: Harness) -> None:
        acked, failed, back, dead, gone, stays = [await harness.leased(harness.stranger()) for _ in range(6)]
        await harness.broker.ack([Ack(acked)])
        await harness.broker.nack([Nack(failed, 60.0, BROKEN)])
        await harness.broker.give_back([GiveBack(back, 60.0)])
        await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
        assert await harness.broker.cancel([gone.id]) == [MessageState.LEASED]
        assert (await _only(harness)).id == stays.id

    async def test_what_a_retired_owner_held_is_listed_no_more(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.leased(owner)
        await harness.broker.retire(owner.id, crashed=True)
        assert (await harness.broker.leases()).leases == ()

    async def test_all_queues_are_listed_or_those_that_were_asked_for(self, harness: Harness) -> None:
        names = ("a-tasks", "b-tasks", "c-mail")
        ids = {queue: (await harness.leased(harness.stranger(), queue=queue)).id for queue in names}
        for queues, expected in (
            (None, names),
            (["a-tasks"], ("a-tasks",)),
            (["*-tasks"], ("a-tasks", "b-tasks")),
            (["c-mail", "b-*"], ("b-tasks", "c-mail")),
            (["nowhere", "*-nowhere"], ()),
            ([], ()),
        ):
            told = await harness.broker.leases(queues)
            assert {held.id for held in told.leases} == {ids[queue] for queue in expected}, queues
            assert {held.queue for held in told.leases} == set(expected)

    async def test_the_order_is_kept_over_several_queues(self, harness: Harness) -> None:
        leases = []
        for number in range(6):
            seconds = 90.0 - 10.0 * number
            leases.append(await harness.leased(harness.stranger(), queue=f"{number % 3}-tasks", seconds=seconds))
        told = await harness.broker.leases(limit=4)
        assert [held.id for held in told.leases] == [lease.id for lease in reversed(leases)][:4]
        assert told.is_cut

    async def test_many_holders_are_all_listed(self, harness: Harness) -> None:
        messages = await harness.put_many(40)
        for _ in range(8):
            owner = harness.stranger()
            for lease in await harness.lease(owner, 5):
                assert lease.owner == owner
        told = await harness.broker.leases()
        by_owner: dict[str, int] = {}
        for held in told.leases:
            by_owner[held.owner] = by_owner.get(held.owner, 0) + 1
        assert {held.id for held in told.leases} == {message.id for message in messages}
        assert len(by_owner) >= 8

    async def test_nobody_has_swept_a_new_store(self, harness: Harness) -> None:
        told = await harness.broker.leases()
        assert (told.last_sweep_at, told.next_sweep_at) == (None, None)

    async def test_a_sweep_tells_when_it_was_and_when_the_next_is_due(self, harness: Harness) -> None:
        await harness.sweep()
        await harness.advance(3.0, sweeping=False)
        self._check_sweep(harness, await harness.broker.leases(limit=0), 3.0)
        await harness.sweep()
        self._check_sweep(harness, await harness.broker.leases(limit=0), 0.0)
        await harness.advance(60.0, sweeping=False)
        self._check_sweep(harness, await harness.broker.leases(), 60.0)

    async def test_a_sweep_over_another_connection_is_told_too(self, harness: Harness) -> None:
        second = await harness.second()
        await second.sweep(harness.sweep_request())
        self._check_sweep(harness, await harness.broker.leases(), 0.0)

    def _check_sweep(self, harness: Harness, told: Leases, ago: float) -> None:
        assert told.last_sweep_at is not None
        assert told.next_sweep_at is not None
        assert _is_near(told.last_sweep_at, told.now - ago)
        assert _is_near(told.next_sweep_at, told.last_sweep_at + harness.sweep_interval_seconds)


def _is_near(value: float | None, expected: float) -> bool:
    return value is not None and abs(value - expected) <= ROUNDING


async def _only(harness: Harness) -> HeldLease:
    (held,) = (await harness.broker.leases()).leases
    return held


async def _several(harness: Harness) -> list[Lease]:
    """The last to come is the first to lapse."""
    return [await harness.leased(harness.stranger(), seconds=90.0 - 10.0 * number) for number in range(5)]
