"""Documents in the file: what a look costs, and bounds."""

import contextlib
import sqlite3

from tenure.key_value import MOST_LISTED

from .place import Place


async def test_a_look_is_one_statement_and_writes_nothing(place: Place) -> None:
    await place.state.key_values.put("token", "a", b"{}", expect=None)
    looked: list[str] = []
    written: list[str] = []
    place.store._reader._db.set_trace_callback(looked.append)
    place.store._writer._db.set_trace_callback(written.append)
    assert await place.state.key_values.get("token", "a") is not None
    assert [statement.split()[0] for statement in looked] == ["BEGIN", "SELECT", "ROLLBACK"]
    assert written == []


async def test_a_list_is_bounded(place: Place) -> None:
    _fill(place, MOST_LISTED + 5)
    listed = await place.state.key_values.list("token")
    assert [one.name for one in listed] == [f"{number:06}" for number in range(MOST_LISTED)]


async def test_pruning_goes_on_until_nothing_has_expired(place: Place) -> None:
    _fill(place, 2_500, expires_at=1.0)
    await place.state.key_values.put("token", "a", b"{}", expect=None)
    assert await place.state.key_values.prune() == 2_500
    assert place.sql("SELECT name FROM key_value") == [("a",)]


async def test_what_expires_is_found_by_an_index(place: Place) -> None:
    plan = place.sql("EXPLAIN QUERY PLAN SELECT rowid FROM key_value WHERE expires_at <= 1 LIMIT 1000")
    assert "key_value_expires" in str(plan)


def _fill(place: Place, count: int, expires_at: float | None = None) -> None:
    rows = [("token", f"{number:06}", b"{}", "1", expires_at) for number in range(count)]
    with contextlib.closing(sqlite3.connect(place.path)) as db, db:
        db.executemany("INSERT INTO key_value (kind, name, data, version, expires_at) VALUES (?, ?, ?, ?, ?)", rows)
