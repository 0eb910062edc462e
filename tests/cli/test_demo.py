"""The demo: the whole of it as a scenario, and its parts: they must see what is wrong, or they prove nothing."""

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

import tenure
from tenure.broker import Depth
from tenure.cli.commands.demo.board import DemoBoard
from tenure.cli.commands.demo.crew import Crew
from tenure.cli.commands.demo.glance import DrawnLease, Glance
from tenure.cli.commands.demo.reckoning import Reckoning, reckon
from tenure.cli.commands.demo.screen import Scene, draw, progress_line, summary
from tenure.cli.commands.demo.tasks import QUEUES, build, effects_in
from tenure.cli.commands.demo.traffic import Traffic
from tenure.cli.commands.demo.web import DemoServer
from tenure.clock import SYSTEM_CLOCK
from tenure.event import Event, EventKind, StoredEvent
from tenure.lease import LeaseRequest
from tenure.message import Message
from tenure.settlement import Ack
from tenure.tasks.context import Context

from .conftest import Run
from .process import started

LAST_LINE = re.compile(r"sent (\d+) · completed (\d+) · dead (\d+) · duplicates 0 · lost 0( · unfinished \d+)?")

# -- the whole ---------------------------------------------------------------------------------------


def _demo_processes(folder: Path) -> list[int]:
    """Processes that work in `folder`, by their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            environment = entry.read_bytes()
        except OSError:
            continue
        if f"TENURE_DEMO_DIR={folder}".encode() in environment:
            found.append(int(entry.parent.name))
    return found


@pytest.mark.scenario
def test_the_demo_keeps_its_promises_and_ends_by_itself(folder: Path) -> None:
    with started("demo", "--for", "6s", "--dir", str(folder / "data")) as demo:
        out = demo.output()
    assert demo.process.returncode == 0, out
    found = LAST_LINE.fullmatch(out.splitlines()[-1])
    assert found, out
    sent, completed, dead = (int(found[n]) for n in (1, 2, 3))
    assert sent > 100
    assert completed + dead == sent
    assert dead >= 1
    assert "kill -9 ended a worker" in out
    assert "ready again after" in out
    assert any("sending" in line for line in out.splitlines()[1:3])
    if Path("/proc").is_dir():
        assert _demo_processes(folder / "data") == []


@pytest.mark.scenario
def test_the_demo_ends_on_ctrl_c_with_its_summary_and_leaves_nothing_behind(folder: Path) -> None:
    (folder / "tmp").mkdir()
    with started("demo", "--for", "60s", "--json", "--rate", "30", TMPDIR=str(folder / "tmp")) as demo:
        demo.says("sending")
        demo.send(signal.SIGINT)
        out = demo.output()
    assert demo.process.returncode == 0
    figures = msgspec.json.decode(out)
    assert figures["promises_kept"] is True
    assert (figures["lost"], figures["duplicates"]) == (0, 0)
    assert list((folder / "tmp").iterdir()) == []


@pytest.mark.scenario
def test_the_demo_can_be_looked_at_over_http_while_it_runs(folder: Path) -> None:
    with started("demo", "--for", "60s", "--json", "--rate", "30", "--dir", str(folder / "data")) as demo:
        address = re.search(r"http://\S+", demo.says("Watch it at"))
        assert address
        with urllib.request.urlopen(f"{address[0]}/api/v1/queues", timeout=30) as answer:  # noqa: S310 - our own server
            queues = {one["queue"] for one in msgspec.json.decode(answer.read())["queues"]}
        demo.send(signal.SIGINT)
        demo.output()
    assert queues & set(QUEUES)
    assert demo.process.returncode == 0


@pytest.mark.scenario
def test_the_demo_goes_on_without_the_packages_of_the_server(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['uvicorn'] = None\n")
    path = os.pathsep.join((str(folder), str(Path(tenure.__file__).parents[1])))
    with started("demo", "--for", "3s", "--dir", str(folder / "data"), PYTHONPATH=path) as demo:
        out = demo.output()
    assert demo.process.returncode == 0, out
    assert "No server: pip install 'tenure[server]'" in out


@pytest.mark.scenario
def test_workers_do_not_outlive_a_demo_that_was_killed(folder: Path) -> None:
    if not Path("/proc").is_dir():
        pytest.skip("processes are found through /proc here")
    with started("demo", "--for", "60s", "--dir", str(folder / "data")) as demo:
        assert demo.process.stdout is not None
        demo.process.stdout.readline()
        demo.process.stdout.readline()  # the first progress line: workers are up
        workers = _demo_processes(folder / "data")
        assert workers
        demo.process.kill()
        demo.process.wait()
    for _ in range(300):
        if not _demo_processes(folder / "data"):
            return
        asyncio.run(asyncio.sleep(0.1))
    raise AssertionError(f"still there: {_demo_processes(folder / 'data')}")


@pytest.mark.scenario
def test_a_worker_whose_demo_is_gone_before_it_starts_ends_too(folder: Path) -> None:
    data = folder / "data"
    data.mkdir()
    gone = subprocess.Popen(["true"])
    gone.wait()
    worker = subprocess.run(
        [sys.executable, "-m", "tenure", "worker", "tenure.cli.commands.demo.served:app"],
        capture_output=True,
        check=False,
        env={**os.environ, "TENURE_DEMO_DIR": str(data), "TENURE_DEMO_PID": str(gone.pid)},
        timeout=60,
    )
    assert worker.returncode == 0, worker.stderr.decode()


@pytest.mark.scenario
def test_workers_that_do_not_start_end_the_demo_with_their_last_words(
    tenure: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = folder / "python"
    broken.write_text("#!/bin/sh\necho no such interpreter\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(broken))
    result = tenure("demo", "--for", "60s", "--dir", "data")
    assert result.exit_code == 1
    assert re.search(r"error\[demo_worker_failed\]: worker-\d does not start: no such interpreter", result.stderr)


# -- its parts ---------------------------------------------------------------------------------------


async def _sent_and_done(folder: Path, ids: list[str], *, effects: dict[str, int]) -> Reckoning:
    """Reckon over messages that completed, with so many effects each."""
    app, written = build(folder), effects_in(folder)
    written.create()
    async with app:
        for id in ids:
            await app.submit(app.tasks["resize"].bind("a.png", 0.0), id=id)
        leases = await app.broker.lease(LeaseRequest("me", "1", QUEUES, 100, 30.0))
        await app.broker.ack([Ack(lease, b"null") for lease in leases])
        with closing(sqlite3.connect(folder / "effects.db")) as db:
            db.executemany(
                "INSERT INTO effects VALUES (?, 'resize', 1)",
                [(id,) for id, times in effects.items() for _ in range(times)],
            )
            db.commit()
        return await reckon(app, [*ids, *([] if "ghost" not in effects else ["ghost"])], written)


def test_the_reckoning_finds_all_well(folder: Path) -> None:
    found = asyncio.run(_sent_and_done(folder, ["a", "b"], effects={"a": 1, "b": 1}))
    assert str(found) == "sent 2 · completed 2 · dead 0 · duplicates 0 · lost 0"
    assert found.promises_kept


def test_the_reckoning_sees_an_effect_done_twice(folder: Path) -> None:
    found = asyncio.run(_sent_and_done(folder, ["a", "b"], effects={"a": 3, "b": 1}))
    assert found.duplicates == 2
    assert not found.promises_kept


def test_the_reckoning_sees_a_completed_message_without_its_effect(folder: Path) -> None:
    found = asyncio.run(_sent_and_done(folder, ["a", "b"], effects={"b": 1}))
    assert found.lost == 1
    assert not found.promises_kept


def test_the_reckoning_sees_a_message_that_nobody_knows(folder: Path) -> None:
    found = asyncio.run(_sent_and_done(folder, ["a"], effects={"a": 1, "ghost": 1}))
    assert found.lost == 1
    assert not found.promises_kept


def test_what_is_still_in_a_queue_is_late_not_lost(folder: Path) -> None:
    async def play() -> Reckoning:
        app, effects = build(folder), effects_in(folder)
        effects.create()
        async with app:
            handle = await app.submit(app.tasks["resize"].bind("a.png", 0.0))
            return await reckon(app, [handle.id], effects)

    found = asyncio.run(play())
    assert str(found).endswith("lost 0 · unfinished 1")
    assert found.promises_kept


class _Link:
    lease_lost = False
    send_id = ""


def test_an_effect_is_written_once_and_a_repeated_run_skips_it(folder: Path) -> None:
    effects = effects_in(folder)
    effects.create()
    message = Message(id="a", queue="images", task="resize", body=msgspec.Raw(b"{}"))
    first = Context(message, 1, 1, _Link(), None)  # type: ignore[arg-type]
    second = Context(message, 1, 2, _Link(), None)  # type: ignore[arg-type]
    assert effects.write(first)
    assert not effects.write(second)
    assert (effects.doubled(), effects.done(), effects.skipped()) == (0, {"a"}, 1)


def test_traffic_sends_a_mix_and_knows_every_id(folder: Path) -> None:
    async def play() -> tuple[Traffic, dict[str, int]]:
        app = build(folder)
        traffic = Traffic(app, 60.0, 20.0)
        async with app:
            for tick in range(100):
                await traffic._send(0.1, 0.1 * tick)
            records = [await app.record(id) for id in traffic.sent]
        tasks = [record.task for record in records if record is not None]
        return traffic, {str(task): tasks.count(task) for task in tasks}

    traffic, tasks = asyncio.run(play())
    assert set(tasks) == {"resize", "transcode", "notify", "fax", "report", "explode"}
    assert tasks["explode"] == 1
    assert 570 <= len(traffic.sent) == len(set(traffic.sent)) <= 630
    assert traffic.recognised == 10


def _stored(*events: Event) -> list[StoredEvent]:
    return [StoredEvent(number, event) for number, event in enumerate(events, 1)]


def _board() -> DemoBoard:
    board = DemoBoard()
    board.killed("worker-2/abc", 100.0, 14)
    board.take(
        _stored(
            Event(EventKind.COMPLETED, 100.0, "images", "resize", "1" * 32, "worker-1/x", 1, 0.2),
            Event(EventKind.COMPLETED, 100.0, "video", "transcode", "2" * 32, "worker-1/x", 1, 6.0),
            Event(EventKind.RETRIED, 100.1, "mail", "notify", "3" * 32, "worker-1/x", 1, 0.1, {"after_seconds": 0.5}),
            Event(EventKind.DEAD, 100.2, "mail", "fax", "4" * 32, "worker-1/x", 3, 0.1, {"code": "max_attempts"}),
            Event(EventKind.REQUEUE, 100.9, data={"count": 14, "ids": [], "triggered_by": "liveness"}),
            Event(EventKind.OWNER_RETIRED, 100.9, owner="worker-2/abc", data={"count": 14, "left": False}),
            Event(EventKind.OWNER_RETIRED, 101.0, owner="worker-1/x", data={"count": 3, "left": False}),
            Event(EventKind.OWNER_RETIRED, 101.0, owner="worker-1/y", data={"count": 0, "left": True}),
            Event(EventKind.LEASE_LOST, 101.0, "images", "resize", "5" * 32, "worker-1/x", 1),
        )
    )
    return board


def test_the_board_tells_what_matters_and_counts_the_rest() -> None:
    board = _board()
    assert [f"{line.word}: {line.text}" for line in board.lines] == [
        "kill -9: worker-2 is ended while it holds 14 messages",
        "completed: transcode 222222 ran 6.0 s on a lease of 2 s",
        "retried: notify 333333 failed, attempt 1; again in 0.5 s",
        "dead: fax 444444 to the dead letters: max_attempts",
        "requeue: 14 messages of worker-2 ready again, 0.9 s after kill -9",
        "requeue: worker-1 crashed; its 3 messages are ready again",
        "lease lost: resize 555555",
    ]
    assert board.counts["completed"] == 2
    assert board.recoveries == [pytest.approx(0.9)]
    assert board.place == 9


def _scene(folder: Path) -> Scene:
    held = DrawnLease("a" * 32, "transcode", "worker-1", 1.4, 2.0, 4.1, 0.67)
    depths = tuple(
        Depth(queue=queue, ready=123_456, delayed=1, leased=25, dead=0, oldest_age_seconds=3.0) for queue in QUEUES
    )
    crew = Crew(folder, 2, 25, SYSTEM_CLOCK)
    glance = Glance(depths, (held,) * 30, {"worker-1": 30})
    url, server = "sqlite:////tmp/x/demo.db", DemoServer(folder)
    return Scene(_board(), crew, glance, 1200, 12, 0, 65.0, 120.0, "sending", url, server)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 60), (80, 18)])
def test_the_screen_fits_the_terminal(folder: Path, width: int, height: int) -> None:
    console = Console(width=width, height=height, color_system=None)
    with console.capture() as capture:
        console.print(draw(_scene(folder), width, height))
    lines = capture.get().splitlines()
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for word in (
        "Tenure demo",
        "1:05 of 2:00",
        "sent 1,200",
        "twice 0",
        "123,456",
        "transcode",
        "67%",
        "what happened",
    ):
        assert word in text
    if height >= 24:
        assert "…" not in text.replace("worker-2  …", "")


def test_the_screen_uses_only_the_sixteen_colours(folder: Path) -> None:
    console = Console(width=120, height=40, color_system="truecolor", force_terminal=True)
    with console.capture() as capture:
        console.print(draw(_scene(folder), 120, 40))
    assert not re.search(r"\x1b\[[0-9;]*[34]8;", capture.get())


def test_the_summary_and_the_progress_line_say_it_in_words(folder: Path) -> None:
    scene = _scene(folder)
    assert "kill -9: 1, messages back after 0.9 s" in progress_line(scene)
    reckoning = Reckoning(
        sent=10, completed=9, dead=1, duplicates=0, lost=0, unfinished=0, deleted=0, effects=9, effects_skipped=1
    )
    told = summary(scene.board, scene.crew, 12, reckoning)
    assert told[0] == "kill -9 ended a worker once; what it held was ready again after 0.9 s"
    assert "9 effects, none of them twice; 1 repeated run found theirs done" in told
