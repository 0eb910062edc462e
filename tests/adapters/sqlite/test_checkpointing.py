"""Checkpoints: one process at a time makes them, and the `-wal` stays bounded whoever is there."""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tenure.adapters.sqlite import broker, checkpoint
from tenure.broker import SweepRequest
from tenure.finding import Severity
from tenure.testing.virtual import VirtualClock

from .place import Place

KIB = 1024
SWEEP = SweepRequest(interval_seconds=5.0)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that little is much."""
    monkeypatch.setattr(checkpoint, "SWEEPER_BYTES", 256 * KIB)
    monkeypatch.setattr(checkpoint, "OTHERS_BYTES", 1024 * KIB)


def wal_of(path: Path) -> int:
    return Path(f"{path}-wal").stat().st_size


async def fill(place: Place, kib: int, name: str = "m") -> int:
    """Send so many KiB, 16 at a time, which is 28 in the `-wal`. How large that was at most."""
    body, largest = msgspec.Raw(b'"' + b"x" * 16 * KIB + b'"'), 0
    for number in range(kib // 16):
        await place.send(f"{name}{number}", body=body)
        largest = max(largest, wal_of(place.path))
    await settled(place)
    return largest


async def settled(place: Place) -> None:
    """Until the writer has done all that follows its last answer, and what a sweep leaves for later."""
    assert await place.lease(queues=("nothing",)) == []
    while place.store._writer.busy():  # noqa: ASYNC110 - it is a thread, which sets no event
        await asyncio.sleep(0)


@contextlib.contextmanager
def checkpoints(place: Place) -> Iterator[list[str]]:
    """Those that this place makes meanwhile."""
    made: list[str] = []

    def on_statement(statement: str) -> None:
        if "wal_checkpoint" in statement:
            made.append(statement)

    place.store._writer._db.set_trace_callback(on_statement)
    yield made
    place.store._writer._db.set_trace_callback(None)


async def test_sqlite_makes_none_by_itself(place: Place) -> None:
    assert place.store._writer._db.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)


async def test_the_process_that_sweeps_keeps_the_wal_small(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db") as place:
        await place.broker.sweep(SWEEP)
        with checkpoints(place) as made:
            assert await fill(place, 4096) < 512 * KIB
        # About one each time that it is full, and no more: each one costs a flush of the database.
        assert 20 <= len(made) <= 40
        assert set(made) == {"PRAGMA wal_checkpoint(PASSIVE)"}
        assert place.sql("PRAGMA integrity_check") == [("ok",)]


async def test_where_nobody_sweeps_the_wal_is_bounded_too(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db") as place:
        with checkpoints(place) as made:
            assert 1024 * KIB < await fill(place, 8192) < 1280 * KIB
        assert 10 <= len(made) <= 20


async def test_one_at_a_time_makes_them(tmp_path: Path) -> None:
    clock = VirtualClock()
    async with Place(tmp_path / "q.db", clock) as one, Place(tmp_path / "q.db", clock) as other:
        await one.broker.sweep(SWEEP)
        await other.broker.sweep(SWEEP)
        await settled(one)
        await settled(other)
        with checkpoints(one) as made, checkpoints(other) as others:
            await fill(one, 160, "a")
            assert len(made) == 1
            await fill(other, 160, "b")
            assert others == []
            # The one with the turn looks once a second after what others write.
            clock.now += 1.0
            await one.broker.depth()
            await settled(one)
            assert len(made) == 2
            # It is gone, or busy elsewhere: its turn lapses.
            clock.now += 3.0
            await fill(other, 160, "c")
            assert len(others) == 1


async def test_a_worker_with_little_to_do_copies_little_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No message moves while its thread copies: a second's worth takes a few milliseconds, 8 MiB take long."""
    monkeypatch.setattr(checkpoint, "EARLY_COMMITS", 4)
    clock = VirtualClock()
    async with Place(tmp_path / "q.db", clock) as place:
        with checkpoints(place) as made:
            for number in range(8):
                await place.send(f"before{number}")
            await settled(place)
            assert made == []  # only the process that sweeps does so
            await place.broker.sweep(SWEEP)
            await settled(place)
            assert len(made) == 1
            for number in range(8):
                await place.send(f"now{number}")
            await settled(place)
            assert len(made) == 1  # a second is not over
            clock.now += 1.0
            await place.send("later")
            await settled(place)
            assert len(made) == 2
            clock.now += 1.0
            await place.send("last")
            await settled(place)
            assert len(made) == 2  # not worth it
        assert wal_of(place.path) <= checkpoint.SWEEPER_BYTES


async def test_what_was_copied_is_not_copied_again(tmp_path: Path) -> None:
    """Two checkpoints in a row with a commit beside the second: that is what damages files before SQLite 3.51.3."""
    clock = VirtualClock()
    async with Place(tmp_path / "q.db", clock) as place:
        await place.broker.sweep(SWEEP)
        with checkpoints(place) as made:
            while not made:
                await fill(place, 16, f"{wal_of(place.path)}-")
            assert wal_of(place.path) > checkpoint.SWEEPER_BYTES
            for _ in range(5):
                clock.now += 1.0
                await place.broker.depth()
                await settled(place)
        assert len(made) == 1


async def test_a_wal_that_outgrows_everything_is_copied_while_writers_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody reads for long, so that it cannot be begun anew; when that is over, it is."""
    monkeypatch.setattr(checkpoint, "BLOCKING_BYTES", 1536 * KIB)
    monkeypatch.setattr(checkpoint, "_BLOCKING_MILLISECONDS", 1)
    clock = VirtualClock()
    async with Place(tmp_path / "q.db", clock) as place:
        await place.broker.sweep(SWEEP)
        with checkpoints(place) as made, contextlib.closing(sqlite3.connect(place.path)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM message").fetchone()
            for number in range(8):
                clock.now += 1.0
                await fill(place, 256, f"a{number}-")
            assert wal_of(place.path) > 1536 * KIB
            assert "PRAGMA wal_checkpoint(RESTART)" in made
            reader.rollback()
            clock.now += 1.0
            await fill(place, 64, "b")
            assert wal_of(place.path) < 512 * KIB


async def test_a_file_that_cannot_be_copied_now_is_copied_later(tmp_path: Path) -> None:
    """Somebody else holds the write lock, and the turn cannot be taken: no call fails because of it."""
    clock = VirtualClock()
    async with Place(tmp_path / "q.db", clock, busy_seconds=0.05) as place:
        await fill(place, 160)
        assert wal_of(place.path) > checkpoint.SWEEPER_BYTES
        place.store.note_sweep(5.0)
        with checkpoints(place) as made, contextlib.closing(sqlite3.connect(place.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            clock.now += 1.0
            await settled(place)
            assert made == []
            other.execute("ROLLBACK")
            clock.now += 1.0
            await settled(place)
            assert len(made) == 1


@pytest.mark.parametrize(
    ("version", "is_sound"),
    [
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 0), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 52, 0), True),
        ((4, 0, 0), True),
    ],
)
def test_a_library_with_the_mistake_is_a_finding(version: tuple[int, ...], is_sound: bool) -> None:
    findings = checkpoint.check_library(version, "q.db")
    assert [one.id for one in findings] == ([] if is_sound else ["sqlite_wal_reset"])
    assert all(".".join(map(str, version)) in one.evidence and one.severity is Severity.INFO for one in findings)


async def test_the_finding_is_told_once(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 40, 1))
    monkeypatch.setattr(broker, "_TOLD", set())
    caplog.set_level(logging.DEBUG, "tenure.sqlite")
    for _ in range(2):
        (finding,) = await place.broker.check(["mail"])
        assert finding.id == "sqlite_wal_reset"
    assert caplog.text.count("sqlite_wal_reset") == 1
