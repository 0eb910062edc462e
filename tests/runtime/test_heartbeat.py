"""The heartbeat: sole keeper of the latest lease of everything in flight."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from tenure import BrokerUnavailable, LeaseLost, Tenure
from tenure.claim import ClaimRequest, Fresh, Scope, Token
from tenure.envelope import decode
from tenure.lease import Lease, LeaseState
from tenure.runtime.delivery import Delivery
from tenure.runtime.heartbeat import BeatStats, Heartbeat
from tenure.settlement import GiveBack
from tenure.testing.harness import Harness
from tenure.testing.wire import Wire
from tenure.verdict import Completed

LEASE = 30.0
THIRD = LEASE / 3


class Bench:
    """A running heartbeat, and what it said."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.wire = Wire(harness.broker, harness.state)
        self.wire.spy = self._spy
        self.lost: list[Delivery] = []
        self.overheld: list[Delivery] = []
        self.failed: list[int] = []
        #: When each touch was said, and what for.
        self.touched: list[tuple[float, list[str]]] = []
        self.heartbeat = Heartbeat(
            self.wire.broker, self.wire.state.ledger, harness.clock,
            on_lost=self.lost.append, on_overheld=self.overheld.append,
            on_failed=lambda count, _error: self.failed.append(count),
        )  # fmt: skip
        self.owner = harness.stranger()

    def _spy(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name == "broker.touch":
            leases: list[Lease] = arguments[0]
            self.touched.append((self.harness.clock.monotonic(), [lease.id for lease in leases]))

    async def delivery(self, *, seconds: float = LEASE, **fields: Any) -> Delivery:
        return Delivery(await self.harness.leased(self.owner, seconds=seconds, **fields))

    async def claim(self, delivery: Delivery) -> Token:
        delivery.message = decode(delivery.lease.envelope)
        scope = Scope.of(delivery.message)
        request = ClaimRequest(scope, delivery.id, self.owner, delivery.lease.seconds, "digest")
        (answer,) = await self.harness.state.ledger.claim([request])
        assert isinstance(answer, Fresh)
        delivery.token = answer.token
        return answer.token


@asynccontextmanager
async def beating(harness: Harness) -> AsyncIterator[Bench]:
    bench = Bench(harness)
    task = asyncio.create_task(bench.heartbeat.run())
    await asyncio.sleep(0)
    yield bench
    assert not task.done(), f"the heartbeat has died: {task.exception()!r}"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


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
        assert bench.heartbeat.stats(delivery) == BeatStats(2, 2 * LEASE, None)
        bench.wire.away()
        await asyncio.sleep(THIRD)
        assert "away" in (bench.heartbeat.stats(delivery).last_error or "")
        await bench.heartbeat.hand_over([delivery])
        assert bench.heartbeat.stats(delivery) == BeatStats(is_running=False)


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
        bench.heartbeat.begin(delivery)
        await asyncio.sleep(49.9)
        assert bench.overheld == []
        await asyncio.sleep(0.2)
        assert bench.overheld == [delivery]


async def test_one_that_is_lost_does_not_begin(harness: Harness) -> None:
    async with beating(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.begin(delivery)
        assert len(bench.heartbeat) == 0


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
