"""Many queues: which is asked when, what that costs, and that none waits for another. In virtual time, counted."""

import asyncio
from collections import Counter
from collections.abc import Collection
from typing import Self

import pytest

from tenure.adapters.aws.options import Options
from tenure.adapters.aws.sqs import delivery_traits
from tenure.delivery_queue import CopyReceipt, PhysicalQueue, ReceivedCopy
from tenure.errors import BrokerUnavailable
from tenure.rowstore.poll_rhythm import BOUND_SECONDS, FIRST_SECONDS, Rhythm
from tenure.rowstore.prefetch import CALLS, Prefetch
from tenure.simulation import prices
from tenure.testing.virtual import VirtualClock

ONE, TWO = PhysicalQueue("one", 0), PhysicalQueue("two", 0)
MONTH = 30 * 86_400.0


class Sqs:
    """Queues that hold numbers; a receive waits as long as it is asked to, in virtual time, and is counted."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.traits = delivery_traits(Options(region="eu-west-1"))
        self.calls: Counter[PhysicalQueue] = Counter()
        self.put_back = 0
        self.under_way = self.most = 0
        self.broken: set[PhysicalQueue] = set()
        self._here: dict[PhysicalQueue, int] = {}
        self._came = asyncio.Event()

    def put(self, spot: PhysicalQueue, count: int = 1) -> None:
        self._here[spot] = self._here.get(spot, 0) + count
        self._came.set()
        self._came = asyncio.Event()

    async def receive(self, spot: PhysicalQueue, want: int, visibility: int, wait: float = 0.0) -> list[ReceivedCopy]:
        self.calls[spot] += 1
        if spot in self.broken:
            raise BrokerUnavailable("it is away")
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        until = self.clock.monotonic() + wait
        try:
            while not self._here.get(spot) and (left := until - self.clock.monotonic()) > 0:
                try:
                    async with asyncio.timeout(left):
                        await self._came.wait()
                except TimeoutError:
                    break
        finally:
            self.under_way -= 1
        count = min(want, self._here.get(spot, 0))
        self._here[spot] = self._here.get(spot, 0) - count
        return [ReceivedCopy(spot, None, "", str(n), "", None, 1, until + visibility) for n in range(count)]

    async def hide(self, receipts: Collection[CopyReceipt]) -> list[str | None]:
        self.put_back += len(receipts)
        return [receipt.receipt for receipt in receipts]


class Worker:
    """Leases and waits as intake does; notes when each message was lent."""

    def __init__(self, clock: VirtualClock, count: int) -> None:
        self.clock = clock
        self.sqs = Sqs(clock)
        self.prefetch = Prefetch(self.sqs, clock, is_virtual=False)  # type: ignore[arg-type]
        self.served = dict.fromkeys(PhysicalQueue(f"q{number}", 0) for number in range(count))
        self.lent: list[tuple[float, PhysicalQueue]] = []
        self.loop: asyncio.Task[None] | None = None

    async def _served(self) -> Collection[PhysicalQueue]:
        return self.served

    async def run(self) -> None:
        while True:
            copies = await self.prefetch.lend(self.served, 10, 40)
            self.lent += [(self.clock.monotonic(), copy.physical) for copy in copies]
            if not copies:
                await self.prefetch.wait_among(self._served, 5.0)
            else:
                await asyncio.sleep(0.01)

    async def __aenter__(self) -> Self:
        self.loop = asyncio.create_task(self.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self.loop is not None
        self.loop.cancel()
        await asyncio.gather(self.loop, return_exceptions=True)
        await self.prefetch.close()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def test_an_empty_queue_is_asked_more_and_more_rarely_up_to_a_bound() -> None:
    rhythm, now, pauses = Rhythm(), 100.0, []
    for _ in range(6):
        rhythm.ended(ONE, now, now, 0, 10)
        pauses.append(rhythm.next_due([ONE], now) - now)
        now += pauses[-1]
    assert pauses == [FIRST_SECONDS, 10.0, 20.0, BOUND_SECONDS, BOUND_SECONDS, BOUND_SECONDS]


def test_a_queue_that_brought_something_is_due_at_once_and_a_full_one_is_asked_first() -> None:
    rhythm = Rhythm()
    rhythm.ended(ONE, 1.0, 1.0, 3, 10)
    rhythm.ended(TWO, 1.0, 1.0, 10, 10)
    assert list(rhythm.due([ONE, TWO], 1.0)) == [ONE], "a lease call asks the other one"
    assert rhythm.hot([ONE, TWO], (), 10, 1.0) == [TWO]
    assert rhythm.hot([ONE, TWO], [TWO], 10, 1.0) == []


def test_what_this_process_sent_with_a_delay_is_due_when_it_can_be_seen() -> None:
    rhythm = Rhythm()
    for now in (0.0, 5.0, 15.0):
        rhythm.ended(ONE, now, now, 0, 10)
    rhythm.heard(ONE, 20.0, 16.0)
    assert not list(rhythm.due([ONE], 19.9))
    assert list(rhythm.due([ONE], 20.0)) == [ONE]
    assert rhythm.hot([ONE], (), 10, 19.9) == []
    assert rhythm.hot([ONE], (), 10, 20.0) == [ONE]


@pytest.mark.parametrize(("count", "calls_a_second"), [(100, 100 / 30), (1000, 1000 / 30)])
async def test_an_idle_worker_costs_one_call_for_each_queue_in_thirty_seconds(
    clock: VirtualClock, count: int, calls_a_second: float
) -> None:
    async with Worker(clock, count) as worker:
        await asyncio.sleep(120)
        worker.sqs.calls.clear()
        await asyncio.sleep(300)
        calls = worker.sqs.calls.total() / 300
        assert calls == pytest.approx(calls_a_second, rel=0.1)
        assert worker.sqs.most <= CALLS
        assert len(worker.sqs.calls) == count, "every queue has its turn"
    month = calls * MONTH
    assert prices.dollars({"ReceiveMessage": month}, prices.SQS) == pytest.approx(0.03456 * count, rel=0.1)


async def test_a_message_in_a_queue_that_was_idle_for_long_is_lent_within_the_bound(clock: VirtualClock) -> None:
    async with Worker(clock, 1000) as worker:
        await asyncio.sleep(300)
        spots = list(worker.served)[::100]
        began = clock.monotonic()
        for spot in spots:
            worker.sqs.put(spot)
        await asyncio.sleep(BOUND_SECONDS + 5)
        assert sorted(spot.queue for _, spot in worker.lent) == sorted(spot.queue for spot in spots)
        assert max(at for at, _ in worker.lent) - began <= BOUND_SECONDS + 1


async def test_a_busy_queue_does_not_hide_the_others(clock: VirtualClock) -> None:
    async with Worker(clock, 50) as worker:
        busy, *others = worker.served
        worker.sqs.put(busy, 100_000)
        await asyncio.sleep(60)
        assert worker.lent
        began = clock.monotonic()
        for spot in others:
            worker.sqs.put(spot)
        await asyncio.sleep(BOUND_SECONDS + 1)
        seen = {spot: at for at, spot in worker.lent if spot != busy}
        assert set(seen) == set(others)
        assert max(seen.values()) - began <= BOUND_SECONDS + 1


async def test_a_full_queue_among_many_costs_a_call_for_ten_messages(clock: VirtualClock) -> None:
    async with Worker(clock, 200) as worker:
        await asyncio.sleep(300)
        busy = next(iter(worker.served))
        worker.sqs.calls.clear()
        worker.sqs.put(busy, 2000)
        await asyncio.sleep(60)
        assert len(worker.lent) == 2000
        assert worker.sqs.calls[busy] <= 2000 / 10 * 1.1


async def test_a_drain_of_many_full_queues_costs_a_call_for_nearly_ten_messages(clock: VirtualClock) -> None:
    async with Worker(clock, 200) as worker:
        for spot in worker.served:
            worker.sqs.put(spot, 40)
        await asyncio.sleep(9.0)
        assert len(worker.lent) == 200 * 40
        assert not worker.sqs.put_back
        assert worker.sqs.calls.total() <= 200 * 6  # four full ones; one in the beginning and one at the end are not


async def test_one_queue_that_cannot_be_asked_does_not_stop_the_others(clock: VirtualClock) -> None:
    async with Worker(clock, 20) as worker:
        broken, other, *_ = worker.served
        worker.sqs.broken.add(broken)
        await asyncio.sleep(60)
        worker.sqs.put(other)
        await asyncio.sleep(BOUND_SECONDS + 1)
        assert [spot for _, spot in worker.lent] == [other]
        worker.sqs.broken.clear()
        worker.sqs.put(broken)
        await asyncio.sleep(BOUND_SECONDS + 1)
        assert [spot for _, spot in worker.lent] == [other, broken]


async def test_where_no_queue_answers_the_worker_is_told(clock: VirtualClock) -> None:
    worker = Worker(clock, 10)
    worker.sqs.broken.update(worker.served)
    with pytest.raises(BrokerUnavailable):
        await worker.prefetch.wait_among(worker._served, 60.0)
    await worker.prefetch.close()


async def test_a_queue_to_which_this_process_sends_is_asked_at_once(clock: VirtualClock) -> None:
    async with Worker(clock, 1000) as worker:
        await asyncio.sleep(300)
        spot = list(worker.served)[500]
        worker.sqs.put(spot)
        began = clock.monotonic()
        worker.prefetch.heard([spot])
        await asyncio.sleep(BOUND_SECONDS)
        ((at, lent),) = worker.lent
        assert lent == spot
        assert at - began <= 3.0
