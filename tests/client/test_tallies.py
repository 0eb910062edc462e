"""Tallies: what all workers counted, summed up for any window, by queue and by task, and as a course in time."""

import asyncio

import pytest

from tenure.client.tallies import OTHER, TallyReader
from tenure.runtime.background.rollup import Rollup
from tenure.tally import HOUR, MINUTE, TEN_SECONDS, Tally
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.workers import Stage
from tenure.timing import tallied
from tenure.timing.tallied import DEPTH_NONCE, Series
from tenure.verdict import Retry


def series(queue: str = "mail", task: str = "work", outcome: str = "completed", count: int = 1) -> Series:
    durations = {tallied.bucket_of(2.0): count}
    return Series(
        queue, task, outcome, count=count, runs=count, seconds=2.0 * count, durations=durations, leased=30.0 * count,
        deliveries=[count],
    )  # fmt: skip


class Bench:
    """Rows that processes stored, the newest one ten seconds ago."""

    def __init__(self, harness: Harness) -> None:
        self.journal = harness.state.journal
        self.harness = harness
        self.now = int(harness.state.wall() // HOUR) * HOUR + 2 * HOUR
        self.number = 0

    async def arrive(self) -> None:
        """It is `now`."""
        await asyncio.sleep(self.now - self.harness.state.wall())

    async def count(self, seconds_ago: float, *found: Series, nonce: str = "a") -> None:
        self.number += 1
        bucket = int((self.now - seconds_ago) // TEN_SECONDS) * TEN_SECONDS
        rows = [Tally(TEN_SECONDS, bucket, nonce, self.number, data) for data in tallied.encode(found)]
        await self.journal.tally(rows)

    async def depth(self, seconds_ago: float, *, running: dict[str, int] | None = None, **depths: int) -> None:
        at = self.now - seconds_ago
        data = tallied.encode_depths(at, depths, running)
        bucket = int(at // TEN_SECONDS) * TEN_SECONDS
        await self.journal.tally([Tally(TEN_SECONDS, bucket, DEPTH_NONCE, 0, data)])

    def reader(self) -> TallyReader:
        return TallyReader(self.harness.broker, self.harness.state)


async def test_figures_are_summed_over_workers(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        await bench.count(30, series(count=6), series(outcome="retried", count=2), nonce="a")
        await bench.count(20, series(count=4), series("other", "nap", count=1), nonce="b")
        await bench.arrive()
        view = await bench.reader().read(60.0)
        total, (mail, other) = view.total(), view.queues()
        assert (total.queue, total.counts) == (None, {"completed": 11, "retried": 2})
        assert (mail.queue, mail.counts, other.queue) == ("mail", {"completed": 10, "retried": 2}, "other")
        assert mail.rate_out == pytest.approx(10 / 60)
        assert mail.error_share == pytest.approx(2 / 12)
        assert mail.duration is not None
        assert mail.duration.p95 == pytest.approx(2.0, rel=0.04)
        assert (mail.duration.mean, mail.duration.count) == (2.0, 12)
        assert mail.lease_use == pytest.approx(2.0 / 30.0, rel=0.04)
        assert (mail.deliveries, mail.wait, mail.rate_in) == ((12, 0, 0, 0, 0), None, None)
        assert [(one.queue, one.task) for one in view.tasks()] == [("mail", "work"), ("other", "nap")]
        assert [one.queue for one in view.queues(queues=["o*"])] == ["other"]
        assert view.total(queues=["mail"]).counts == mail.counts


async def test_of_a_longer_view_the_last_seconds_can_be_asked_for(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        await bench.count(500, series(count=100))
        await bench.count(20, series(count=1))
        await bench.arrive()
        view = await bench.reader().read(600.0)
        assert [view.total(seconds).counts.get("completed") for seconds in (None, 60.0)] == [101, 1]
        assert view.total(60.0).rate_out == pytest.approx(1 / 60)


async def test_the_rate_in_is_the_change_of_depth_and_the_rate_out(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        await bench.depth(65, mail=10, full=5)
        await bench.count(30, series(count=60))
        await bench.depth(5, mail=40, full=5, fresh=6)
        await bench.arrive()
        view = await bench.reader().read(60.0)
        found = {one.queue: one for one in view.queues()}
        assert found["mail"].rate_in == pytest.approx((30 + 60) / 60)
        assert (found["full"].rate_in, found["full"].rate_out) == (0.0, 0.0)
        assert found["fresh"].rate_in == pytest.approx(0.1)
        assert view.total().rate_in == pytest.approx((36 + 60) / 60)
        assert all(one.rate_in is None for one in view.tasks())


async def test_without_a_known_depth_there_is_no_rate_in(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        await bench.depth(600, mail=10)
        await bench.count(30, series(count=60))
        await bench.depth(5, mail=40)
        await bench.arrive()
        (mail,) = (await bench.reader().read(60.0)).queues()
        assert mail.rate_in is None


async def test_points_show_the_course_also_where_nothing_happened(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        await bench.count(290, series(count=3))
        await bench.count(10, series(count=9), series("other", count=1))
        await bench.depth(15, mail=7)
        await bench.arrive()
        view = await bench.reader().read(300.0)
        points = view.points(60, queue="mail")
        assert [point.at for point in points] == list(range(view.since, view.until, 60))
        assert [point.figures.counts.get("completed", 0) for point in points] == [3, 0, 0, 0, 9]
        assert [point.depth for point in points] == [None, None, None, None, 7]
        # A row of an older Tenure does not say what ran.
        assert [point.running for point in points] == [None] * 5
        assert [point.figures.counts.get("completed", 0) for point in view.points(150)] == [3, 10]
        assert len(view.points(1)) == 30


async def test_points_say_what_ran_of_what_a_queue_held(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        await bench.depth(75, mail=7, idle=3, running={"mail": 2})
        await bench.depth(15, mail=9, idle=3, running={"mail": 5})
        await bench.arrive()
        view = await bench.reader().read(120.0)
        assert [(point.depth, point.running) for point in view.points(60)] == [(10, 2), (12, 5)]
        assert [point.running for point in view.points(60, queue="idle")] == [0, 0]
        assert [point.running for point in view.points(60, queue="mail", task="work")] == [None, None]


async def test_a_reader_that_asks_again_sees_what_is_new_and_what_came_late(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        await bench.count(100, series(count=1))
        await bench.arrive()
        reader = bench.reader()
        assert (await reader.read(600.0)).total().counts == {"completed": 1}
        await bench.count(100, series(count=10), nonce="late")
        await bench.count(0, series(count=100))
        await asyncio.sleep(20.0)
        assert (await reader.read(600.0)).total().counts == {"completed": 111}
        await asyncio.sleep(700.0)
        assert (await reader.read(600.0)).total().counts == {}


async def test_a_long_window_is_read_from_sums_and_its_end_from_rows(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        await bench.arrive()
        state = harness.state
        rollup = Rollup(state.journal, state.board, state.wall, None, store_seconds=5.0)
        for _ in range(3 * 60):
            bench.now = int(state.wall())
            await bench.count(0, series(count=1))
            await asyncio.sleep(60.0)
            await rollup.work()
        await state.journal.prune(3 * HOUR)
        view = await bench.reader().read(2.5 * HOUR)
        assert {bucket.step for bucket in view.buckets} == {MINUTE, TEN_SECONDS}
        assert view.total().counts["completed"] in range(148, 152)
        day = await bench.reader().read(30.0 * HOUR)
        assert HOUR in {bucket.step for bucket in day.buckets}
        assert day.total().counts["completed"] in range(178, 181)


async def test_rows_that_a_newer_version_wrote_are_passed_over(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        await bench.journal.tally([Tally(TEN_SECONDS, bench.now - 20, "new", 0, b"\xc1")])
        await bench.count(20, series(count=1))
        await bench.arrive()
        assert (await bench.reader().read(60.0)).total().counts == {"completed": 1}


async def test_what_two_workers_did_can_be_read(harness: Harness) -> None:
    async with harness, Stage(harness) as stage:

        @stage.task(max_attempts=2, retry_delay=1.0)
        async def work(fails: bool = False) -> None:
            await asyncio.sleep(1.0)
            if fails:
                raise Retry

        await stage.start()
        await stage.start()
        await asyncio.sleep(65.0)
        ids = [await stage.submit(work.bind(fails=number % 4 == 0)) for number in range(40)]
        for id in ids:
            await stage.ended(id)
        await asyncio.sleep(20.0)
        view = await TallyReader(harness.broker, harness.state).read(60.0)
        (mail,) = view.queues()
        assert (mail.queue, mail.counts) == (QUEUE, {"completed": 30, "retried": 10, "dead": 10})
        assert mail.error_share == pytest.approx(0.4)
        assert mail.duration is not None
        assert mail.duration.p50 == pytest.approx(1.0, rel=0.05)
        assert mail.rate_in == pytest.approx(40 / 60, rel=0.3)
        assert OTHER not in {one.queue for one in view.tasks()}
