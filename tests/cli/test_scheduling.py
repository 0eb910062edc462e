"""`tenure schedules run`, `pause` and `resume`."""

from pathlib import Path

import pytest

from .conftest import URL, Run, answer

SCHEDULED = '\n\napp.schedule(resize.bind("x"), every=3600, name="hourly")\n'


@pytest.fixture(autouse=True)
def _scheduled(folder: Path) -> None:
    (folder / "jobs.py").write_text((folder / "jobs.py").read_text() + SCHEDULED)


def test_a_schedule_is_run_now_once_at_a_time(tenure: Run) -> None:
    done = answer(tenure("schedules", "run", "jobs:app", "hourly", "--json"))
    assert (done["name"], done["duplicate"]) == ("hourly", False)
    assert answer(tenure("show", URL, done["message_id"], "--json"))["state"] == "ready"
    again = tenure("schedules", "run", "jobs:app", "hourly").stdout
    assert again == f"hourly: nothing new was stored; {done['message_id']} of this schedule waits already\n"
    (act,) = answer(tenure("acts", URL, "--json"))["acts"]
    assert (act["kind"], act["triggered_by"]) == ("schedule_run", "cli")


def test_a_schedule_is_paused_and_resumed(tenure: Run) -> None:
    assert answer(tenure("schedules", "pause", "jobs:app", "hourly", "--json")) == {"name": "hourly", "changed": True}
    assert tenure("schedules", "pause", "jobs:app", "hourly").stdout == "hourly: it was paused before\n"
    assert "hourly  paused" in tenure("schedules", "jobs:app").stdout
    assert tenure("schedules", "resume", "jobs:app", "hourly").stdout == (
        "hourly: resumed; it goes on with its next tick\n"
    )
    assert tenure("schedules", "resume", "jobs:app", "hourly").stdout == "hourly: it was not paused\n"
    assert "paused" not in tenure("schedules", "list", "jobs:app").stdout


@pytest.mark.parametrize("verb", ["run", "pause", "resume"])
def test_a_schedule_that_nobody_knows_is_an_error_with_a_guess(tenure: Run, verb: str) -> None:
    result = tenure("schedules", verb, "jobs:app", "hourli")
    assert (result.exit_code, "did you mean 'hourly'" in result.stderr) == (2, True)
    assert "which schedule?" in tenure("schedules", verb, "jobs:app").stderr
    assert "one schedule at a time" in tenure("schedules", verb, "jobs:app", "a", "b").stderr
