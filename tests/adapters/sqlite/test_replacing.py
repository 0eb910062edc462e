"""A database that is deleted or replaced while it is open: whoever uses it is told, and loses nothing silently."""

import asyncio
import contextlib
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tenure.claim import ClaimRequest, Fresh, Scope
from tenure.errors import StoreReplaced
from tenure.message import MessageState
from tenure.settlement import GiveBack
from tenure.testing.virtual import VirtualClock

from .place import QUEUE, Place, ended, line_of, start


def _delete(path: Path) -> None:
    path.unlink()


def _replace(path: Path) -> None:
    """By a backup from before the first message."""
    backup = path.with_name("backup.db")
    with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(backup)) as target:
        source.backup(target)
    backup.rename(path)


def _lose_wal(path: Path) -> None:
    Path(f"{path}-wal").unlink()


def _has_wal(path: Path) -> bool:
    return Path(f"{path}-wal").exists()


def _lose_shm(path: Path) -> None:
    Path(f"{path}-shm").unlink()


def _pass(place: Place, seconds: float) -> None:
    assert isinstance(place.clock, VirtualClock)
    place.clock.now += seconds


HARM = [_delete, _replace, _lose_wal, _lose_shm]
harmed = pytest.mark.parametrize("harm", HARM)


@harmed
async def test_a_send_into_a_file_that_is_gone_fails(place: Place, harm: Callable[[Path], None]) -> None:
    await place.send("before")
    harm(place.path)
    _pass(place, 0.1)
    with pytest.raises(StoreReplaced, match="nothing was written") as caught:
        await place.send("after")
    assert caught.value.code == "store_replaced"


@pytest.mark.parametrize("harm", [_delete, _replace, _lose_wal])
async def test_a_file_that_goes_during_the_commit_is_noticed_before_the_answer(
    place: Place, harm: Callable[[Path], None]
) -> None:
    """After the commit is the only look that proves where the message is."""
    await place.send("before")
    db = place.store._writer._db

    def on_statement(statement: str) -> None:
        if statement == "COMMIT":
            db.set_trace_callback(None)
            harm(place.path)

    db.set_trace_callback(on_statement)
    with pytest.raises(StoreReplaced, match="is in files that are no longer at this path"):
        await place.send("during")


async def test_a_file_that_was_moved_away_gets_nothing_more(place: Place) -> None:
    """It may come back, and must not hold what its sender was told is nowhere."""
    statements: list[str] = []
    await place.send("before")
    moved = place.path.rename(place.path.with_name("moved.db"))
    _pass(place, 0.1)
    place.store._writer._db.set_trace_callback(statements.append)
    with pytest.raises(StoreReplaced, match="nothing was written"):
        await place.send("after")
    assert "COMMIT" not in statements
    assert moved.exists()


@harmed
async def test_every_call_fails_from_then_on(place: Place, harm: Callable[[Path], None]) -> None:
    await place.send("before")
    harm(place.path)
    _pass(place, 0.1)
    with pytest.raises(StoreReplaced):
        await place.send("after")
    for call in (place.lease(), place.broker.depth(), place.state.records.get("before"), place.broker.wait([QUEUE], 0)):
        with pytest.raises(StoreReplaced):
            await call


@harmed
async def test_whoever_only_reads_and_waits_notices_within_a_second(place: Place, harm: Callable[[Path], None]) -> None:
    await place.broker.depth()
    harm(place.path)
    _pass(place, 1.0)
    with pytest.raises(StoreReplaced):
        await place.broker.wait([QUEUE], 60.0)


@harmed
async def test_an_idle_lease_notices_within_a_second(place: Place, harm: Callable[[Path], None]) -> None:
    await place.lease()
    harm(place.path)
    _pass(place, 1.0)
    with pytest.raises(StoreReplaced):
        await place.lease()


async def test_a_file_that_is_not_harmed_is_used_on(place: Place) -> None:
    for number in range(5):
        _pass(place, 2.0)
        await place.send(f"m{number}")
        await place.broker.depth()
    assert len(await place.lease(10)) == 5


LOOKER = """
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("SELECT id FROM message ORDER BY id").fetchall()
print([id for (id,) in rows], flush=True)
"""
SENDER = """
import asyncio, sys, msgspec
from tenure.adapters.sqlite import connect
from tenure.message import Message, Outgoing
async def main():
    broker, _ = connect(sys.argv[1])
    await broker.open()
    await broker.send([Outgoing(Message(id=sys.argv[2], queue="mail", task="deliver", body=msgspec.Raw(b"{}")))])
    await broker.close()
    print("sent", flush=True)
asyncio.run(main())
"""


@pytest.mark.real_time
async def test_closing_leaves_the_new_wal_of_another_process_alone(tmp_path: Path) -> None:
    """SQLite removes the `-wal` by its name when the last connection closes, whichever it is."""
    async with Place(tmp_path / "q.db") as place:
        await place.send("old")
        place.store._writer._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        _lose_wal(place.path)
        _lose_shm(place.path)
        with ended(start(SENDER, place.path, "new")) as other:
            assert await asyncio.to_thread(line_of, other) == "sent"
            await asyncio.to_thread(other.wait)
        assert _has_wal(place.path)
    with ended(start(LOOKER, place.path)) as other:
        assert await asyncio.to_thread(line_of, other) == "['new', 'old']"


async def test_closing_leaves_the_files_of_the_new_database_alone(tmp_path: Path) -> None:
    old = Place(tmp_path / "q.db")
    async with old:
        await old.send("old")
        _replace(old.path)
        with pytest.raises(StoreReplaced):
            await old.send("lost")
        async with Place(old.path) as new:
            await new.send("new")
            await old.state.close()
            await old.broker.close()
            assert _has_wal(old.path)
            await new.send("newer")
        async with Place(old.path) as later:
            assert (await later.record("new")).state is MessageState.READY
            assert (await later.record("newer")).state is MessageState.READY


async def test_closing_without_having_noticed_leaves_them_alone_too(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db") as old:
        await old.send("old")
        _replace(old.path)
        _lose_wal(old.path)
        _lose_shm(old.path)
        async with Place(old.path) as new:
            await new.send("new")
            await old.state.close()
            await old.broker.close()
            await new.send("newer")
            assert (await new.record("new")).state is MessageState.READY


async def test_the_commits_of_the_old_file_do_not_reach_the_restored_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """SQLite applies a `-wal` to whatever database lies beside it."""
    path, backup = tmp_path / "q.db", tmp_path / "backup.db"
    async with Place(path) as place:
        await place.send("kept")
    shutil.copy(path, backup)
    caplog.set_level(logging.WARNING)
    async with Place(path) as place:
        for number in range(200):
            await place.send(f"m{number}", task="t" * 100)
        backup.rename(path)
        with pytest.raises(StoreReplaced):
            await place.send("lost")
    (aside,) = [name for name in os.listdir(tmp_path) if ".of-" in name]  # noqa: PTH208 - nothing waits for this loop
    assert aside in caplog.text
    async with Place(path) as restored:
        assert [(depth.queue, depth.ready) for depth in await restored.broker.depth()] == [(QUEUE, 1)]
        assert restored.sql("PRAGMA integrity_check") == [("ok",)]


async def test_a_wal_that_was_deleted_is_saved_by_closing(tmp_path: Path) -> None:
    """Its bytes are still there for those who have it open."""
    async with Place(tmp_path / "q.db") as place:
        await place.send("before")
        _lose_wal(place.path)
        _pass(place, 0.1)
        with pytest.raises(StoreReplaced):
            await place.send("after")
    async with Place(place.path) as later:
        assert (await later.record("before")).state is MessageState.READY
        assert await later.state.records.get("after") is None


async def test_it_can_be_opened_again_in_the_same_process(place: Place) -> None:
    await place.send("old")
    _delete(place.path)
    with pytest.raises(StoreReplaced):
        await place.send("lost")
    async with Place(place.path) as new:
        assert await new.broker.depth() == []
        await new.send("new")
        assert (await new.record("new")).state is MessageState.READY


@pytest.mark.real_time
async def test_a_fork_does_not_look_like_a_loss(tmp_path: Path) -> None:
    """It closes every connection, and SQLite removes the `-wal` with the last one."""
    async with Place(tmp_path / "q.db") as place:
        await place.send("a")
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        await asyncio.to_thread(os.waitpid, pid, 0)
        await asyncio.gather(place.broker.depth(), place.send("b"), place.broker.depth())
        await place.send("c")


# -- a restored backup -----------------------------------------------------------------------------


async def _fences(place: Place) -> tuple[int, int]:
    """One of a lease and one of a claim."""
    (lease,) = await place.lease()
    await place.broker.give_back([GiveBack(lease)])
    scope = Scope(QUEUE, "deliver", f"key{lease.fence}")
    (answer,) = await place.state.ledger.claim([ClaimRequest(scope, "m", "w/1", 30.0, "")])
    assert isinstance(answer, Fresh)
    return lease.fence, answer.token.fence


class OtherBoot(VirtualClock):
    """The machine was started again: monotonic time begins anew."""

    def __init__(self, wall: float) -> None:
        super().__init__()
        self.now = 5.0
        self.move_wall(wall - self.wall())

    def boot_id(self) -> str:
        return "another boot"


def _put_in_place(backup: Path, path: Path) -> None:
    shutil.copyfile(backup, path)


def _move_in_place(backup: Path, path: Path) -> None:
    backup.rename(path)


@pytest.mark.parametrize("restore", [_put_in_place, _move_in_place])
@pytest.mark.parametrize("rebooted", [False, True])
async def test_a_restored_backup_repeats_no_fence(
    tmp_path: Path, restore: Callable[[Path, Path], None], rebooted: bool
) -> None:
    path, backup = tmp_path / "q.db", tmp_path / "backup.db"
    clock = VirtualClock()
    async with Place(path, clock) as place:
        await place.send("m")
        await _fences(place)
    shutil.copyfile(path, backup)
    async with Place(path, clock) as place:
        seen = [fence for _ in range(100) for fence in await _fences(place)]
    restore(backup, path)
    assert sorted(seen) == seen
    clock.now += 1.0
    if rebooted:
        clock = OtherBoot(clock.wall())
    async with Place(path, clock) as place:
        assert min(await _fences(place)) > max(seen)


async def test_fences_rise_also_when_time_stands_still(place: Place) -> None:
    await place.send("m")
    seen = [fence for _ in range(200) for fence in await _fences(place)]
    assert len(set(seen)) == len(seen)
    assert sorted(seen) == seen


async def test_a_row_does_not_grow_when_it_is_lent(place: Place) -> None:
    """A row that grows splits its page, and that was half the cost of a lease."""
    await place.send("m")
    takes_six_bytes = "SELECT fence BETWEEN 1 << 31 AND (1 << 47) - 1 FROM message"
    assert place.sql(takes_six_bytes) == [(1,)]
    await place.lease()
    assert place.sql(takes_six_bytes) == [(1,)]
