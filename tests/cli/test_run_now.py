"""`tenure run-now` and `tenure touch`: each message is told what became of it, and the act is recorded."""

import pytest
from click.testing import Result

from tenure import Tenure
from tenure.event import EventKind
from tenure.lease import LeaseRequest

from .conftest import URL, Run, answer, events, there


@pytest.fixture
def messages(tenure: Run) -> None:
    """One that runs, one that is ready, one that is delayed."""
    assert tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "running").exit_code == 0
    there(_hold)
    assert tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "ready").exit_code == 0
    assert tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "delayed", "--delay", "1h").exit_code == 0


async def _hold(app: Tenure) -> None:
    assert await app.broker.lease(LeaseRequest("me", "1", ("default-tasks",), 1, 30.0))


def _refused(result: Result, code: str) -> str:
    assert result.exit_code != 0
    assert f"error[{code}]" in result.stderr
    return result.stderr


def test_a_delayed_message_is_made_ready(tenure: Run, messages: None) -> None:
    result = tenure("run-now", URL, "delayed")
    assert (result.exit_code, result.stdout) == (0, "delayed: is ready now\n")
    assert answer(tenure("show", URL, "delayed", "--json"))["state"] == "ready"
    (event,) = events()
    assert (event.kind, event.data["ids"], event.data["triggered_by"]) == (EventKind.PROMOTED, ["delayed"], "cli")
    assert "@" in event.data["by"]
    assert "made ready before its time" in tenure("show", URL, "delayed").stdout
    assert "1 message in default-tasks made ready now" in tenure("events", URL, "--all").stdout


def test_one_that_is_ready_stays_so_and_its_pause_is_told(tenure: Run, messages: None) -> None:
    assert tenure("pause", URL, "default-tasks").exit_code == 0
    told = tenure("run-now", URL, "ready").stdout
    assert told.startswith("ready: was ready already; nothing was changed; its queue is paused")


def test_one_that_runs_is_refused(tenure: Run, messages: None) -> None:
    assert "runs already" in _refused(tenure("run-now", URL, "running"), "not_delayed")


def test_a_running_message_is_given_more_time(tenure: Run, messages: None) -> None:
    result = tenure("touch", URL, "running", "--seconds", "600")
    assert result.exit_code == 0
    assert result.stdout.startswith("running: its lease lasts ")
    assert result.stdout.endswith(" from now, on me\n")
    assert answer(tenure("show", URL, "running", "--json"))["deadline_in"] > 590
    (event,) = events()
    assert (event.kind, event.data["ids"], event.data["seconds"]) == (EventKind.TOUCHED, ["running"], 600)
    assert "its lease lasts at least 10" in tenure("show", URL, "running").stdout
    assert "lasts at least 10" in tenure("events", URL, "--all").stdout
    assert [act["kind"] for act in answer(tenure("acts", URL, "--json"))["acts"]] == ["touched"]


def test_one_that_nobody_runs_is_not_touched(tenure: Run, messages: None) -> None:
    assert "it is delayed" in _refused(tenure("touch", URL, "delayed"), "not_running")
    assert "at most" in _refused(tenure("touch", URL, "running", "--seconds", "0"), "bad_argument")
    assert events() == []


@pytest.mark.parametrize("command", ["touch", "run-now", "stack", "show"])
def test_each_takes_one_message(tenure: Run, command: str) -> None:
    none, two = tenure(command, URL), tenure(command, URL, "one", "two")
    assert (none.exit_code, two.exit_code) == (2, 2)
    assert f"tenure {command} {URL} ID" in none.stderr
    assert "one message at a time, not 2: one two" in two.stderr
