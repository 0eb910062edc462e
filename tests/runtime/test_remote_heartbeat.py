"""Leases in the supervisor's keeping: the worker's side and the supervisor's, over a line of bytes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from tenure import BrokerUnavailable, LeaseLost
from tenure.envelope import decode
from tenure.lease import LeaseState
from tenure.message import Overrides
from tenure.runtime.delivery import Delivery
from tenure.runtime.processes.frames import Frame, encode
from tenure.runtime.supervisor.lease_keeper import LeaseKeeper
from tenure.runtime.supervisor.protocol import News, from_worker, to_worker
from tenure.runtime.supervisor.remote_heartbeat import RemoteHeartbeat
from tenure.runtime.supervisor.supervisor_link import SupervisorLink
from tenure.settlement import GiveBack
from tenure.testing.harness import Harness
from tenure.verdict import Completed

from .beating import LEASE, THIRD, Bench

_HEADER = 4


class Line:
    """Both ends of the line; what is said arrives a little later, as bytes."""

    def __init__(self) -> None:
        self.keeping: LeaseKeeper | None = None
        self.on_news: Callable[[News], None] = lambda _: None
        self.frames: list[Frame] = []

    def subscribe(self, on_news: Callable[[News], None]) -> None:
        self.on_news = on_news

    def tell(self, frame: Frame) -> None:
        """From the worker."""
        self.frames.append(frame)
        asyncio.get_running_loop().call_later(0.001, self._arrive, encode(frame)[_HEADER:])

    def _arrive(self, data: bytes) -> None:
        assert self.keeping is not None
        self.keeping.hear(cast("Any", from_worker.decode(data)))

    def answer(self, frame: Frame) -> None:
        """From the supervisor."""
        asyncio.get_running_loop().call_later(
            0.001, lambda data: self.on_news(cast("News", to_worker.decode(data))), encode(frame)[_HEADER:]
        )


class Entrusted(Bench):
    """As the heartbeat's own bench; what is touched is touched by the supervisor."""

    def __init__(self, harness: Harness) -> None:
        super().__init__(harness)
        self.line = Line()
        broker, ledger = self.wire.broker, self.wire.state.ledger
        self.keeping = self.line.keeping = LeaseKeeper(broker, ledger, harness.clock, self.line.answer)
        self.heartbeat = RemoteHeartbeat(
            cast("SupervisorLink", self.line),
            harness.broker,
            harness.state.ledger,
            harness.clock,
            on_lost=self.lost.append,
            on_overheld=self.overheld.append,
            on_failed=lambda ids, _error: self.failed.append(len(ids)),
        )


@asynccontextmanager
async def entrusting(harness: Harness) -> AsyncIterator[Entrusted]:
    bench = Entrusted(harness)
    jobs = [asyncio.create_task(bench.keeping.run()), asyncio.create_task(bench.heartbeat.run())]
    await asyncio.sleep(0)
    yield bench
    assert not any(job.done() for job in jobs)
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)


async def _lose(bench: Bench, delivery: Delivery) -> None:
    """Behind everybody's back."""
    await bench.harness.broker.give_back([GiveBack(delivery.lease, 0.0)])


async def test_the_supervisor_beats_and_the_worker_never_does(harness: Harness) -> None:
    async with entrusting(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(3.5 * THIRD)
        assert len(bench.touched) == 3
        assert bench.heartbeat.stats(delivery).extension_count == 3
        assert bench.heartbeat.deadline(delivery) > harness.clock.monotonic() + 2 * THIRD - 1


async def test_what_is_handed_over_is_the_latest_lease_whole_and_nobody_beats_for_it_any_more(harness: Harness) -> None:
    async with entrusting(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(1.5 * THIRD)
        (lease,) = await bench.heartbeat.hand_over([delivery])
        assert lease.deadline > delivery.lease.deadline
        assert (lease.envelope, lease.fence) == (delivery.lease.envelope, delivery.lease.fence)
        assert len(bench.heartbeat) == 0
        await asyncio.sleep(LEASE)
        assert len(bench.touched) == 1


async def test_envelopes_stay_with_the_worker(harness: Harness) -> None:
    async with entrusting(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        assert len(encode(bench.line.frames[0])) < 400
        assert delivery.lease.envelope not in encode(bench.line.frames[0])


async def test_a_hand_over_waits_for_a_beat_under_way(harness: Harness) -> None:
    async with entrusting(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        bench.wire.spy = lambda *_: bench.wire.freeze()
        await asyncio.sleep(1.1 * THIRD)
        handing = asyncio.create_task(bench.heartbeat.hand_over([delivery]))
        await asyncio.sleep(5)
        assert not handing.done()
        bench.wire.thaw()
        (lease,) = await handing
        assert lease.deadline > delivery.lease.deadline


async def test_a_lost_lease_is_told_to_the_worker(harness: Harness) -> None:
    async with entrusting(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        await _lose(bench, delivery)
        await asyncio.sleep(1.1 * THIRD)
        assert bench.lost == [delivery]
        assert delivery.lease_lost
        assert await bench.heartbeat.hand_over([delivery]) == [delivery.lease]


async def test_one_whose_settle_waits_is_not_told_lost_the_fence_decides(harness: Harness) -> None:
    async with entrusting(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        delivery.verdict = Completed(b"1")
        await _lose(bench, delivery)
        await asyncio.sleep(1.1 * THIRD)
        assert bench.lost == []
        assert not delivery.lease_lost
        (lease,) = await bench.heartbeat.hand_over([delivery])
        assert (lease.state, lease.fence) == (LeaseState.LOST, delivery.fence)


async def test_claims_are_renewed_too(loose: Harness) -> None:
    async with entrusting(loose) as bench:
        delivery = await bench.delivery()
        token = await bench.claim(delivery)
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(1.5 * LEASE)
        assert await loose.state.ledger.renew([token]) == [True]
        await loose.state.ledger.release([token])
        await asyncio.sleep(THIRD)
        assert bench.lost == [delivery]


async def test_a_touch_is_done_at_once_and_a_late_one_is_refused(harness: Harness) -> None:
    async with entrusting(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        await bench.heartbeat.touch_now(delivery, 100.0)
        assert bench.heartbeat.deadline(delivery) > harness.clock.monotonic() + 99
        bench.wire.away("broker.touch")
        with pytest.raises(BrokerUnavailable):
            await bench.heartbeat.touch_now(delivery, None)
        assert bench.failed == [1]
        bench.wire.back()
        await _lose(bench, delivery)
        with pytest.raises(LeaseLost):
            await bench.heartbeat.touch_now(delivery, None)
        with pytest.raises(LeaseLost):
            await bench.heartbeat.touch_now(delivery, None)


async def test_what_was_cancelled_is_found_when_it_is_looked_for(harness: Harness) -> None:
    async with entrusting(harness) as bench:
        kept, cancelled = [await bench.delivery() for _ in range(2)]
        bench.heartbeat.hold([kept, cancelled])
        await asyncio.sleep(1)
        await harness.broker.cancel([cancelled.id])
        bench.heartbeat.check_now()
        await asyncio.sleep(0.1)
        assert bench.lost == [cancelled]


async def test_what_was_cancelled_is_looked_for_by_its_id(harness: Harness) -> None:
    async with entrusting(harness) as bench:
        kept, cancelled = [await bench.delivery() for _ in range(2)]
        bench.heartbeat.hold([kept, cancelled])
        await asyncio.sleep(1)
        await harness.broker.cancel([cancelled.id])
        bench.heartbeat.check_now(frozenset({"another worker's"}))
        await asyncio.sleep(0.1)
        assert bench.lost == []
        bench.heartbeat.check_now(frozenset({cancelled.id}))
        await asyncio.sleep(0.1)
        assert bench.lost == [cancelled]


async def test_max_hold_is_watched_by_the_worker(harness: Harness) -> None:
    async with entrusting(harness) as bench:
        delivery = await bench.delivery(overrides=Overrides(max_hold_seconds=25.0))
        delivery.message = decode(delivery.lease.envelope)
        bench.heartbeat.hold([delivery], begun=False)
        await asyncio.sleep(60)
        assert bench.overheld == []
        bench.heartbeat.begin(delivery, is_renewed=delivery.is_renewed)
        await asyncio.sleep(26)
        assert bench.overheld == [delivery]


async def test_nobody_beats_for_a_frozen_worker_and_what_is_due_goes_first_when_it_wakes(harness: Harness) -> None:
    async with entrusting(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(1)
        bench.keeping.freeze()
        await asyncio.sleep(2 * LEASE)
        assert bench.touched == []
        bench.keeping.thaw()
        await asyncio.sleep(0.1)
        assert len(bench.touched) == 1


async def test_a_check_waits_while_the_worker_is_frozen(harness: Harness) -> None:
    async with entrusting(harness) as bench:
        delivery = await bench.delivery()
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(1)
        bench.keeping.freeze()
        bench.heartbeat.check_now()
        await asyncio.sleep(2 * LEASE)
        assert bench.touched == []
        bench.keeping.thaw()
        await asyncio.sleep(0.1)
        assert len(bench.touched) == 1


async def test_where_nobody_renews_the_supervisor_does_not_and_says_when_it_is_over(harness: Harness) -> None:
    async with entrusting(harness) as bench:
        delivery = await bench.delivery()
        delivery.is_renewed = False
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(LEASE - 0.5)
        assert bench.touched == []
        assert bench.lost == []
        await asyncio.sleep(1.0)
        assert bench.lost == [delivery]
        assert delivery.lease_lost


async def test_one_that_waits_for_a_place_is_renewed_until_it_begins(harness: Harness) -> None:
    async with entrusting(harness) as bench:
        delivery = await bench.delivery()
        delivery.is_renewed = False
        bench.heartbeat.hold([delivery], begun=False)
        await asyncio.sleep(2.5 * LEASE)
        beats = len(bench.touched)
        assert beats >= 6
        bench.heartbeat.begin(delivery, is_renewed=delivery.is_renewed)
        await asyncio.sleep(LEASE - 0.5)
        assert bench.lost == []
        assert len(bench.touched) == beats + 1, "it has the whole lease, by one touch"
        await asyncio.sleep(1.0)
        assert bench.lost == [delivery]


async def test_the_first_beat_is_due_when_the_worker_learned_it_is(harness: Harness) -> None:
    async with entrusting(harness) as bench:
        delivery = await bench.delivery()
        delivery.first_beat = 2 * THIRD
        bench.heartbeat.hold([delivery])
        await asyncio.sleep(1.9 * THIRD)
        assert bench.touched == []
        await asyncio.sleep(0.3 * THIRD)
        assert len(bench.touched) == 1


async def test_where_nobody_renews_the_supervisor_still_does_while_its_settle_waits(harness: Harness) -> None:
    """It is done, and the store is away: a lease that ends now would have it run again."""
    async with entrusting(harness) as bench:
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
