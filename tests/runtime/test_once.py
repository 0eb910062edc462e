"""One effect: a row in the user's own database, written in the transaction of the effect itself."""

import hashlib
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from tenure.errors import BadArgument
from tenure.message import Message
from tenure.rules.send_id import send_id
from tenure.tasks.once import OnceKey, insert_once, insert_once_async


def message(**fields: Any) -> Message:
    return Message(**({"id": "m1", "queue": "q", "task": "t", "body": msgspec.Raw(b"{}")} | fields))


def key(effect: str = "", fence: int = 1, sent: float = 0.0, **fields: Any) -> OnceKey:
    made = message(**fields)
    return OnceKey.of(made, effect, fence, send_id(made.id, sent))


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()


def test_the_first_time_is_true_and_every_other_false(db: sqlite3.Connection) -> None:
    assert [insert_once(db, key(fence=fence)) for fence in (1, 2, 3)] == [True, False, False]


def test_a_cursor_does_too(db: sqlite3.Connection) -> None:
    assert [insert_once(db.cursor(), key()) for _ in range(2)] == [True, False]


def test_what_is_rolled_back_was_not_done(db: sqlite3.Connection) -> None:
    assert insert_once(db, key())
    db.rollback()
    assert insert_once(db, key())
    db.commit()
    assert not insert_once(db, key())


def test_another_connection_sees_it_once_it_is_committed(tmp_path: Path) -> None:
    path = tmp_path / "user.db"
    first, second = (sqlite3.connect(path, timeout=5) for _ in range(2))
    assert insert_once(first, key(fence=1))
    first.commit()
    assert not insert_once(second, key(fence=2))
    first.close()
    second.close()


def test_a_transaction_that_is_open_already_is_used(db: sqlite3.Connection) -> None:
    insert_once(db, key())
    db.execute("DELETE FROM tenure_once")
    db.commit()
    db.isolation_level = None
    db.execute("BEGIN IMMEDIATE")
    assert insert_once(db, key())
    db.execute("ROLLBACK")
    assert db.execute("SELECT count(*) FROM tenure_once").fetchone() == (0,)


def test_effects_messages_and_generations_are_told_apart(db: sqlite3.Connection) -> None:
    keys = [key(), key("mail"), key("bill"), key(id="m2"), key(generation=1), key(queue="q2"), key(task="t2")]
    assert all(insert_once(db, one) for one in keys)
    assert len({one.effect for one in keys}) == len(keys)


def test_two_messages_under_one_key_are_one_effect(db: sqlite3.Connection) -> None:
    assert insert_once(db, key(id="m1", key="order-7"))
    assert not insert_once(db, key(id="m2", key="order-7"))


def test_sends_of_one_id_are_told_apart_and_deliveries_of_one_send_are_not(db: sqlite3.Connection) -> None:
    assert [insert_once(db, key(sent=sent)) for sent in (1.5, 1.5, 604_802.5, 604_802.5)] == [True, False, True, False]


def test_a_row_shows_the_message_and_the_moment_of_its_send(db: sqlite3.Connection) -> None:
    insert_once(db, key(id="order 7", sent=1.5))
    insert_once(db, key(id="x" * 400, sent=1.5))
    shown = [row for (row,) in db.execute("SELECT message_id FROM tenure_once ORDER BY message_id")]
    assert shown == ["order?7@1.5", "x" * 200 + "@1.5"]


def test_a_row_of_an_older_tenure_counts_for_a_message_that_is_run_again(db: sqlite3.Connection) -> None:
    """Its table, and its row, as they were before rows named the send."""
    db.execute(
        "CREATE TABLE tenure_once (effect CHAR(64) PRIMARY KEY, message_id VARCHAR(255) NOT NULL, "
        "fence BIGINT NOT NULL)"
    )
    effect = hashlib.sha256(b"q\x1ft\x1fid:m1\x1f0\x1f").hexdigest()
    db.execute("INSERT INTO tenure_once VALUES (?, 'm1', 1)", (effect,))
    assert not insert_once(db, key(sent=1.5))
    assert insert_once(db, key(sent=1.5, id="m2"))
    assert not insert_once(db, key(sent=1.5, id="m2"))
    assert insert_once(db, key(sent=1.5, generation=1))


@pytest.mark.parametrize(
    "id", ["o'hara", "'; DROP TABLE tenure_once; --", "50%", "%s", 'quo"te', "ünïcode", "back\\slash'"]
)
def test_ids_of_any_shape_are_only_data(db: sqlite3.Connection, id: str) -> None:
    assert insert_once(db, key(id=id))
    assert not insert_once(db, key(id=id))
    ((stored,),) = db.execute("SELECT message_id FROM tenure_once").fetchall()
    assert stored == re.sub(r"[^A-Za-z0-9_.:/-]", "?", id)  # for people; `effect` tells messages apart


class Asyncpg:
    """Answers with status words, as asyncpg does."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    async def execute(self, sql: str, /) -> str:
        return f"INSERT 0 {self._db.execute(sql).rowcount}"


class Aiosqlite:
    """Answers with cursors."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    async def execute(self, sql: str, /) -> sqlite3.Cursor:
        return self._db.execute(sql)


class PsycopgCursor:
    """Answers with nothing useful; the count is on the cursor itself."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.rowcount = -1

    async def execute(self, sql: str, /) -> None:
        self.rowcount = self._db.execute(sql).rowcount


@pytest.mark.parametrize("driver", [Asyncpg, Aiosqlite, PsycopgCursor])
async def test_drivers_that_are_awaited_work_too(db: sqlite3.Connection, driver: Any) -> None:
    tx = driver(db)
    assert [await insert_once_async(tx, key()) for _ in range(2)] == [True, False]


def test_a_key_that_looks_like_an_id_is_still_a_key(db: sqlite3.Connection) -> None:
    assert insert_once(db, key(id="7"))
    assert insert_once(db, key(id="8", key="id:7"))


# --- connections that commit by themselves ---------------------------------------------------------------


def test_a_connection_that_commits_every_statement_is_refused_before_anything_is_written(
    db: sqlite3.Connection,
) -> None:
    db.isolation_level = None
    for tx in (db, db.cursor()):
        with pytest.raises(BadArgument, match=r"needs an open transaction.*the effect was not started"):
            insert_once(tx, key())
    assert db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


class Told:
    """A driver that tells about itself as others do."""

    def __init__(self, **told: Any) -> None:
        self.__dict__.update(told)
        self.rowcount = 1

    def execute(self, sql: str) -> "Told":
        return self


class Info:
    def __init__(self, status: int) -> None:
        self.transaction_status = status


@pytest.mark.parametrize(
    ("connection", "is_fine"),
    [
        (Told(), True),
        (Told(autocommit=True, info=Info(0)), False),
        (Told(autocommit=True, info=Info(2)), True),
        (Told(autocommit=False, info=Info(0)), True),
        (Told(is_in_transaction=lambda: False), False),
        (Told(is_in_transaction=lambda: True), True),
        (Told(in_transaction=False, autocommit=True), False),
        (Told(connection=Told(in_transaction=False, isolation_level=None)), False),
    ],
    ids=range(8),
)
def test_what_drivers_tell_about_themselves_is_believed(connection: Any, is_fine: bool) -> None:
    if is_fine:
        assert insert_once(connection, key())
    else:
        with pytest.raises(BadArgument):
            insert_once(connection, key())


def test_what_is_no_connection_at_all_is_refused() -> None:
    with pytest.raises(BadArgument, match="not None"):
        insert_once(cast("Any", None), key())
