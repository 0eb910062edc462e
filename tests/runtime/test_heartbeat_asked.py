"""The heartbeat, asked for a touch: by a handler, by a cancel, and where nobody renews."""

import asyncio
from typing import Any

import pytest

from tenure import BrokerUnavailable, LeaseLost
from tenure.claim import ClaimRequest, Fresh
from tenure.lease import LeaseState
from tenure.testing.harness import Harness
from tenure.verdict import Completed

from .beating import LEASE, THIRD, beating

# --- ctx.touch ------------------------------------------------------------------------------------------


async def test_touch_renews_at_once(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(2)
        await bench.heartbeat.touch_now(delivery, None)
        assert bench.heartbeat.deadline(delivery) == pytest.approx(harness.clock.monotonic() + LEASE)


async def test_a_longer_touch_counts_once_and_is_not_shortened_by_later_beats(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        began = harness.clock.monotonic()
        await bench.heartbeat.touch_now(delivery, 300)
        await asyncio.sleep(2 * LEASE)
        assert bench.heartbeat.deadline(delivery) == pytest.approx(began + 300)
        (lease,) = await bench.heartbeat.hand_over([delivery])
        assert lease.seconds == LEASE


async def test_a_longer_touch_prolongs_the_claim_too(loose: Harness) -> None:
    async with beating(loose) as bench:
        delivery = await bench.delivery()
        token = await bench.claim(delivery)
        bench.heartbeat.hold([delivery])
        await bench.heartbeat.touch_now(delivery, 300)
        bench.wire.freeze()  # now it blocks the interpreter, as it said it would
        await asyncio.sleep(200)
        rival = ClaimRequest(token.scope, "another", loose.stranger(), LEASE, "digest")
        (answer,) = await loose.state.ledger.claim([rival])
        assert not isinstance(answer, Fresh)


async def test_a_touch_during_a_beat_is_not_answered_by_that_beat(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        bench.wire.spy = lambda *_: bench.wire.freeze()
        await asyncio.sleep(THIRD + 1)
        touching = asyncio.create_task(bench.heartbeat.touch_now(delivery, 300))
        await asyncio.sleep(1)
        bench.wire.spy = lambda *_: None
        bench.wire.thaw()
        await touching
        assert bench.heartbeat.deadline(delivery) == pytest.approx(harness.clock.monotonic() + 300, abs=1)


async def test_touching_a_lost_lease_says_so(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        await harness.broker.retire(delivery.lease.owner, crashed=False)
        with pytest.raises(LeaseLost):
            await bench.heartbeat.touch_now(delivery, None)
        with pytest.raises(LeaseLost):
            await bench.heartbeat.touch_now(delivery, None)


async def test_a_touch_says_when_the_broker_is_away(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        bench.wire.away()
        with pytest.raises(BrokerUnavailable):
            await bench.heartbeat.touch_now(delivery, None)


async def test_a_handler_that_gives_up_on_its_touch_does_no_harm(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        bench.wire.freeze()
        touching = asyncio.create_task(bench.heartbeat.touch_now(delivery, None))
        await asyncio.sleep(1)
        touching.cancel()
        await asyncio.gather(touching, return_exceptions=True)
        bench.wire.thaw()
        await asyncio.sleep(LEASE)
        assert bench.heartbeat.stats(delivery).extension_count >= 3


async def test_whoever_waits_for_a_touch_is_told_when_the_run_is_ended(harness: Harness) -> None:
    """A thread that was left would wait for ever, and keep its slot."""
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        touching = asyncio.create_task(bench.heartbeat.touch_now(delivery, None))
        await asyncio.sleep(0)  # it has asked, and the heartbeat has not looked yet
        await bench.heartbeat.hand_over([delivery])
        with pytest.raises(LeaseLost):
            async with asyncio.timeout(5):
                await touching


# --- checking at once -----------------------------------------------------------------------------------


async def test_a_check_beats_for_everything_at_once(harness: Harness) -> None:
    async with beating(harness) as bench:
        deliveries = [await bench.delivery(seconds=seconds) for seconds in (30.0, 600.0)]
        bench.heartbeat.hold(deliveries)
        await asyncio.sleep(1)
        await harness.broker.cancel([deliveries[1].id])
        asked_at = harness.clock.monotonic()
        bench.heartbeat.check_now()
        await asyncio.sleep(0.01)
        assert bench.touched == [(asked_at, [delivery.id for delivery in deliveries])]
        assert bench.lost == [deliveries[1]]
        await asyncio.sleep(THIRD)
        assert len(bench.touched) == 2, "the other one goes on as before"


async def test_a_check_of_some_touches_no_others(harness: Harness) -> None:
    async with beating(harness) as bench:
        deliveries = [await bench.delivery(seconds=600.0) for _ in range(3)]
        bench.heartbeat.hold(deliveries)
        await asyncio.sleep(1)
        await harness.broker.cancel([deliveries[1].id])
        bench.heartbeat.check_now(frozenset({deliveries[1].id, deliveries[2].id, "held by another worker"}))
        await asyncio.sleep(0.01)
        assert [ids for _, ids in bench.touched] == [[deliveries[1].id, deliveries[2].id]]
        assert bench.lost == [deliveries[1]]
        bench.heartbeat.check_now(frozenset({"held by another worker"}))
        await asyncio.sleep(1)
        assert len(bench.touched) == 1, "nothing of ours was named"


async def test_a_check_of_all_after_one_of_some_is_of_all(harness: Harness) -> None:
    async with beating(harness) as bench:
        deliveries = [await bench.delivery(seconds=600.0) for _ in range(3)]
        bench.heartbeat.hold(deliveries)
        await asyncio.sleep(1)
        bench.heartbeat.check_now(frozenset({deliveries[1].id}))
        bench.heartbeat.check_now()
        bench.heartbeat.check_now(frozenset({deliveries[0].id}))
        await asyncio.sleep(0.01)
        assert [ids for _, ids in bench.touched] == [[delivery.id for delivery in deliveries]]


async def test_a_check_of_some_after_one_of_others_is_of_both(harness: Harness) -> None:
    async with beating(harness) as bench:
        deliveries = [await bench.delivery(seconds=600.0) for _ in range(3)]
        bench.heartbeat.hold(deliveries)
        await asyncio.sleep(1)
        bench.heartbeat.check_now(frozenset({deliveries[0].id}))
        bench.heartbeat.check_now(frozenset({deliveries[2].id}))
        await asyncio.sleep(0.01)
        assert [ids for _, ids in bench.touched] == [[deliveries[0].id, deliveries[2].id]]


async def test_a_check_of_some_goes_along_with_what_is_due(harness: Harness) -> None:
    async with beating(harness) as bench:
        due, named = await bench.delivery(), await bench.delivery(seconds=600.0)
        bench.heartbeat.hold([due, named])
        await asyncio.sleep(THIRD - 0.001)
        bench.heartbeat.check_now(frozenset({due.id, named.id}))
        await asyncio.sleep(1)
        assert sorted(id for _, ids in bench.touched for id in ids) == sorted([due.id, named.id]), "each once"


async def test_a_check_during_a_beat_is_a_beat_of_its_own(harness: Harness) -> None:
    """The one under way was perhaps asked before the cancel."""
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        original = harness.broker.touch

        async def slow(leases: Any) -> Any:
            answer = await original(leases)
            await asyncio.sleep(1)
            return answer

        harness.broker.touch = slow  # type: ignore[method-assign]
        await asyncio.sleep(THIRD + 0.5)
        await harness.broker.cancel([delivery.id])
        bench.heartbeat.check_now()
        await asyncio.sleep(2)
        assert bench.lost == [delivery]


async def test_a_check_with_nothing_held_does_nothing(harness: Harness) -> None:
    async with beating(harness) as bench:
        bench.heartbeat.check_now()
        await asyncio.sleep(1)
        bench.heartbeat.hold([await bench.delivery()])
        await asyncio.sleep(1)
        assert bench.touched == []


async def test_where_nobody_renews_it_is_renewed_all_the_same_while_its_settle_waits(harness: Harness) -> None:
    """It is done, and the store is away: a lease that ends now would have it run again."""
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        delivery.is_renewed = False
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(THIRD)
        delivery.verdict = Completed(b"1")
        (delivery.lease,) = await bench.heartbeat.hand_over([delivery])
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(3 * LEASE)
        assert len(bench.touched) >= 6
        (lease,) = await bench.heartbeat.hand_over([delivery])
        assert not lease.has_expired(harness.clock.monotonic())


async def test_where_nobody_renews_what_is_done_and_waits_for_its_turn_to_be_settled_is_kept(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        delivery.is_renewed = False
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(THIRD)
        delivery.verdict = Completed(b"1")  # the outbox is busy with others
        await asyncio.sleep(3 * LEASE)
        assert len(bench.touched) >= 6
        (lease,) = await bench.heartbeat.hand_over([delivery])
        assert lease.state is LeaseState.HELD
        assert not lease.has_expired(harness.clock.monotonic())


async def test_a_touch_never_makes_a_claim_shorter_that_lasts_longer_than_the_lease(loose: Harness) -> None:
    """The broker has lent it to somebody else meanwhile, who asks the ledger and is told to wait."""
    async with beating(loose) as bench:
        delivery = await bench.delivery()
        await bench.claim(delivery)
        delivery.is_renewed = False
        asked: list[float] = []
        bench.wire.spy = lambda name, words: asked.append(words[0][0].seconds) if name == "ledger.renew" else None
        bench.heartbeat.hold([delivery])
        held = bench.heartbeat._held[delivery]
        held.lapses = loose.clock.monotonic() + 500.0
        await bench.heartbeat.touch_now(delivery, 1.0)
        assert asked == [pytest.approx(500.0, abs=1.0)]
        held.lapses = loose.clock.monotonic() + 500.0
        bench.heartbeat.check_now()
        await asyncio.sleep(1)
        assert asked[1] == pytest.approx(500.0, abs=1.0)
