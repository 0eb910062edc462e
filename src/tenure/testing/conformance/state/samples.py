"""Samples: how long runs took, written by every worker and read by every worker, the newest ones only."""

import asyncio

from tenure.sample import Ended, Sample
from tenure.state import KEPT_SAMPLES
from tenure.testing.harness import QUEUE, TASK, Harness


class Samples:
    """The promises of `Journal.sample` and `Journal.samples`."""

    async def test_there_are_none_at_first(self, harness: Harness) -> None:
        assert await harness.state.journal.samples(QUEUE, TASK) == []

    async def test_every_field_survives(self, harness: Harness) -> None:
        samples = [
            Sample("mäil", "send:now", 0.25, harness.clock.wall()),
            Sample("mäil", "send:now", 90.0, harness.clock.wall(), Ended.KILLED, 2_100_000_000, "x86_64 2"),
        ]
        await harness.state.journal.sample(samples)
        assert [one.sample for one in await harness.state.journal.samples("mäil", "send:now")] == samples

    async def test_they_are_read_in_the_order_in_which_they_were_told(self, harness: Harness) -> None:
        await _tell(harness, 1.0, 2.0)
        await _tell(harness, 3.0)
        assert await _seconds(harness) == [1.0, 2.0, 3.0]

    async def test_reading_goes_on_from_any_place(self, harness: Harness) -> None:
        await _tell(harness, *(float(number) for number in range(10)))
        places = [one.seq for one in await harness.state.journal.samples(QUEUE, TASK)]
        assert places == sorted(set(places))
        for number, place in enumerate(places):
            assert await _seconds(harness, after=place) == [float(one) for one in range(number + 1, 10)]
        await _tell(harness, 10.0)
        assert await _seconds(harness, after=places[-1]) == [10.0]

    async def test_pages_follow_one_another_without_gap_or_repeat(self, harness: Harness) -> None:
        await _tell(harness, *(float(number) for number in range(10)))
        read: list[float] = []
        place = 0
        while page := await harness.state.journal.samples(QUEUE, TASK, after=place, limit=4):
            assert len(page) <= 4
            assert page[0].seq > place, "the page repeats what was read"
            read += [one.sample.seconds for one in page]
            place = page[-1].seq
        assert read == [float(number) for number in range(10)]

    async def test_each_task_of_each_queue_has_its_own(self, harness: Harness) -> None:
        batch = [
            Sample(queue, task, number, harness.clock.wall())
            for number, (queue, task) in enumerate([("a", "b:c"), ("a:b", "c"), ("a", "b"), ("a", "b:c")])
        ]
        await harness.state.journal.sample(batch)
        assert await _seconds(harness, "a", "b:c") == [0.0, 3.0]
        assert await _seconds(harness, "a:b", "c") == [1.0]
        assert await _seconds(harness, "a", "b") == [2.0]

    async def test_the_newest_are_kept(self, harness: Harness) -> None:
        await harness.state.journal.sample([Sample(QUEUE, "rare", 1.0, harness.clock.wall())])
        for start in range(0, KEPT_SAMPLES + 200, 200):
            await _tell(harness, *(float(number) for number in range(start, start + 200)))
        kept = await _seconds(harness)
        assert kept == [float(number) for number in range(200, KEPT_SAMPLES + 200)]
        assert await _seconds(harness, task="rare") == [1.0]

    async def test_whoever_reads_on_after_some_were_dropped_gets_what_is_left(self, harness: Harness) -> None:
        await _tell(harness, 1.0)
        (first,) = await harness.state.journal.samples(QUEUE, TASK)
        for _ in range(3):
            await _tell(harness, *(float(number) for number in range(KEPT_SAMPLES // 2)))
        left = await harness.state.journal.samples(QUEUE, TASK, after=first.seq)
        assert len(left) == KEPT_SAMPLES
        last = left[-1].seq
        await _tell(harness, 7.0)
        assert await _seconds(harness, after=last) == [7.0]

    async def test_writers_at_once_lose_nothing(self, harness: Harness) -> None:
        await asyncio.gather(*(_tell(harness, *[float(writer)] * 5) for writer in range(4)))
        assert sorted(await _seconds(harness)) == [float(writer) for writer in range(4) for _ in range(5)]

    async def test_no_samples_are_no_sample(self, harness: Harness) -> None:
        await harness.state.journal.sample([])
        assert await _seconds(harness) == []

    async def test_they_are_no_events(self, harness: Harness) -> None:
        await _tell(harness, 1.0)
        assert await harness.state.journal.last() == 0

    async def test_they_outlive_the_connection(self, harness: Harness) -> None:
        await _tell(harness, 1.0)
        before = await harness.state.journal.samples(QUEUE, TASK)
        await harness.reopen()
        assert await harness.state.journal.samples(QUEUE, TASK) == before


async def _tell(harness: Harness, *seconds: float) -> None:
    await harness.state.journal.sample([Sample(QUEUE, TASK, one, harness.clock.wall()) for one in seconds])


async def _seconds(harness: Harness, queue: str = QUEUE, task: str = TASK, *, after: int = 0) -> list[float]:
    return [one.sample.seconds for one in await harness.state.journal.samples(queue, task, after=after)]
