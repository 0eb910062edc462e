"""Schedules: from the code, from the store, and what is only in one of them."""

import asyncio
from pathlib import Path

import pytest
from rich.console import Console

from tenure import Tenure
from tenure.cli.commands.schedules import _narrow, _table
from tenure.cli.loading import load
from tenure.client.operations.schedules import ScheduleStatus
from tenure.event import EventKind
from tenure.message import MessageState
from tenure.notice import Tick
from tenure.runtime.background.scheduler import Scheduler

from .conftest import URL, Run, answer, events, there

CODE = """
app.schedule(nap.bind(1.0), every=60, name="often")
app.schedule(resize.bind("a.png"), cron="30 3 * * MON-FRI", timezone="Europe/Berlin", name="nightly")
"""


@pytest.fixture(autouse=True)
def code(folder: Path) -> None:
    """Two schedules in the app."""
    (folder / "jobs.py").write_text((folder / "jobs.py").read_text() + CODE)


def _tick(name: str, *, ago: float, message_id: str = "", next_in: float = 60.0) -> None:
    async def tick(app: Tenure) -> bool:
        now = app.clock.wall()
        return await app.state.board.tick(
            Tick(schedule=name, at=now - ago, message_id=message_id, spec="every 1 min", task="nap", queue="slow",
                 next_at=now + next_in)
        )  # fmt: skip

    assert there(tick)


def _rows(tenure: Run, target: str) -> dict[str, dict[str, object]]:
    return {row["name"]: row for row in answer(tenure("schedules", target, "--json"))["schedules"]}


def test_a_schedule_that_never_ticked_is_told_from_the_code(tenure: Run) -> None:
    rows = _rows(tenure, "jobs:app")
    assert list(rows) == ["nightly", "often"]
    nightly = rows["nightly"]
    assert (nightly["spec"], nightly["task"], nightly["queue"]) == (
        "30 3 * * MON-FRI Europe/Berlin",
        "resize",
        "default-tasks",
    )
    assert (nightly["in_app"], nightly["last_at"], nightly["message_id"]) == (True, None, None)
    shown = tenure("schedules", "jobs:app").stdout
    assert "never" in shown
    assert "in 3" in shown or "in 4" in shown or "in 5" in shown or " s" in shown


def test_the_next_tick_is_not_cut_in_eighty_columns() -> None:
    name = "client-of-ours/the-nightly-report-of-everything"
    rows = [
        ScheduleStatus(name=name, spec="30 3 * * MON-FRI America/Argentina/Buenos_Aires",
            task="make_the_nightly_report",
            queue="client-of-ours-tasks", in_app=False, last_at=-50_000.0, message_id="m",
            message_state=MessageState.COMPLETED, next_at=35_999.0)
    ]  # fmt: skip
    for width in (80, 100, 129):
        console = Console(width=width)
        with console.capture() as capture:
            console.print(_narrow(rows, 0.0, width))
        text = capture.get()
        for words in ("in 9 h 59 min", "13 h 53 min ago", "completed", "client-of", "make_the", "30 3 * *"):
            assert words in text, (width, text)


def test_a_table_that_fits_on_one_line_each_is_not_folded() -> None:
    rows = [ScheduleStatus(name="report", spec="0 3 * * MON-FRI Europe/Berlin", task="report", queue="default-tasks",
                in_app=True, next_at=79_199.0)]  # fmt: skip
    headings = {}
    for width in (80, 120):
        console = Console(width=width)
        with console.capture() as capture:
            console.print(_table(rows, 0.0, width))
        headings[width] = capture.get().splitlines()[0].split("  ")
        assert "in 21 h 59 min" in capture.get()
    assert [one.strip() for one in headings[120] if one.strip()] == [
        "schedule", "when", "task", "queue", "last tick", "its message", "next tick",
    ]  # fmt: skip
    assert "last tick / its message" in " ".join(headings[80])


def test_a_tick_shows_what_became_of_its_message(tenure: Run) -> None:
    tenure("submit", "jobs:app", "nap", '{"seconds": 1}', "--id", "m")
    _tick("often", ago=30, message_id="m")
    row = _rows(tenure, "jobs:app")["often"]
    assert (row["message_id"], row["message_state"]) == ("m", "ready")
    line = next(line for line in tenure("schedules", "jobs:app").stdout.splitlines() if line.startswith("often"))
    assert "30 s ago" in line
    assert "ready" in line
    _tick("often", ago=1, message_id="gone")
    assert "forgotten" in tenure("schedules", "jobs:app").stdout


def test_a_tick_without_a_message_says_that_none_was_sent(tenure: Run) -> None:
    _tick("often", ago=1)
    assert "none sent" in tenure("schedules", "jobs:app").stdout


def test_a_schedule_that_a_worker_has_only_seen_has_never_ticked(tenure: Run) -> None:
    app = load("jobs:app")

    async def seen() -> None:
        async with app:
            board = app.state.board
            schedules = list(app.schedules.values())
            await Scheduler(schedules, app.broker, board, app.clock, lambda _: None, wall=app.state.wall).look()

    asyncio.run(seen())
    for target in ("jobs:app", URL):
        lines = tenure("schedules", target).stdout.splitlines()
        line = next(line for line in lines if line.startswith("often"))
        assert ("never" in line, "none sent" in line) == (True, False), line
        row = _rows(tenure, target)["often"]
        assert (row["last_at"], row["message_id"]) == (None, None)
        assert isinstance(row["next_at"], float)


def test_a_schedule_whose_moment_has_passed_is_overdue(tenure: Run) -> None:
    _tick("often", ago=600, next_in=-540)
    for target in ("jobs:app", URL):
        assert "overdue " in tenure("schedules", target).stdout


def test_what_only_the_store_knows_is_said_to_be_not_in_this_app(tenure: Run) -> None:
    _tick("old", ago=30)
    line = next(line for line in tenure("schedules", "jobs:app").stdout.splitlines() if line.startswith("old"))
    assert "not in this app" in line
    assert _rows(tenure, "jobs:app")["old"]["in_app"] is False
    # A URL has no code, so nothing can be missing in it.
    assert _rows(tenure, URL)["old"]["in_app"] is None
    assert "not in this app" not in tenure("schedules", URL).stdout


def test_a_schedule_is_forgotten_and_that_is_recorded(tenure: Run) -> None:
    _tick("old", ago=30)
    result = tenure("schedules", "jobs:app", "--forget", "odl")
    assert result.exit_code == 2
    assert "error[unknown_schedule]: no schedule 'odl' is known; nothing was forgotten" in result.stderr
    _tick("often", ago=30)
    assert tenure("schedules", "jobs:app", "--forget", "old").stdout == "Forgotten: old\n"
    assert "starts over" in tenure("schedules", "jobs:app", "--forget", "often").stdout
    assert [event.data["schedule"] for event in events() if event.kind is EventKind.FORGOTTEN] == ["old", "often"]
    assert _rows(tenure, URL) == {}


def test_no_schedules_at_all_are_said(tenure: Run) -> None:
    tenure("queues", "jobs:app")
    assert tenure("schedules", URL).stdout == "No schedules are known here.\n"
