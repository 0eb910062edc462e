"""`tenure top` on a real place: one snapshot, and live in a terminal that is left as it was."""

import asyncio
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Group
from rich.text import Text

from tenure.app import Tenure
from tenure.cli.commands.top.live import _LiveView
from tenure.cli.terminal.screen import Screen
from tenure.client.operations.overview.reading import OverviewReader, drains_in
from tenure.client.operations.overview.rows import Flow, Overview
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BrokerUnavailable
from tenure.lease import LeaseRequest

from .conftest import URL, Run, answer, there

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


def test_a_snapshot_without_a_terminal(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}')
    shown = tenure("top", "jobs:app").stdout
    lines = shown.splitlines()
    assert lines[1].startswith(" No worker is alive and 1 message waits, for ")
    assert any(line.split()[0] == "default-tasks" for line in lines if line.strip())
    assert all(len(line) <= 120 for line in lines)
    assert "quit" not in shown
    assert "\x1b" not in shown


def test_json_says_what_cannot_be_known(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "a")
    shown = answer(tenure("top", "jobs:app", "--json"))
    (queue,) = [one for one in shown["queues"] if one["queue"] == "default-tasks"]
    assert (queue["waiting"], queue["running"], queue["flow"]["out_per_second"], queue["flow"]["p95_seconds"]) == (
        1,
        0,
        0.0,
        None,
    )
    assert shown["headline"]["mood"] == "bad"
    assert shown["total"]["waiting"] == 1
    assert shown["leases"] == shown["tasks"] == []


def test_queues_are_chosen_by_name_and_by_pattern(tenure: Run) -> None:
    for queue in ("a-tasks", "b-tasks", "other"):
        tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--queue", queue, "--yes")

    def names(*words: str) -> list[str]:
        return [queue["queue"] for queue in answer(tenure("top", URL, "--json", *words))["queues"]]

    assert names() == ["a-tasks", "b-tasks", "other"]
    assert names("--queue", "*-tasks") == ["a-tasks", "b-tasks"]
    assert names("--queue", "other", "--queue", "a-*") == ["a-tasks", "other"]
    assert tenure("top", URL, "--queue", "not a name*").exit_code == 2


def test_what_runs_is_shown_with_its_lease_and_its_holder(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "a")

    async def look(app: Tenure) -> Overview:
        request = LeaseRequest("somebody/00", "r1", ("default-tasks",), 1, 30.0)
        await app.broker.lease(request)
        return await OverviewReader(app.operate.access).read()

    overview = there(look)
    (lease,) = overview.leases
    assert (lease.id, lease.task, lease.owner, lease.attempt) == ("a", "resize", "somebody/00", 1)
    assert 0 < lease.deadline - overview.now <= 30.0
    (holder,) = overview.workers
    assert (holder.name, holder.holds, holder.has_presence) == ("somebody", 1, False)
    assert (overview.total.running, overview.total.waiting) == (1, 0)
    (task,) = overview.tasks
    assert (task.task, task.running) == ("resize", 1)


def test_a_paused_queue_is_shown_though_it_is_empty(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}')
    tenure("pause", URL, "default-tasks")
    (queue,) = answer(tenure("top", URL, "--json"))["queues"]
    assert queue["paused"]["by"]
    assert "is paused by" in tenure("top", URL, "--once").stdout.splitlines()[1]


@pytest.mark.parametrize(
    ("waiting", "rate_in", "rate_out", "told"),
    [(100, 1.0, 6.0, (20.0, False)), (100, 6.0, 6.0, (None, True)), (0, None, None, (0.0, False)),
     (None, 1.0, 2.0, (None, None)), (100, None, 2.0, (None, None))],
)  # fmt: skip
def test_when_a_queue_is_empty(
    waiting: int | None, rate_in: float | None, rate_out: float | None, told: tuple[float | None, bool | None]
) -> None:
    assert drains_in(waiting, Flow(in_per_second=rate_in, out_per_second=rate_out)) == told


@pytest.mark.parametrize("end", ["q", "ctrl-c"])
def test_the_terminal_is_left_as_it_was(tenure: Run, folder: Path, end: str) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}')
    with _terminal("top", URL) as (process, ours, theirs):
        before = termios.tcgetattr(theirs)
        shown = _until(ours, b"default-tasks")
        assert ENTER in shown
        os.write(ours, b"\t")  # another view
        os.write(ours, b"/def\r?")
        _until(ours, b"cannot be known")
        os.write(ours, b"x")
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        process.send_signal(signal.SIGWINCH)
        _until(ours, b"5 min")
        if end == "q":
            os.write(ours, b"q")
        else:
            process.send_signal(signal.SIGINT)
        rest = _until(ours, LEAVE)
        assert process.wait(30) == 0
        assert b"Traceback" not in rest
        assert termios.tcgetattr(theirs) == before
    assert folder.exists()


@contextmanager
def _terminal(*words: str) -> Iterator[tuple[subprocess.Popen[bytes], int, int]]:
    """A command in a terminal of 80 columns and 24 lines of its own."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment = {**kept, "TERM": "xterm-256color"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tenure", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    )
    try:
        yield process, ours, theirs
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


def _until(descriptor: int, words: bytes, seconds: float = 30.0) -> bytes:
    """Read what the terminal shows until these words come."""
    shown, until = b"", SYSTEM_CLOCK.monotonic() + seconds
    while words not in shown:
        assert SYSTEM_CLOCK.monotonic() < until, f"never showed {words!r}:\n{shown.decode(errors='replace')}"
        if select.select([descriptor], [], [], 0.2)[0]:
            shown += os.read(descriptor, 65_536)
    return shown


@pytest.mark.parametrize("steps", range(5))
async def test_ctrl_c_ends_it_also_in_the_moment_when_something_changed(steps: int) -> None:
    async with Tenure("memory://") as app:
        live = _LiveView(app, OverviewReader(app.operate.access), "jobs:app", Screen(width=80, height=24), 1.0)
        live.take(await OverviewReader(app.operate.access).read())
        running = asyncio.ensure_future(live.run(_Shown()))  # type: ignore[arg-type]
        await asyncio.sleep(0.5)
        live.press("tab")
        for _ in range(steps):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.sleep(0.1)
        assert running.cancelled()


class _Shaky:
    """A place that is away for a while."""

    def __init__(self, app: Tenure) -> None:
        self._reader = OverviewReader(app.operate.access)
        self.is_away = False

    async def read(self) -> Overview:
        if self.is_away:
            raise BrokerUnavailable("connection refused")
        return await self._reader.read()


class _Shown:
    """What was drawn last."""

    text = ""

    def update(self, drawn: Group, *, refresh: bool) -> None:
        assert refresh
        self.text = "\n".join(line.plain for line in drawn.renderables if isinstance(line, Text))


async def test_an_outage_is_shown_and_it_goes_on_when_the_store_is_back() -> None:
    async with Tenure("memory://") as app:
        shaky, shown = _Shaky(app), _Shown()
        live = _LiveView(app, shaky, "jobs:app", Screen(width=80, height=24), 1.0)  # type: ignore[arg-type]
        live.take(await shaky.read())
        running = asyncio.ensure_future(live.run(shown))  # type: ignore[arg-type]
        await asyncio.sleep(2.5)
        assert "Idle: nothing waits, nothing runs, 0 workers" in shown.text
        shaky.is_away = True
        await asyncio.sleep(30.0)
        assert "No answer from the store for " in shown.text
        assert "connection refused" in shown.text
        shaky.is_away = False
        await asyncio.sleep(2.5)
        assert "Idle: nothing waits" in shown.text
        live.press("p")
        await asyncio.sleep(1.5)
        assert "paused at" in shown.text
        live.press("q")
        await running
