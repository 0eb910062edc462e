"""Rollup: minutes and hours are computed from all rows below them, however often and by whomever."""

import asyncio

from tenure.runtime.background.depths import DepthWriter
from tenure.runtime.background.rollup import SUM_NONCE, Rollup
from tenure.tally import HOUR, MINUTE, TEN_SECONDS, Tally
from tenure.testing.harness import Harness
from tenure.timing import tallied
from tenure.timing.tallied import DEPTH_NONCE, MOST_SERIES, OTHER, Series, TallyRow

#: The start of an hour.
START = 1_700_002_800


class Bench:
    """Rows of two processes, and what is made of them; the store's time is set by hand."""

    def __init__(self, harness: Harness) -> None:
        self.now = float(START)
        self.journal = harness.state.journal
        self.board = harness.state.board
        self.rollup = self.another()

    def another(self) -> Rollup:
        return Rollup(self.journal, self.board, lambda: self.now, None, store_seconds=5.0)

    async def count(self, at: int, number: int, *, nonce: str = "a", row: int = 0, queue: str = "mail") -> None:
        (data,) = tallied.encode([Series(queue, "work", "completed", count=number)])
        await self.journal.tally([Tally(TEN_SECONDS, at // 10 * 10, nonce, row, data)])

    async def rows(self, step: int) -> dict[tuple[int, str], TallyRow]:
        found = await self.journal.tallies(step, 0.0, self.now + HOUR)
        rows = {(one.bucket, one.nonce): tallied.decode(one.data) for one in found}
        return {key: row for key, row in rows.items() if row is not None}

    async def counts(self, step: int) -> dict[int, int]:
        rows = await self.rows(step)
        return {bucket: sum(one.count for one in row.series) for (bucket, _), row in rows.items()}


async def test_a_closed_minute_is_the_sum_over_processes(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        for at in (START, START + 10, START + 59, START + 60):
            await bench.count(at, 1)
        await bench.count(START + 10, 10, nonce="b")
        bench.now = START + 70.0
        await bench.rollup.work()
        assert await bench.counts(MINUTE) == {}, "rows of the minute may still come"
        bench.now = START + 80.0
        await bench.another().work()
        assert await bench.counts(MINUTE) == {START: 13}
        assert all(nonce == SUM_NONCE for _, nonce in await bench.rows(MINUTE))


async def test_a_row_that_comes_late_is_counted_and_nothing_twice(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        await bench.count(START, 1)
        for later in (80, 150, 220):
            bench.now = START + float(later)
            await bench.rollup.work()
        assert await bench.counts(MINUTE) == {START: 1}
        await bench.count(START, 5, nonce="b")
        bench.now = START + 300.0
        await bench.rollup.work()
        assert await bench.counts(MINUTE) == {START: 6}


async def test_two_that_sum_up_at_once_do_no_harm(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        await bench.count(START, 3)
        bench.now = START + 80.0
        await asyncio.gather(*(bench.another().work() for _ in range(3)))
        assert await bench.counts(MINUTE) == {START: 3}


async def test_after_a_gap_everything_is_caught_up(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        for minute in range(50):
            await bench.count(START + 60 * minute, 1)
        bench.now = START + 50.0 * MINUTE + 30.0
        await bench.another().work()
        assert await bench.counts(MINUTE) == {START + 60 * minute: 1 for minute in range(50)}


async def test_a_closed_hour_is_the_sum_of_its_minutes_and_follows_them(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        bench.now = START + 15.0
        for minute in range(60):
            await bench.count(START + 60 * minute, 1)
            bench.now += 60.0
            await bench.rollup.work()
        bench.now = START + HOUR + 20.0
        await bench.rollup.work()
        bench.now = START + HOUR + 90.0
        await bench.rollup.work()
        assert await bench.counts(HOUR) == {START: 60}
        await bench.count(START + 3_590, 7, nonce="b")
        bench.now += 61.0
        await bench.rollup.work()
        assert await bench.counts(HOUR) == {START: 67}


async def test_a_sum_keeps_the_largest_series_and_adds_up_the_rest(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        for number in range(2 * MOST_SERIES):
            await bench.count(START, number + 1, nonce=f"n{number}", queue=f"q{number}")
        bench.now = START + 80.0
        await bench.rollup.work()
        found = await bench.journal.tallies(MINUTE, 0.0, bench.now)
        series = [one for tally in found if (row := tallied.decode(tally.data)) for one in row.series]
        assert len(series) == MOST_SERIES + 1
        assert sum(one.count for one in series) == sum(range(2 * MOST_SERIES + 1))
        assert min(one.count for one in series if one.queue != OTHER) == MOST_SERIES + 1


async def test_depths_are_stored_when_they_change_and_else_once_a_minute(harness: Harness) -> None:
    async with harness:
        state = harness.state
        writer = DepthWriter(harness.broker, state.journal, harness.clock, state.wall)
        begun = state.wall()

        async def stored() -> list[dict[str, int]]:
            found = await state.journal.tallies(TEN_SECONDS, 0.0, state.wall() + 60.0)
            return [row.depths for one in found if (row := tallied.decode(one.data)) and one.nonce == DEPTH_NONCE]

        await harness.put()
        await writer.store()
        for _ in range(4):
            await asyncio.sleep(10.0)
            await writer.store()
        assert await stored() == [{"mail": 1}]
        await harness.put(delay_seconds=600.0)
        await harness.put(queue="other")
        await asyncio.sleep(10.0)
        await writer.store()
        assert (await stored())[-1] == {"mail": 2, "other": 1}
        while state.wall() < begun + 130.0:
            await asyncio.sleep(10.0)
            await writer.store()
        assert len(await stored()) == 3


async def test_what_runs_is_stored_beside_what_a_queue_holds(harness: Harness) -> None:
    async with harness:
        state = harness.state
        writer = DepthWriter(harness.broker, state.journal, harness.clock, state.wall)
        await harness.put()
        await writer.store()
        await harness.lease_one("worker-1", seconds=60.0)
        await asyncio.sleep(10.0)
        await writer.store()
        found = await state.journal.tallies(TEN_SECONDS, 0.0, state.wall() + 60.0)
        rows = [row for one in found if (row := tallied.decode(one.data)) and one.nonce == DEPTH_NONCE]
        assert [(row.depths, row.running) for row in rows] == [({"mail": 1}, {}), ({"mail": 1}, {"mail": 1})]


async def test_of_very_many_queues_the_deepest_are_named_and_the_rest_is_one_sum() -> None:
    row = tallied.decode(tallied.encode_depths(1.0, {f"q{number}": number for number in range(300)}))
    assert row is not None
    assert (len(row.depths), min(row.depths.values())) == (tallied.MOST_DEPTHS, 100)
    assert row.depth_rest == sum(range(100))
    assert row.running is None


async def test_what_runs_in_queues_that_are_not_named_is_one_sum_too() -> None:
    depths = {f"q{number}": number + 1 for number in range(300)}
    row = tallied.decode(tallied.encode_depths(1.0, depths, {"q0": 1, "q1": 2, "q299": 7}))
    assert row is not None
    assert (row.running, row.running_rest) == ({"q299": 7}, 3)


async def test_a_minute_has_the_last_depths_in_it(harness: Harness) -> None:
    async with harness:
        bench = Bench(harness)
        for at in (0, 20, 50):
            data = tallied.encode_depths(START + at + 1.0, {"mail": at})
            await bench.journal.tally([Tally(TEN_SECONDS, START + at, DEPTH_NONCE, 0, data)])
        bench.now = START + 80.0
        await bench.rollup.work()
        rows = await bench.rows(MINUTE)
        assert {key: row.depths for key, row in rows.items()} == {(START, DEPTH_NONCE): {"mail": 50}}
