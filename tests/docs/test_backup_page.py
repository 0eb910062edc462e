"""What the page on backups promises of messages that were leased, or sent again, is so."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tenure import Tenure
from tenure.lease import LeaseRequest
from tenure.message import MessageState
from tenure.owner import Owner

pytestmark = pytest.mark.real_time

_LEASE = 1.0


def _app(folder: Path) -> tuple[Tenure, list[str]]:
    ran: list[str] = []
    app = Tenure(f"sqlite:///{folder}/jobs.db")

    @app.task(queue="report-tasks", lease=_LEASE)
    async def report(name: str) -> None:
        ran.append(name)

    return app, ran


async def _backed_up(folder: Path) -> str:
    """A queue with one message that somebody holds, and its backup; what runs after it is lost."""
    app, _ = _app(folder)
    async with app:
        handle = await app.submit(app.tasks["report"].bind("held"))
        owner = Owner("old", "1", queues=("report-tasks",), boot_id="another boot", pid=1)
        await app.state.roster.join(owner)
        (lease,) = await app.broker.lease(LeaseRequest(owner.id, "r", ("report-tasks",), 1, _LEASE, has_presence=True))
        assert lease.id == handle.id
        with (
            closing(sqlite3.connect(folder / "jobs.db")) as queue,
            closing(sqlite3.connect(folder / "backup.db")) as backup,
        ):
            queue.backup(backup)
    return handle.id


async def test_a_message_that_was_leased_at_the_backup_runs_after_its_lease(tmp_path: Path) -> None:
    id = await _backed_up(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(tmp_path / "backup.db", elsewhere / "jobs.db")
    app, ran = _app(elsewhere)
    async with app, app.worker():
        await app.handle(id).result(timeout=60)
        status = await app.handle(id).status()
    assert ran == ["held"]
    assert status.state is MessageState.COMPLETED
    assert (status.counters.attempts, status.counters.lost) == (0, 1)


async def test_what_is_sent_again_under_its_key_after_a_restore_is_stored_once(tmp_path: Path) -> None:
    app, ran = _app(tmp_path)
    call = app.tasks["report"].bind("a")
    async with app:
        await app.submit(call, key="a")
        with (
            closing(sqlite3.connect(tmp_path / "jobs.db")) as queue,
            closing(sqlite3.connect(tmp_path / "backup.db")) as backup,
        ):
            queue.backup(backup)
        await app.submit(app.tasks["report"].bind("b"), key="b")
    for name in ("jobs.db", "jobs.db-wal", "jobs.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    shutil.copy(tmp_path / "backup.db", tmp_path / "jobs.db")
    app, ran = _app(tmp_path)
    async with app, app.worker():
        sent = [await app.submit(app.tasks["report"].bind(name), key=name) for name in ("a", "b")]
        await asyncio.gather(*(one.result(timeout=60) for one in sent))
    assert [one.duplicate for one in sent] == [True, False]
    assert sorted(ran) == ["a", "b"]
