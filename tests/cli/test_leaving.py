"""`tenure workers drain` and `stop`: real processes, on SQLite and on a server."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.clock import SYSTEM_CLOCK

from .conftest import Run, answer
from .places import place_for
from .process import SOON, Tenure, started


@pytest.fixture(params=["sqlite", "valkey9"])
def place(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The app of `jobs.py`, at that place."""
    url = place_for(request.param, folder, monkeypatch).url
    (folder / "jobs.py").write_text((folder / "jobs.py").read_text().replace("sqlite:///jobs.db", url))
    return url


@contextlib.contextmanager
def worker(*words: str) -> Iterator[Tenure]:
    with started("worker", "jobs:app", "--grace", "1s", *words) as running:
        running.says(" runs ")
        yield running


def _workers(tenure: Run) -> list[dict[str, Any]]:
    return list(answer(tenure("workers", "jobs:app", "--json"))["workers"])


def _until_held(tenure: Run, id: str) -> dict[str, Any]:
    until = SYSTEM_CLOCK.monotonic() + SOON
    while True:
        for row in _workers(tenure):
            if id in [one["id"] for one in row["holds"]] and row["version"] is not None:
                return row
        assert SYSTEM_CLOCK.monotonic() < until, f"{id} is held by none that has reported"


@pytest.mark.scenario
@pytest.mark.usefixtures("place")
def test_a_drained_worker_finishes_what_runs_and_exits_with_0(tenure: Run) -> None:
    tenure("submit", "jobs:app", "nap", '{"seconds": 6}', "--id", "nap")
    with worker("--name", "w1", "--concurrency", "1") as running:
        row = _until_held(tenure, "nap")
        assert row["memory_bytes"] > 10_000_000
        assert (row["draining"], row["draining_since"]) == (False, None)
        tenure("submit", "jobs:app", "nap", '{"seconds": 0}', "--id", "later")

        change = answer(tenure("workers", "drain", "jobs:app", "w1", "--json"))
        assert change == {"id": row["id"], "act": "drain", "changed": True, "version": row["version"]}
        assert "was asked before, and drains" in tenure("workers", "drain", "jobs:app", row["id"]).stdout
        running.says("leases nothing more, and 1 handler may finish")
        until = SYSTEM_CLOCK.monotonic() + SOON
        while not (now := _workers(tenure)) or not now[0]["draining"]:
            assert SYSTEM_CLOCK.monotonic() < until, "it never said that it drains"
        assert re.search(r"w1/\w+ is drained by \S+ \(cli\), \d", tenure("workers", "jobs:app").stdout)

        assert running.ends(SOON) == 0
    assert re.search(r"stopped: drained by \S+ \(cli\)", "".join(running.lines))
    states = [answer(tenure("show", "jobs:app", id, "--json"))["state"] for id in ("nap", "later")]
    assert states == ["completed", "ready"], "longer than the grace, and to its end"
    assert _workers(tenure) == []
    (act,) = answer(tenure("acts", "jobs:app", "--json"))["acts"]
    assert (act["kind"], act["data"]) == ("worker_drained", {"worker": row["id"]})
    gone = tenure("workers", "drain", "jobs:app", row["id"])
    assert (gone.exit_code, "error[worker_gone]" in gone.stderr) == (1, True)
    told = tenure("events", "jobs:app").stdout
    assert f"worker {row['id']} stopped: drained by " in told


@pytest.mark.scenario
@pytest.mark.usefixtures("place")
def test_a_stopped_worker_gives_back_what_outlives_the_grace(tenure: Run) -> None:
    tenure("submit", "jobs:app", "nap", '{"seconds": 600}', "--id", "nap")
    with worker("--name", "w1") as running:
        _until_held(tenure, "nap")
        assert tenure("workers", "stop", "jobs:app", "w1").stdout.endswith("or its grace is over\n")
        assert running.ends(SOON) == 0
    assert answer(tenure("show", "jobs:app", "nap", "--json"))["state"] == "ready"
    assert re.search(r"stopped: stopped by \S+ \(cli\)", "".join(running.lines))


@pytest.mark.scenario
@pytest.mark.usefixtures("place")
def test_a_supervisor_replaces_none_that_was_drained_and_ends_with_the_last(tenure: Run) -> None:
    with started("worker", "jobs:app", "--name", "w", "--processes", "2") as running:
        until = SYSTEM_CLOCK.monotonic() + SOON
        while len(found := _workers(tenure)) < 2:
            assert SYSTEM_CLOCK.monotonic() < until, "two processes never worked"
        first, second = (row["id"] for row in found)
        tenure("workers", "drain", "jobs:app", first)
        running.says("it is not replaced")
        assert [row["id"] for row in _workers(tenure)] == [second]
        tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "one", "--wait", "30s")
        tenure("workers", "stop", "jobs:app", second)
        assert running.ends(SOON) == 0
    assert answer(tenure("show", "jobs:app", "one", "--json"))["state"] == "completed"


@pytest.mark.parametrize("verb", ["drain", "stop"])
def test_a_worker_that_is_not_here_is_an_error(tenure: Run, verb: str) -> None:
    result = tenure("workers", verb, "jobs:app", "nobody/12345678")
    assert (result.exit_code, "error[worker_gone]: there is no worker 'nobody/12345678'" in result.stderr) == (1, True)
    assert "which worker?" in tenure("workers", verb, "jobs:app").stderr
    assert "one worker at a time" in tenure("workers", verb, "jobs:app", "a", "b").stderr
