"""Announcements stand in the rows of their messages, or apart from them: read in order, once, whatever stands there."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenure import envelope
from tenure.adapters.sqlite import announcing, retention, schema
from tenure.adapters.sqlite.states import DEAD, NOTED, READY
from tenure.announcement import Announcement
from tenure.broker import SweepRequest
from tenure.message import MessageState
from tenure.settlement import Ack, DeadLetter
from tenure.testing.virtual import VirtualClock
from tenure.verdict import Reason

from .place import QUEUE, Place, message

BOOM = Reason("error", "it broke")
ASKS: dict[str, Any] = {"announce": ("webhook:orders",), "client": "acme", "correlation_id": "o-7"}
DAY = 86_400.0


async def complete(place: Place, *ids: str, results: bytes = b"", **changes: Any) -> None:
    await place.send(*ids, **{**ASKS, **changes})
    leases = await place.lease(len(ids))
    await place.broker.ack([Ack(lease, results) for lease in leases])


async def pending(place: Place) -> list[str]:
    return [one.id for one in await place.broker.announcements()]


@pytest.mark.parametrize("end", ["redrive", "delete"])
async def test_an_end_that_waits_outlives_what_becomes_of_the_dead_letter(place: Place, end: str) -> None:
    await place.send("a", **ASKS)
    await place.broker.dead_letter([DeadLetter((await place.lease())[0], BOOM)])
    (before,) = await place.broker.announcements()
    assert await getattr(place.broker, end)(["a"]) == ["a"]
    (after,) = await place.broker.announcements()
    assert msgspec.structs.replace(after, place="") == msgspec.structs.replace(before, place="")
    # One that was read from the row says so, and is apart by now.
    await place.broker.announced([before])
    assert await pending(place) == []


async def test_the_end_of_a_next_generation_is_not_taken_for_one_that_was_read_before(place: Place) -> None:
    await place.send("a", **ASKS)
    await place.broker.dead_letter([DeadLetter((await place.lease())[0], BOOM)])
    (read,) = await place.broker.announcements()
    await place.broker.redrive(["a"])
    await place.broker.ack([Ack((await place.lease())[0], b"9")])
    await place.broker.announced([read])
    (left,) = await place.broker.announcements()
    assert (left.generation, left.ending, left.result) == (1, MessageState.COMPLETED, b"9")


async def test_ends_of_one_moment_are_read_in_pages_without_loss(place: Place) -> None:
    ids = [f"m{n:02}" for n in range(20)]
    await complete(place, *ids)
    await place.send("dead", **ASKS)
    await place.broker.dead_letter([DeadLetter((await place.lease())[0], BOOM)])
    await place.broker.delete(["dead"])
    found: list[str] = []
    at = ""
    while page := await place.broker.announcements(at, 3):
        found += [one.id for one in page]
        at = page[-1].place
        assert len(found) <= len(ids) + 1
    assert sorted(found) == sorted([*ids, "dead"])


async def test_one_call_reads_a_bounded_number_of_bytes(place: Place) -> None:
    large = msgspec.json.encode("x" * 60_000)
    for n in range(100):
        await complete(place, f"m{n:02}", results=large)
    page = await place.broker.announcements()
    assert sum(len(one.result or b"") for one in page) <= announcing._BYTES + len(large)
    found, at = 0, ""
    while page := await place.broker.announcements(at):
        found, at = found + len(page), page[-1].place
        assert {one.result for one in page} == {large}
    assert found == 100


@pytest.mark.parametrize("results", [b"", b"1", b'"\\u001e"', b"\x1e", b"x" * 5_000])
async def test_results_of_any_kind_are_read(place: Place, results: bytes) -> None:
    await complete(place, "a", "b", results=results)
    assert [one.result for one in await place.broker.announcements()] == [results or None] * 2


@pytest.mark.parametrize("value", ["zz", b"\xff", b"[]", 7, 1.5, float("inf"), -5, b"a\x1eb", None])
@pytest.mark.parametrize("column", ["announce", "moment", "finished_at", "result", "task", "queue", "state"])
async def test_an_edited_row_hides_no_other(place: Place, column: str, value: Any) -> None:
    await complete(place, "a", "b", "c", results=b"1")
    with contextlib.suppress(sqlite3.IntegrityError):  # a column that takes no NULL
        place.sql(f"UPDATE message SET {column} = ? WHERE id = 'b'", value)  # noqa: S608 - a column of ours
    waiting = await place.broker.announcements()
    assert {"a", "c"} <= {one.id for one in waiting} <= {"a", "b", "c"}
    await place.broker.announced(waiting)
    assert set(await pending(place)) <= {"b"}
    await place.broker.sweep(SweepRequest())


async def test_what_waits_to_be_announced_keeps_nothing_else_from_being_forgotten(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db", keep_seconds=60.0) as place:
        assert isinstance(place.clock, VirtualClock)
        for start in range(0, 6_000, 1_000):
            await complete(place, *(f"w{start + n}" for n in range(1_000)))
        await complete(place, "done", announce=())
        place.clock.now += 61.0
        for _ in range(2 + 6_000 // retention._PIECE // 20):
            await place.broker.sweep(SweepRequest())
            await asyncio.sleep(0.001)
        assert await place.state.records.get("done") is None
        assert place.sql("SELECT count(*) FROM message") == [(6_000,)]
        await place.broker.announced(await place.broker.announcements(limit=6_000))
        for _ in range(2):
            await place.broker.sweep(SweepRequest())
            await asyncio.sleep(0.001)
        assert place.sql("SELECT count(*) FROM message") == [(0,)]


async def test_a_place_of_another_store_is_the_start(place: Place) -> None:
    await complete(place, "a")
    for text in ("zz", "1-2", "1-1-x", f"{2**70}-1-1", "-1-1-1", "1700-3 mail"):
        assert [one.id for one in await place.broker.announcements(text)] == ["a"]
        (one,) = await place.broker.announcements()
        await place.broker.announced([msgspec.structs.replace(one, place=text)])
    assert await pending(place) == ["a"]


@pytest.fixture
def seventh(tmp_path: Path) -> Path:
    """A file of the version that kept in a note what a message asks for."""
    path, clock = tmp_path / "q.db", VirtualClock()
    now, wall = int(clock.wall() * 1e6), clock.wall()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        schema.migrate(db, str(path), schema.MIGRATIONS[:7])
        for seq, (id, state, asked) in enumerate((
            ("waits", READY, {"request": {"targets": ["webhook:orders"], "client": "acme", "correlation_id": "ä"}}),
            ("again", READY, {"request": {"targets": ["webhook:a", "webhook:b"]}, "generation": 3}),
            ("sealed", READY, {"request": {"targets": ["webhook:orders"]}, "is_announced": True}),
            ("dead", DEAD, {"request": {"targets": ["webhook:orders"]}, "is_announced": True}),
            ("plain", READY, None),
        ), 1):  # fmt: skip
            announce = () if asked is None else ("webhook:orders",)
            raw = envelope.encode(message(id, sent_at=wall, announce=announce))
            db.execute(
                "INSERT INTO message (seq, id, queue, task, state, moment, priority, sent_at, envelope, extras)"
                " VALUES (?, ?, ?, 'deliver', ?, ?, 5, ?, ?, ?)", (seq, id, QUEUE, state, now, wall, raw, NOTED),
            )  # fmt: skip
            if asked is not None:
                db.execute("INSERT INTO note (seq, announce) VALUES (?, ?)", (seq, msgspec.json.encode(asked)))
        for one in ("sealed", "dead"):
            told = Announcement(
                id=one, generation=0, queue=QUEUE, task="deliver", targets=("webhook:orders",),
                ending=MessageState.COMPLETED if one == "sealed" else MessageState.DEAD, ended_at=wall,
            )  # fmt: skip
            db.execute(
                "INSERT INTO announcement (id, is_large, data) VALUES (?, 0, ?)", (one, msgspec.json.encode(told))
            )
    return path


async def test_what_was_asked_for_in_an_older_file_is_still_announced_once(seventh: Path) -> None:
    async with Place(seventh) as place:
        assert sorted(await pending(place)) == ["dead", "sealed"]
        leases = await place.lease(9)
        assert [lease.id for lease in leases] == ["waits", "again", "sealed", "plain"]
        await place.broker.ack([Ack(lease, b"9") for lease in leases])
        found = {one.id: one for one in await place.broker.announcements()}
        assert sorted(found) == ["again", "dead", "sealed", "waits"]
        waits, again = found["waits"], found["again"]
        assert (waits.targets, waits.client, waits.correlation_id) == (("webhook:orders",), "acme", "ä")
        assert (again.targets, again.generation, again.client) == (("webhook:a", "webhook:b"), 3, None)
        assert await place.broker.redrive(["dead"]) == ["dead"]
        await place.broker.announced(await place.broker.announcements())
        await place.broker.ack([Ack(lease, b"9") for lease in await place.lease(9)])
        assert [(one.id, one.generation) for one in await place.broker.announcements()] == [("dead", 1)]
