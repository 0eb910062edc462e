"""The heartbeat: sole keeper of the latest lease of everything in flight."""

import asyncio

import msgspec
import pytest

from tenure import Tenure
from tenure.claim import ClaimRequest, Fresh
from tenure.envelope import decode
from tenure.lease import LeaseState
from tenure.runtime.background.heartbeat import BeatStats
from tenure.settlement import GiveBack
from tenure.testing.harness import Harness
from tenure.verdict import Completed

from .beating import LEASE, THIRD, beating

# --- beating --------------------------------------------------------------------------------------------


async def test_a_beat_comes_at_each_third_of_the_lease(harness: Harness) -> None:
    async with beating(harness) as bench:
        began = harness.clock.monotonic()
        bench.heartbeat.hold([await bench.delivery()])
        await asyncio.sleep(3.5 * THIRD)
        assert [round(at - began, 3) for at, _ in bench.touched] == [THIRD, 2 * THIRD, 3 * THIRD]


async def test_a_message_that_ends_before_the_first_third_is_never_touched(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(THIRD - 0.1)
        assert await bench.heartbeat.hand_over([delivery]) == [delivery.lease]
        await asyncio.sleep(LEASE)
        assert bench.touched == []
        assert len(bench.heartbeat) == 0


async def test_leases_that_are_due_at_nearly_the_same_time_go_in_one_call(harness: Harness) -> None:
    async with beating(harness) as bench:
        for _ in range(5):
            bench.heartbeat.hold([await bench.delivery()])
            await asyncio.sleep(0.2)
        await asyncio.sleep(THIRD)
        assert [len(ids) for _, ids in bench.touched] == [5]


async def test_a_short_lease_that_comes_later_is_beaten_for_in_time(harness: Harness) -> None:
    async with beating(harness) as bench:
        bench.heartbeat.hold([await bench.delivery(seconds=600)])
        await asyncio.sleep(1)
        short = await bench.delivery(seconds=3)
        bench.heartbeat.hold([short])
        await asyncio.sleep(3.5)
        assert [ids for _, ids in bench.touched] == [[short.id]] * 3


async def test_a_call_holds_no_more_leases_than_the_broker_takes(small: Harness) -> None:
    async with beating(small) as bench:
        deliveries = [await bench.delivery() for _ in range(8)]
        bench.heartbeat.hold(deliveries)
        await asyncio.sleep(THIRD + 1)
        assert sorted(len(ids) for _, ids in bench.touched) == [2, 3, 3]
        assert all(bench.heartbeat.stats(delivery).extension_count == 1 for delivery in deliveries)


async def test_the_stats_tell_what_was_done_for_a_message(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(2.5 * THIRD)
        stats = bench.heartbeat.stats(delivery)
        assert stats == BeatStats(2, 2 * LEASE, None, deadline=stats.deadline)
        assert stats.deadline > harness.clock.monotonic()
        bench.wire.away()
        await asyncio.sleep(THIRD)
        assert "away" in (bench.heartbeat.stats(delivery).last_error or "")
        await bench.heartbeat.hand_over([delivery])
        assert bench.heartbeat.stats(delivery) == BeatStats(is_running=False)
        assert delivery.beats is not None
        assert delivery.beats.extension_count == 2
        assert "away" in (delivery.beats.last_error or "")


async def test_a_failed_beat_is_tried_again_within_the_interval(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(THIRD - 1)
        bench.wire.away("broker.touch")
        await asyncio.sleep(2)
        bench.wire.back()
        await asyncio.sleep(THIRD / 2)
        assert bench.failed == [1]
        assert len(bench.touched) == 1, "it waited for a whole interval"
        assert (await harness.record(delivery.id)).deadline_in == pytest.approx(LEASE, abs=THIRD)


async def test_a_broker_that_is_away_makes_no_lease_lost(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        bench.wire.away()
        await asyncio.sleep(5 * LEASE)
        assert bench.lost == []
        bench.wire.back()
        (lease,) = await bench.heartbeat.hand_over([delivery])
        assert lease.state is LeaseState.UNCERTAIN


async def test_a_lease_that_the_broker_calls_lost_is_told_once_and_let_go(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery, other = await bench.delivery(), await bench.delivery()
        bench.heartbeat.hold([delivery, other])
        await harness.broker.retire(delivery.lease.owner, crashed=False)
        await asyncio.sleep(2 * LEASE)
        assert bench.lost == [delivery, other]
        assert delivery.lease_lost
        assert len(bench.heartbeat) == 0
        assert len(bench.touched) == 1


async def test_a_lease_that_is_held_again_is_beaten_for_before_it_ends(harness: Harness) -> None:
    """As while the outbox tries to settle, again and again: each try takes the lease and holds it again."""
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        for _ in range(60):
            (delivery.lease,) = await bench.heartbeat.hand_over([delivery])
            bench.heartbeat.hold([delivery])
            await asyncio.sleep(2)
            assert harness.clock.monotonic() < delivery.lease.deadline, "it was never renewed"


# --- handing over ---------------------------------------------------------------------------------------


async def test_handing_over_waits_for_a_beat_under_way_and_gives_the_newest_lease(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        first = delivery.lease
        bench.heartbeat.hold([delivery])
        bench.wire.spy = lambda *_: bench.wire.freeze()
        await asyncio.sleep(THIRD + 1)
        handing = asyncio.create_task(bench.heartbeat.hand_over([delivery]))
        await asyncio.sleep(5)
        assert not handing.done()
        bench.wire.thaw()
        (lease,) = await handing
        assert lease.deadline > first.deadline + THIRD / 2


async def test_handing_over_does_not_wait_for_the_beats_of_others(harness: Harness) -> None:
    async with beating(harness) as bench:
        slow, quick = await bench.delivery(seconds=3), await bench.delivery(seconds=600)
        bench.heartbeat.hold([slow, quick])
        bench.wire.spy = lambda *_: bench.wire.freeze()
        await asyncio.sleep(2)
        async with asyncio.timeout(0.1):
            await bench.heartbeat.hand_over([quick])


async def test_giving_up_on_a_hand_over_does_not_kill_the_heartbeat(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery, other = await bench.delivery(), await bench.delivery()
        bench.heartbeat.hold([delivery, other])
        bench.wire.spy = lambda *_: bench.wire.freeze()
        await asyncio.sleep(THIRD + 1)
        handing = asyncio.create_task(bench.heartbeat.hand_over([delivery]))
        await asyncio.sleep(1)
        handing.cancel()
        await asyncio.gather(handing, return_exceptions=True)
        bench.wire.spy = lambda *_: None
        bench.wire.thaw()
        await asyncio.sleep(2 * LEASE)
        assert bench.heartbeat.stats(other).extension_count > 3


async def test_a_lease_lost_in_the_beat_under_way_is_known_when_it_is_handed_over(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        await harness.broker.retire(delivery.lease.owner, crashed=False)
        bench.wire.spy = lambda *_: bench.wire.freeze()
        await asyncio.sleep(THIRD + 1)
        handing = asyncio.create_task(bench.heartbeat.hand_over([delivery]))
        await asyncio.sleep(1)
        bench.wire.thaw()
        await handing
        assert delivery.lease_lost


async def test_what_was_never_held_is_handed_over_as_it_was_lent(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        assert await bench.heartbeat.hand_over([delivery]) == [delivery.lease]


async def test_a_verdict_that_waits_is_not_called_lost(harness: Harness) -> None:
    """Its settle may have taken effect though the answer was lost: the store's fence decides."""
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        delivery.verdict = Completed(b"1")
        bench.heartbeat.hold([delivery])
        await harness.broker.retire(delivery.lease.owner, crashed=False)
        await asyncio.sleep(2 * LEASE)
        assert (bench.lost, delivery.lease_lost) == ([], False)
        (lease,) = await bench.heartbeat.hand_over([delivery])
        assert lease.state is LeaseState.LOST


# --- claims ---------------------------------------------------------------------------------------------


async def test_where_there_is_a_claim_the_brokers_word_makes_nothing_lost(loose: Harness) -> None:
    async with beating(loose) as bench:
        delivery = await bench.delivery()
        await bench.claim(delivery)
        bench.heartbeat.hold([delivery])
        await loose.broker.give_back([GiveBack(delivery.lease)])
        await asyncio.sleep(3 * LEASE)
        assert bench.lost == []


async def test_a_claim_that_is_gone_is_a_lost_lease_whatever_the_broker_says(loose: Harness) -> None:
    async with beating(loose) as bench:
        delivery = await bench.delivery()
        token = await bench.claim(delivery)
        bench.heartbeat.hold([delivery])
        await loose.state.ledger.release([token])
        await asyncio.sleep(LEASE)
        assert bench.lost == [delivery]


async def test_claims_are_renewed_while_the_broker_is_away(loose: Harness) -> None:
    async with beating(loose) as bench:
        delivery = await bench.delivery()
        token = await bench.claim(delivery)
        bench.heartbeat.hold([delivery])
        bench.wire.away("broker.*")
        await asyncio.sleep(5 * LEASE)
        rival = ClaimRequest(token.scope, "another", loose.stranger(), LEASE, "digest")
        (answer,) = await loose.state.ledger.claim([rival])
        assert not isinstance(answer, Fresh), "somebody else may run it now"
        assert bench.lost == []


async def test_the_newest_receipt_is_kept_though_the_ledger_is_away(loose: Harness) -> None:
    """Where a touch replaces the receipt, losing it would make the settle fail."""
    async with beating(loose) as bench:
        delivery = await bench.delivery()
        await bench.claim(delivery)
        bench.heartbeat.hold([delivery])
        bench.wire.away("ledger.*")
        await asyncio.sleep(THIRD + 1)
        (lease,) = await bench.heartbeat.hand_over([delivery])
        assert lease.deadline > delivery.lease.deadline
        assert bench.failed == [1]


# --- max_hold -------------------------------------------------------------------------------------------


async def test_max_hold_of_the_task_is_told_once(harness: Harness) -> None:
    app = Tenure("memory://")

    @app.task(max_hold=50)
    async def work() -> None: ...

    async with beating(harness) as bench:
        delivery = await bench.delivery()
        delivery.task = work
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(49.9)
        assert bench.overheld == []
        await asyncio.sleep(0.2)
        assert bench.overheld == [delivery]
        await asyncio.sleep(200)
        assert bench.overheld == [delivery]


async def test_max_hold_of_the_message_beats_that_of_its_task(harness: Harness) -> None:
    app = Tenure("memory://")

    @app.task(max_hold=50)
    async def work() -> None: ...

    async with beating(harness) as bench:
        delivery = await bench.delivery()
        delivery.task = work
        message = decode(delivery.lease.envelope)
        overrides = msgspec.structs.replace(message.overrides, max_hold_seconds=5.0)
        delivery.message = msgspec.structs.replace(message, overrides=overrides)
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(5.1)
        assert bench.overheld == [delivery]


async def test_while_one_waits_for_its_place_max_hold_does_not_begin(harness: Harness) -> None:
    app = Tenure("memory://")

    @app.task(max_hold=50)
    async def work() -> None: ...

    async with beating(harness) as bench:
        delivery = await bench.delivery()
        delivery.task = work
        bench.heartbeat.hold([delivery], begun=False)
        await asyncio.sleep(200)
        assert (bench.overheld, bench.lost) == ([], [])
        assert len(bench.touched) > 3, "its lease is kept meanwhile"
        bench.heartbeat.begin(delivery, is_renewed=True)
        await asyncio.sleep(49.9)
        assert bench.overheld == []
        await asyncio.sleep(0.2)
        assert bench.overheld == [delivery]


async def test_one_that_is_lost_does_not_begin(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.begin(delivery, is_renewed=True)
        assert len(bench.heartbeat) == 0
