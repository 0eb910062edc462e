"""Tallying: what a worker counted is stored in time, once, and survives an outage."""

import asyncio
from typing import Any, cast

import pytest

from tenure.errors import BrokerUnavailable
from tenure.runtime.background.statistics import Statistics
from tenure.runtime.background.tallying import MOST_WAITING, Tallying
from tenure.state import Journal
from tenure.tally import TEN_SECONDS, Tally
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.workers import Stage
from tenure.timing import tallied
from tenure.verdict import Retry


class FakeJournal:
    """Keeps rows by their key; may be away, and may lose its answer."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, int, str, int], Tally] = {}
        self.calls = 0
        self.is_away = False
        self.loses_answer = False

    async def tally(self, batch: list[Tally]) -> None:
        self.calls += 1
        if self.is_away:
            msg = "away"
            raise BrokerUnavailable(msg)
        self.rows |= {(one.step, one.bucket, one.nonce, one.number): one for one in batch}
        if self.loses_answer:
            msg = "no answer"
            raise BrokerUnavailable(msg)

    def counted(self) -> int:
        rows = [tallied.decode(one.data) for one in self.rows.values()]
        return sum(series.beats for row in rows if row is not None for series in row.series)


class Bench:
    def __init__(self) -> None:
        self.now = 1_000_004.0
        self.journal = FakeJournal()
        self.statistics = Statistics()
        journal = cast("Journal", self.journal)
        self.tallying = Tallying(self.statistics, journal, lambda: self.now, nonce="n1", every_seconds=5.0)

    def count(self, queue: str = QUEUE) -> None:
        self.statistics.beat([(queue, "work")])

    async def flush(self) -> None:
        self.count()
        self.now += 5.0
        await self.tallying.close()


async def test_a_row_gets_the_bucket_of_the_stores_time_and_a_number_of_its_own() -> None:
    bench = Bench()
    for _ in range(3):
        await bench.flush()
    keys = [(1_000_000, 0), (1_000_010, 1), (1_000_010, 2)]
    assert list(bench.journal.rows) == [(TEN_SECONDS, bucket, "n1", number) for bucket, number in keys]


async def test_nothing_is_stored_when_nothing_was_counted() -> None:
    bench = Bench()
    for _ in range(3):
        await bench.tallying.flush()
    assert bench.journal.calls == 0


async def test_a_row_that_is_tried_again_keeps_its_key() -> None:
    bench = Bench()
    bench.journal.loses_answer = True
    await bench.flush()
    first = list(bench.journal.rows)
    bench.journal.loses_answer = False
    bench.now += 100.0
    await bench.tallying.flush()
    assert list(bench.journal.rows) == first
    assert bench.journal.counted() == 1


async def test_while_the_journal_is_away_a_bounded_number_of_rows_waits_and_nothing_is_lost() -> None:
    bench = Bench()
    bench.journal.is_away = True
    for _ in range(3 * MOST_WAITING):
        await bench.flush()
    bench.journal.is_away = False
    await bench.tallying.flush()
    assert bench.journal.counted() == MOST_WAITING
    await bench.tallying.flush()
    assert (len(bench.journal.rows), bench.journal.counted()) == (MOST_WAITING + 1, 3 * MOST_WAITING)


async def test_many_series_are_split_into_rows_of_a_bounded_size() -> None:
    bench = Bench()
    for number in range(150):
        bench.count(f"{number:0>190}")
    await bench.tallying.flush()
    assert len(bench.journal.rows) > 1
    assert all(len(one.data) <= tallied.ROW_BYTES + 100 for one in bench.journal.rows.values())
    assert bench.journal.counted() == 150


async def counts(harness: Harness) -> dict[str, int]:
    found: dict[str, int] = {}
    for tally in await harness.state.journal.tallies(TEN_SECONDS, 0.0, harness.state.wall() + 60.0):
        row = tallied.decode(tally.data)
        for one in [] if row is None else row.series:
            found[one.outcome] = found.get(one.outcome, 0) + one.count
    return found


async def test_a_worker_stores_what_it_did_and_the_rest_when_it_stops(harness: Harness) -> None:
    async with harness, Stage(harness) as stage:

        @stage.task(max_attempts=2, retry_delay=1.0)
        async def work(fails: bool = False) -> None:
            if fails:
                raise Retry

        actor = await stage.start()
        await stage.ended(await stage.submit(work.bind()))
        await stage.ended(await stage.submit(work.bind(fails=True)))
        await asyncio.sleep(6.0)
        assert await counts(harness) == {"completed": 1, "retried": 1, "dead": 1}
        await stage.ended(await stage.submit(work.bind()))
        await stage.stop(actor)
        assert await counts(harness) == {"completed": 2, "retried": 1, "dead": 1}


async def test_an_outage_of_the_journal_stops_no_worker(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any) -> None:
        msg = "away"
        raise BrokerUnavailable(msg)

    async with harness, Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        await stage.start()
        with monkeypatch.context() as patch:
            patch.setattr(harness.state.journal, "tally", away)
            await stage.ended(await stage.submit(work.bind()))
            await asyncio.sleep(120.0)
        await asyncio.sleep(6.0)
        assert await counts(harness) == {"completed": 1}
