"""Workloads on the virtual clock: what the lease does while durations grow, come in two kinds, or stray.

A duplicate is a message whose handler was begun more than once; an overlap is two runs of one message at one time.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable

import pytest

from tenure import Context
from tenure.event import EventKind
from tenure.tasks.task import Task
from tenure.testing.harness import Harness
from tenure.testing.here import Here
from tenure.testing.workers import Stage

HOUR = 3600.0


class Book:
    """What handlers did."""

    def __init__(self) -> None:
        self.begun: Counter[str] = Counter()
        self.now: Counter[str] = Counter()
        self.overlaps = 0
        self.done: Counter[str] = Counter()
        #: By when it began: what it took, and the lease it began with.
        self.leases: list[tuple[float, float, float]] = []

    @property
    def duplicates(self) -> float:
        return sum(1 for times in self.begun.values() if times > 1) / len(self.begun)


def working(
    stage: Stage, book: Book, seconds_at: Callable[[float, int], float], **options: object
) -> Task[..., object]:
    """A task that takes what `seconds_at` says of the moment and the message's number."""
    clock = stage.harness.clock
    start = clock.monotonic()

    async def work(ctx: Context, number: int) -> None:
        id = str(number)
        began = clock.monotonic()
        seconds = seconds_at(began - start, number)
        book.begun[id] += 1
        book.now[id] += 1
        book.overlaps += book.now[id] > 1
        book.leases.append((began - start, seconds, round(ctx.deadline - began, 3)))
        try:
            await asyncio.sleep(seconds)
        finally:
            book.now[id] -= 1
        book.done[id] += 1

    return stage.task(name="work", **options)(work)


async def feed(stage: Stage, task: Task[..., object], *, every: float, until: float) -> None:
    clock = stage.harness.clock
    ends, number = clock.monotonic() + until, 0
    while clock.monotonic() < ends:
        await stage.submit(task.bind(number))
        number += 1
        await asyncio.sleep(every)


def growing(tenfold_within: float, seed: int = 11) -> Callable[[float, int], float]:
    chance = random.Random(seed)
    return lambda at, _number: 10.0 * 10.0 ** (at / tenfold_within) * chance.lognormvariate(0.0, 0.2)


async def grown_on(harness: Harness, seed: int) -> Book:
    """Two workers, no heartbeat, and work that takes ten times as long after an hour."""
    book = Book()
    async with Stage(harness) as stage:
        task = working(stage, book, growing(HOUR, seed), heartbeat=False)
        for _ in range(2):
            await stage.start(concurrency=10)
        await feed(stage, task, every=4.0, until=HOUR)
        await stage.settled()
    assert len(book.done) == len(book.begun) == 900
    assert book.overlaps == 0
    assert book.duplicates <= 0.01, f"{book.duplicates:.2%} were begun more than once"
    return book


@pytest.mark.parametrize("seed", range(2))
async def test_with_the_heartbeat_off_the_lease_follows_work_that_grows_tenfold_within_an_hour(
    harness: Harness, seed: int
) -> None:
    book = await grown_on(harness, seed)
    early = [lease for at, _, lease in book.leases if 600 < at < 900]
    late = [lease for at, _, lease in book.leases if at > HOUR - 300]
    assert max(early) < 120, "it was long from the beginning: nothing had to follow"
    assert min(late) > 100


async def test_it_follows_where_everything_is_claimed(loose: Harness) -> None:
    await grown_on(loose, 2)


async def test_it_follows_where_everything_is_lent_for_the_same_time(alike: Harness) -> None:
    await grown_on(alike, 3)


async def test_with_the_heartbeat_on_growing_work_is_run_once_and_on_the_short_lease(harness: Harness) -> None:
    book = Book()
    async with Stage(harness) as stage:
        task = working(stage, book, growing(HOUR))
        for _ in range(2):
            await stage.start(concurrency=10)
        await feed(stage, task, every=4.0, until=HOUR)
        await stage.settled()
    assert len(book.done) == 900
    assert (book.overlaps, book.duplicates) == (0, 0.0)
    assert {lease for _, _, lease in book.leases} == {harness.lease_seconds}


@pytest.mark.parametrize("heartbeat", [True, False])
async def test_work_of_two_kinds_gets_a_lease_for_the_longer_one(harness: Harness, heartbeat: bool) -> None:
    book = Book()
    chance = random.Random(5)

    def two_kinds(_at: float, _number: int) -> float:
        return chance.gauss(1.0, 0.05) if chance.random() < 0.9 else abs(chance.gauss(60.0, 5.0))

    async with Stage(harness) as stage:
        task = working(stage, book, two_kinds, heartbeat=heartbeat)
        await stage.start(concurrency=20)
        await feed(stage, task, every=2.0, until=HOUR)
        await stage.settled()
    assert len(book.done) == 1800
    assert book.overlaps == 0
    assert book.duplicates <= (0.0 if heartbeat else 0.01)
    if not heartbeat:
        assert book.leases[-1][2] > 60 * 1.75


def straying(_at: float, number: int) -> float:
    """One in a thousand takes a hundred times as long."""
    return 5.0 * (100.0 if number % 1000 == 400 else 1.0)


async def test_one_in_a_thousand_that_takes_a_hundred_times_as_long_is_never_killed(harness: Harness) -> None:
    book = Book()
    async with Stage(harness) as stage:
        task = working(stage, book, straying)
        actor = await stage.start(concurrency=20)
        await feed(stage, task, every=1.0, until=3_000)
        await stage.settled()
        assert actor.counts.get(EventKind.LEASE_LOST, 0) == 0
    assert len(book.done) == 3_000
    assert (book.overlaps, book.duplicates) == (0, 0.0)


async def test_it_is_killed_where_max_hold_is_set(harness: Harness) -> None:
    book = Book()
    async with Stage(harness) as stage:
        task = working(stage, book, straying, max_hold=60.0, max_attempts=2)
        await stage.start(concurrency=20)
        await feed(stage, task, every=1.0, until=600)
        await stage.settled()
    assert "400" not in book.done
    assert book.begun["400"] == 2
    assert len(book.done) == 599


async def test_with_the_heartbeat_off_a_stray_message_loses_its_lease_gets_a_longer_one_and_is_done(
    harness: Harness,
) -> None:
    book = Book()
    async with Stage(harness) as stage:
        task = working(stage, book, straying, heartbeat=False)
        # What three lost runs make a suspect runs here too: no child process can import a test.
        actor = await stage.start(concurrency=20, children=lambda _locate, *, most, **_: Here(most, lambda: None))
        await feed(stage, task, every=1.0, until=1_500)
        await stage.settled(within=2_000)
        assert 2 <= actor.counts[EventKind.LEASE_LOST] <= 8
    assert len(book.done) == 1_500
    assert book.overlaps == 0
    assert 2 <= book.begun["400"] <= 6
    assert book.duplicates <= 0.01


async def test_without_learning_the_lease_stays_what_it_was(harness: Harness) -> None:
    book = Book()
    async with Stage(harness) as stage:
        task = working(stage, book, lambda _at, _number: 1.0, heartbeat=False)
        await stage.start(concurrency=20, learning=False)
        await feed(stage, task, every=1.0, until=300)
        await stage.settled()
    assert {lease for _, _, lease in book.leases} == {60.0}
