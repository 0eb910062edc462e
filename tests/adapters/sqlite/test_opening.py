"""Opening: what is ours is brought up to date, and what is not is left alone."""

import asyncio
import contextlib
import os
import sqlite3
from pathlib import Path

import pytest

from tenure import assembly
from tenure.adapters.sqlite import SqliteBroker, connect, schema
from tenure.adapters.sqlite import store as store_module
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BadURL, SchemaTooNew, StoreDamaged, StoreForeign, StoreUnwritable
from tenure.message import MessageState
from tenure.query import Query

from .place import Place, ended, line_of, start


def execute(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute(statement)


async def test_a_file_of_a_newer_tenure_is_refused_and_not_touched(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db") as place:
        await place.send("a")
    newer = len(schema.MIGRATIONS) + 1
    execute(place.path, f"PRAGMA user_version = {newer}")
    before = place.path.read_bytes()
    with pytest.raises(SchemaTooNew, match=f"schema {newer}.*Upgrade"):
        await Place(tmp_path / "q.db").broker.open()
    assert place.path.read_bytes() == before


async def test_a_database_of_another_program_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    execute(path, "CREATE TABLE recipes (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(StoreForeign, match="another program"):
        await Place(path).broker.open()
    assert path.read_bytes() == before


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "q.db"
    path.write_bytes(b"this is a letter, not a database. " * 100)
    with pytest.raises(StoreDamaged, match="not a database"):
        await Place(path).broker.open()
    assert path.read_bytes().startswith(b"this is a letter")


async def test_a_damaged_database_is_named_as_such(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db") as place:
        await place.send(*(f"m{n}" for n in range(500)))
    content = bytearray(place.path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    place.path.write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"backup"):
        async with Place(tmp_path / "q.db") as again:
            await again.broker.browse(Query(states=(MessageState.READY,)))


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnwritable, match=r"file/q\.db cannot be created"):
        await Place(tmp_path / "file" / "q.db").broker.open()


async def test_a_path_that_is_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadURL, match=rf"{tmp_path} is a directory, not a file; nothing was opened"):
        await Place(tmp_path).broker.open()


async def test_missing_folders_are_made(tmp_path: Path) -> None:
    async with Place(tmp_path / "a" / "b" / "q.db") as place:
        assert (await place.send("a"))[0].id == "a"


def test_memory_is_not_a_file() -> None:
    for path in (":memory:", "", "file:q.db?mode=memory"):
        with pytest.raises(BadURL, match="memory://"):
            connect(path)


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("colour=blue", r"'colour' is not an option.*synchronous, busy_seconds, keep_seconds, body_limit"),
        ("synchronous=FULL", r"synchronous cannot be 'FULL'.*full or normal"),
        ("synchronous=", r"synchronous cannot be ''.*full or normal"),
        ("busy_seconds=-1", r"busy_seconds cannot be '-1'.*seconds above 0"),
        ("busy_seconds=10s", r"busy_seconds cannot be '10s'.*seconds above 0"),
        ("keep_seconds=inf", r"keep_seconds cannot be 'inf'.*seconds above 0"),
        ("keep_seconds=nan", r"keep_seconds cannot be 'nan'.*seconds above 0"),
        ("body_limit=1.5", r"body_limit cannot be '1.5'.*bytes above 0"),
        ("body_limit=0", r"body_limit cannot be '0'.*bytes above 0"),
    ],
)
def test_a_bad_value_is_told_from_an_option_that_there_is_not(query: str, complaint: str) -> None:
    with pytest.raises(BadURL, match=complaint) as caught:
        assembly.connect(f"sqlite:///q.db?{query}", clock=SYSTEM_CLOCK)
    assert ("is not an option" in str(caught.value)) == (query == "colour=blue")


def test_options_in_a_url_are_used() -> None:
    url = "sqlite:///q.db?synchronous=normal&busy_seconds=0.5&keep_seconds=60&body_limit=1000"
    broker, _ = assembly.connect(url, clock=SYSTEM_CLOCK)
    assert isinstance(broker, SqliteBroker)
    options = broker._store.options
    assert (options.synchronous, options.busy_seconds, options.keep_seconds) == ("normal", 0.5, 60.0)
    assert broker.traits.body_limit == 1000


async def test_a_link_and_its_target_are_the_same_store(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir()
    through_link, _ = connect(str(tmp_path / "link" / "q.db"))
    direct, _ = connect(str(tmp_path / "real" / "q.db"))
    assert through_link._store.presence._folder == direct._store.presence._folder


async def test_an_older_file_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Place(tmp_path / "q.db") as place:
        await place.send("a")
    newer = (*schema.MIGRATIONS, "ALTER TABLE meta ADD COLUMN remark TEXT;\nUPDATE meta SET remark = 'new';\n")
    migrate = schema.migrate
    monkeypatch.setattr(schema, "migrate", lambda db, path: migrate(db, path, newer))
    async with Place(tmp_path / "q.db") as place:
        assert place.sql("SELECT DISTINCT remark FROM meta WHERE name LIKE '%cursor'") == [("new",)]
        assert place.sql("PRAGMA user_version") == [(len(newer),)]
        assert [lease.id for lease in await place.lease()] == ["a"]


async def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db"):
        pass
    with contextlib.closing(sqlite3.connect(tmp_path / "q.db", isolation_level=None)) as db:
        broken = (*schema.MIGRATIONS, "ALTER TABLE meta ADD COLUMN remark TEXT;\nnonsense;\n")
        with pytest.raises(sqlite3.OperationalError):
            schema.migrate(db, "q.db", broken)
        assert db.execute("PRAGMA user_version").fetchone() == (len(schema.MIGRATIONS),)
        assert [row[1] for row in db.execute("PRAGMA table_info(meta)")] == ["name", "value"]


def test_an_old_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StoreDamaged, match=r"needs 3\.35\.0"):
        schema.check_library()


async def test_a_file_system_without_shared_memory_is_named(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as db, pytest.raises(StoreUnwritable, match="share memory"):
        store_module._switch_to_wal(db, "q.db")


async def test_broker_and_state_share_one_store_until_the_last_is_closed(tmp_path: Path) -> None:
    place = Place(tmp_path / "q.db")
    await place.broker.open()
    await place.state.open()
    await place.send("a")
    await place.broker.close()
    assert (await place.record("a")).state is MessageState.READY
    await place.state.close()
    assert not place.path.with_name("q.db-wal").exists()
    await place.state.open()
    assert (await place.record("a")).state is MessageState.READY
    await place.state.close()


OPEN_AT_ONCE = """
import asyncio, sys
from tenure.adapters.sqlite import connect
async def main():
    broker, _ = connect(sys.argv[1])
    sys.stdin.readline()
    await broker.open()
    await broker.close()
    print("opened", flush=True)
asyncio.run(main())
"""


@pytest.mark.real_time
async def test_many_processes_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(ended(start(OPEN_AT_ONCE, tmp_path / "q.db"))) for _ in range(4)]
        await asyncio.sleep(0.5)
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        assert [line_of(process) for process in processes] == ["opened"] * 4
