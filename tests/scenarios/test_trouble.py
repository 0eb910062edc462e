"""A store in trouble, and clocks that lie: nothing that happens to all may be held against one."""

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BrokerUnavailable
from tenure.event import EventKind

from .grounds import SQLiteGround
from .process import TESTS
from .stage import Stage


@pytest.mark.parametrize(
    ("busy_seconds", "sweep_interval"),
    [(0.4, 0.25), (10.0, 0.25), (10.0, 2.0)],
    ids=["calls-fail", "calls-wait", "sweeps-are-rare"],
)
def test_a_database_locked_by_someone_else_costs_no_lease(
    stage: Stage, busy_seconds: float, sweep_interval: float
) -> None:
    """No overlap, no loss: for more than two leases nobody can write. Work goes on, verdicts settle afterwards.

    Also where sweeps are rarer than leases are long, so that the outage is no gap between two sweeps.
    """
    stage.configure(lease=1, sweep_interval=sweep_interval, options=f"busy_seconds={busy_seconds}")
    workers = [stage.worker(concurrency=20), stage.worker(concurrency=20)]
    long = stage.submit_many("nap", [{"seconds": 4.0}] * 10)
    short = stage.submit_many("nap", [{"seconds": 1.0}] * 10)
    threaded = stage.submit_many("nap_in_thread", [{"seconds": 1.5}] * 5)
    stage.until_started(25)

    with closing(sqlite3.connect(stage.database, isolation_level=None)) as stranger:
        stranger.execute("BEGIN IMMEDIATE")
        locked_at = SYSTEM_CLOCK.monotonic()
        submitting = stage.do(submit_while_locked(stage, stranger, seconds=2.5))
    assert SYSTEM_CLOCK.monotonic() - locked_at >= 2.5
    if busy_seconds < 2.5:
        assert isinstance(submitting, BrokerUnavailable)
        assert submitting.code == "broker_unavailable"
        assert "locked" in str(submitting)
    else:
        stage.sent.append(str(submitting))

    stage.until_settled()

    stage.verdict()
    assert len(stage.runs([*long, *short, *threaded])) == 25, "each ran once"
    assert all(stage.record(id).counters.lost == 0 for id in stage.sent)
    assert not stage.events(EventKind.REQUEUE, EventKind.LEASE_LOST, EventKind.LATE_SETTLE)
    assert all(worker.exit_code is None for worker in workers)


async def submit_while_locked(stage: Stage, stranger: sqlite3.Connection, seconds: float) -> str | BrokerUnavailable:
    """What becomes of a submit that is made while the file is locked for so long."""

    async def submit() -> str | BrokerUnavailable:
        try:
            return (await stage.app.submit("nap", {"seconds": 0.0})).id
        except BrokerUnavailable as error:
            return error

    submitting = asyncio.ensure_future(submit())
    await asyncio.sleep(seconds)
    stranger.execute("ROLLBACK")
    return await submitting


class LimitedDisk:
    """A disk that is full to those who write to it beyond a size, made by a limit on the processes."""

    #: What workers and senders are started as.
    module = "scenarios.starving"

    def __init__(self, stage: Stage) -> None:
        """The database is where it always is."""
        self._limit = stage.folder / "limit"

    def fill(self) -> None:
        """From now on no file can be written beyond this size. Only the database is larger."""
        self._limit.write_text(str(200_000))

    def free(self) -> None:
        """There is room again."""
        self._limit.unlink()


class SmallDisk:
    """A real disk, of 16 MB."""

    module = "tenure"

    def __init__(self, stage: Stage, mount: Path) -> None:
        """The database goes to `mount`."""
        assert isinstance(stage.ground, SQLiteGround)
        stage.ground.database = mount / "jobs.db"
        self._filler = mount / "filler"

    def fill(self) -> None:
        """To the last byte."""
        with self._filler.open("wb", buffering=0) as filler:
            for size in (65_536, 1):
                try:
                    while True:
                        filler.write(bytes(size))
                except OSError:
                    continue

    def free(self) -> None:
        """There is room again."""
        self._filler.unlink()


@contextmanager
def mounted(folder: Path) -> Iterator[bool]:
    """A disk of 16 MB at `folder`; False: we may not mount one."""
    folder.mkdir()
    if sys.platform != "linux":
        yield False
        return
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tenure-scenario", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(params=["real", "limited"])
def disk(request: pytest.FixtureRequest, stage: Stage) -> Iterator[LimitedDisk | SmallDisk]:
    """A disk that can be filled: a real one where we may mount it, else (and also) one that only seems full."""
    if request.param == "limited":
        yield LimitedDisk(stage)
        return
    mount = stage.folder / "disk"
    with mounted(mount) as is_real:
        yield SmallDisk(stage, mount) if is_real else LimitedDisk(stage)
        stage.close()  # before the disk goes


def test_a_full_disk_stops_everything_and_loses_nothing(stage: Stage, disk: LimitedDisk | SmallDisk) -> None:
    """No loss: senders are told, workers wait with their verdicts, and all goes on once there is room."""
    stage.configure(lease=1, sweep_interval=0.25, options="busy_seconds=0.4")
    workers = [stage.worker(concurrency=20, module=disk.module) for _ in range(2)]
    # So much that the log of the database is longer than any other file.
    stage.submit_many("pass_gate", [{"gate": "late", "padding": "x" * 500_000}])
    ids = stage.submit_many("pass_gate", [{"gate": "early"}] * 10)
    ids += stage.submit_many("pass_gate_in_thread", [{"gate": "late"}] * 10)
    stage.until_started(21)

    disk.fill()
    stage.until(lambda: all("trying again" in worker.said for worker in workers), "both workers meet the full disk")
    stage.open_gate("early")
    stage.until(lambda: sum(run.how is not None for run in stage.runs(ids)) >= 10, "ten have done their work")
    refused = submit(stage, disk.module)
    time.sleep(2.2)  # more than two leases in which nobody can write: the scenario, not a wait

    assert refused.returncode == 1
    assert "error[broker_unavailable]" in refused.stderr
    assert all(worker.exit_code is None for worker in workers)
    assert stage.unsettled() == 21, "nothing was stored, and nothing could be settled"

    disk.free()
    stage.open_gate("late")
    accepted = submit(stage, disk.module)
    assert accepted.returncode == 0
    stage.sent.append(accepted.stdout.strip())
    stage.until_settled()

    stage.verdict()
    assert len(stage.runs(ids)) == 20, "each ran once"
    assert all(stage.record(id).counters.lost == 0 for id in ids)


def submit(stage: Stage, module: str) -> subprocess.CompletedProcess[str]:
    """`tenure submit`, as its own process."""
    words = [sys.executable, "-m", module, "submit", "scenarios.served:app", "nap", '{"seconds": 0}']
    return subprocess.run(
        words, cwd=TESTS, env=stage.environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_wall_clock_that_jumps_by_hours_changes_nothing(stage: Stage) -> None:
    """No decision is made by the wall clock: leases, delays, sweeps and deaths go by the monotonic one."""
    stage.configure(lease=1, sweep_interval=0.25)
    clock = stage.folder / "clock"
    clock.write_text("0")
    first = stage.worker(module="scenarios.lying")
    second = stage.worker(module="scenarios.lying")
    submitted_at = SYSTEM_CLOCK.monotonic()
    long = stage.submit_many("nap", [{"seconds": 3.0}] * 6)
    (delayed,) = stage.submit("nap", {"seconds": 0.0}, delay=1.5)
    failing = stage.submit("fail", {}, count=2)
    stage.until_started(6, long)

    for offset in (3600, -3600, 3600, 0, -3600, 3600, -3600, 0, 3600, -3600):
        clock.write_text(str(offset))
        time.sleep(0.2)  # a jump has to last a little; nothing waits for this
    stage.until_settled()
    assert len(stage.runs(long)) == 6, "each ran once"
    assert all(stage.record(id).counters.lost == 0 for id in stage.sent)
    waited = stage.runs([delayed])[0].start - submitted_at
    assert waited >= 1.5
    stage.measured("the start of a message that was delayed by 1.5 s", waited, at_most=3.0)
    assert not stage.events(EventKind.REQUEUE, EventKind.LEASE_LOST, EventKind.SWEEP_GRACE)

    (held,) = stage.submit("pass_gate", {"gate": "open"})
    stage.until_started(1, [held])
    victim, heir = (first, second) if stage.runs([held])[0].pid == first.pid else (second, first)
    clock.write_text("3600")
    killed_at = victim.kill()
    stage.until_started(2, [held])
    clock.write_text("-3600")
    stage.open_gate("open")
    stage.until_settled()

    assert stage.runs([held])[1].pid == heir.pid
    stage.measured("from kill -9 to the next start", stage.runs([held])[1].start - killed_at, at_most=3.0)
    stage.verdict(dead=failing)
