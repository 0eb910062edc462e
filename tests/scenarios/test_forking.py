"""Processes that fork: whatever they were told is stored is done, and whoever died is dead."""

import os
import signal
import sqlite3
from contextlib import closing, suppress

import pytest

from .forking import register_forking
from .stage import Stage

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="not applicable: no fork on this platform")


def _await_acknowledged(stage: Stage) -> list[str]:
    """Everything that was acknowledged to anybody must be found by the judge."""
    ids = (stage.folder / "acknowledged").read_text().split()
    stage.sent += ids
    return ids


def _forking_worker(stage: Stage) -> None:
    if "hand_to_fork" not in stage.app.tasks:
        register_forking(stage.app)
    process = stage.start("-m", "tenure", "worker", "scenarios.forking:app", "--verbose")
    stage.until(lambda: process.pid in stage.alive() or process.exit_code is not None, "a worker joins")
    assert process.exit_code is None, process.said


def test_a_server_that_forks_its_workers_loses_nothing(stage: Stage) -> None:
    """Nothing lost: the master has sent before it forks, and closes before its children have sent everything."""
    server = stage.start("-m", "scenarios.forking", "prefork")
    assert server.wait(60) == 0, server.said
    assert len(_await_acknowledged(stage)) == 1 + 4 * 25

    stage.worker()
    stage.until_settled()

    stage.verdict()


def test_a_daemon_loses_nothing_when_its_parent_has_ended(stage: Stage) -> None:
    """Nothing lost: somebody else opens and closes the file meanwhile, and takes itself for the only one."""
    parent = stage.start("-m", "scenarios.forking", "daemon")
    assert parent.wait(60) == 0, parent.said
    stage.until((stage.folder / "sending").exists, "the daemon has sent")
    with closing(sqlite3.connect(stage.database)) as db:
        assert db.execute("SELECT count(*) FROM message").fetchone() == (2,)
    stage.open_gate("looked")
    stage.until((stage.folder / "done").exists, "the daemon has sent everything")
    assert len(_await_acknowledged(stage)) == 52

    stage.worker()
    stage.until_settled()

    stage.verdict()


def test_handlers_that_fork_disturb_neither_their_worker_nor_their_children(stage: Stage) -> None:
    """Nothing lost: in the midst of leases, beats and settles, the worker is forked again and again.

    Other handlers use SQLite for themselves. A child that was forked while one of them was within it refuses before
    it has sent anything, and its handler is run again.
    """
    _forking_worker(stage)
    beside = stage.submit("nap", {"seconds": 0.1}, count=20)
    stage.submit("hand_to_fork", {"count": 5}, count=20)

    stage.until_settled(within=60)

    assert len(_await_acknowledged(stage)) == 100
    stage.verdict()
    assert len(stage.runs(beside)) == 20


def test_a_forked_child_does_not_keep_a_killed_worker_alive(stage: Stage) -> None:
    """Returned within seconds, at a lease of minutes: the child lives, and holds nothing of the worker's."""
    stage.configure(lease=300, sweep_interval=0.25)
    _forking_worker(stage)
    (id,) = stage.submit("leave_a_fork", {})
    left = stage.folder / "left"
    stage.until(lambda: left.exists() and left.read_text(), "the child is left")
    child = int(left.read_text())
    try:
        killed = stage.processes[-1].kill()
        _forking_worker(stage)
        took = stage.until_settled() - killed
        os.kill(child, 0)  # it is still there
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)

    stage.measured("a message of a killed worker with a living child is done elsewhere", took)
    stage.verdict()
    assert [run.id for run in stage.runs()] == [id, id]
