"""`tenure scaling`: desired workers for each queue, and why; what cannot be known is not guessed."""

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tenure import Tenure
from tenure.cli.commands.scaling.command import _show
from tenure.cli.commands.scaling.drawing import NOTHING, live, table
from tenure.client.operations import naming
from tenure.client.operations.scaling import ScalingNeed, ScalingReport
from tenure.event import Event, EventKind
from tenure.lease import LeaseRequest
from tenure.owner import Owner

from .conftest import URL, Run, answer, there


def _send(tenure: Run, number: int, *options: str) -> None:
    for place in range(number):
        tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", f"{'-'.join(options)}{place}", *options)


def _ran(*seconds: float, ago: float = 0.0) -> None:
    """So long did runs take."""

    async def tell(app: Tenure) -> None:
        at = app.clock.wall() - ago
        await app.state.journal.append(
            [Event(EventKind.COMPLETED, at, "default-tasks", "resize", seconds=one) for one in seconds]
        )

    there(tell)


def _of(tenure: Run, *options: str) -> dict[str, Any]:
    queues = answer(tenure("scaling", "jobs:app", "--json", *options))["queues"]
    (found,) = [queue for queue in queues if queue["queue"] == "default-tasks"]
    assert isinstance(found, dict)
    return found


def test_nothing_to_do_needs_nobody(tenure: Run) -> None:
    assert tenure("submit", "jobs:app", "nap", '{"seconds": 0}', "--delay", "1h").exit_code == 0
    found = _of(tenure)
    assert (found["desired"], found["why"], found["mean_seconds"]) == (0, "nothing waits or runs", None)
    assert tenure("scaling", "nowhere:app").exit_code == 2


def test_workers_follow_from_what_waits_and_what_runs_took(tenure: Run) -> None:
    _send(tenure, 12)
    _ran(*[10.0] * 5)
    # 120 s of work within 12 s: 10 slots.
    found = _of(tenure, "--target-age", "12s", "--slots", "2")
    assert (found["desired"], found["visible_only"], found["interrupted"]) == (5, 5, 0)
    assert (found["ready"], found["runs"], found["mean_seconds"]) == (12, 5, 10.0)
    assert _of(tenure, "--target-age", "12s", "--slots", "2", "--max", "3")["desired"] == 3
    assert _of(tenure, "--target-age", "1h", "--min", "2")["desired"] == 2
    shown = tenure("scaling", "jobs:app", "--target-age", "12s", "--slots", "2").stdout
    assert "12 to begin × 10 s (q99 10 s, 5 runs) within 12 s need 10 slots, 2 a worker" in shown


def test_runs_before_the_window_are_no_measure(tenure: Run) -> None:
    _send(tenure, 3)
    _ran(10.0, ago=7200.0)
    assert _of(tenure)["runs"] == 1
    found = _of(tenure, "--since", "1h")
    assert (found["runs"], found["mean_seconds"], found["desired"]) == (0, None, 1)


_PROFILED = """
from tenure import Tenure

app = Tenure("sqlite:///jobs.db")


@app.task(queue="videos", profile="transcoding", size="bytes", concurrency=1)
async def transcode(file: str, bytes: int) -> None: ...


@app.task(queue="pages", name="site-publisher")
async def publish(page: str) -> None: ...


@app.task(queue="plain")
async def plain(page: str) -> None: ...
"""


def _queue(tenure: Run, name: str, *options: str) -> dict[str, Any]:
    queues = answer(tenure("scaling", "media:app", "--json", *options))["queues"]
    (found,) = [queue for queue in queues if queue["queue"] == name]
    assert isinstance(found, dict)
    return found


def test_before_a_run_was_measured_the_profile_says_how_long_it_takes(tenure: Run, folder: Path) -> None:
    """Three videos wait, each takes 19 minutes, and a worker runs one at a time (concurrency=1): 3 workers."""
    (folder / "media.py").write_text(_PROFILED)
    for number in range(3):
        tenure("submit", "media:app", "transcode", f'{{"file": "{number}", "bytes": 2147483648}}')
    found = _queue(tenure, "videos")
    assert (found["ready"], found["runs"], found["desired"], found["visible_only"]) == (3, 0, 3, 3)
    assert (found["mean_seconds"], found["profile"]) == (1140.0, "transcoding")
    assert found["why"] == (
        "3 to begin × 1,140 s (by profile transcoding, no run was measured yet) within 60 s need 3 slots, 1 a worker"
    )
    tenure("submit", "media:app", "site-publisher", '{"page": "a"}')
    assert (_queue(tenure, "pages")["mean_seconds"], _queue(tenure, "pages")["q99_seconds"]) == (90.0, 300.0)
    tenure("submit", "media:app", "plain", '{"page": "a"}')
    assert _queue(tenure, "plain")["why"] == "1 to begin; no run was measured yet, and one worker finds out"


def test_a_measured_run_counts_more_than_a_profile(tenure: Run, folder: Path) -> None:
    (folder / "media.py").write_text(_PROFILED)
    tenure("submit", "media:app", "transcode", '{"file": "a", "bytes": 2147483648}')

    async def tell(app: Tenure) -> None:
        await app.state.journal.append(
            [Event(EventKind.COMPLETED, app.clock.wall(), "videos", "transcode", seconds=5.0)]
        )

    there(tell)
    found = _queue(tenure, "videos")
    assert (found["mean_seconds"], found["runs"], found["profile"]) == (5.0, 1, None)


def test_an_app_looks_at_its_own_queues_and_all_is_everything(tenure: Run, folder: Path) -> None:
    (folder / "media.py").write_text(_PROFILED)
    _send(tenure, 1)
    queues = answer(tenure("scaling", "media:app", "--json"))["queues"]
    assert [queue["queue"] for queue in queues] == ["pages", "plain", "videos"]
    asked = answer(tenure("scaling", "media:app", "--json", "--queue", "default-tasks"))["queues"]
    assert [queue["queue"] for queue in asked] == ["default-tasks"]
    place = answer(tenure("scaling", URL, "--json"))["queues"]
    assert [queue["queue"] for queue in place] == ["default-tasks"]


def test_what_is_due_soon_counts_and_what_is_due_later_does_not(tenure: Run) -> None:
    _send(tenure, 2, "--delay", "30s")
    _send(tenure, 1, "--delay", "1h")
    found = _of(tenure, "--slots", "1")
    assert (found["ready"], found["due"]) == (0, 2)


def test_running_messages_keep_their_workers_and_the_usual_rule_would_stop_them(tenure: Run) -> None:
    _send(tenure, 6)
    _ran(600.0)

    async def hold(app: Tenure) -> None:
        await app.state.roster.join(
            Owner("w", "1", queues=("default-tasks",), boot_id=app.clock.boot_id(), concurrency=2)
        )
        assert len(await app.broker.lease(LeaseRequest("w/1", "r", ("default-tasks",), 6, 600.0))) == 6
        await look(app)

    async def look(_: Tenure) -> None:
        from tenure.cli.loading import load

        async with load("jobs:app") as shop:
            (row,) = (await shop.operate.scaling(queue="default-tasks", since_seconds=3600.0)).queues
        assert (row.leased, row.slots, row.workers_now) == (6, 2, 1)
        assert (row.desired, row.visible_only, row.interrupted) == (3, 0, 6)

    there(hold)


def test_with_a_place_alone_it_works_too(tenure: Run) -> None:
    _send(tenure, 1)
    (found,) = answer(tenure("scaling", URL, "--json"))["queues"]
    assert (found["queue"], found["desired"], found["slots"]) == ("default-tasks", 1, 10)


def test_a_queue_that_nobody_knows_is_refused_and_so_are_bounds_that_cross(tenure: Run) -> None:
    _send(tenure, 1)
    assert "error[unknown_queue]" in tenure("scaling", "jobs:app", "--queue", "nix").stderr
    result = tenure("scaling", "jobs:app", "--min", "5", "--max", "2")
    assert result.exit_code == 2
    assert "from 5 to 2 workers" in result.stderr


async def test_a_queue_that_is_forgotten_while_it_is_watched_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue that was empty for days is in no store. The next message needs a worker all the same."""
    shown: list[ScalingReport] = []

    async def known(_: object) -> set[str]:
        return set() if shown else {"videos"}

    async def look(app: Tenure, must_exist: bool) -> ScalingReport:
        if len(shown) == 2:
            raise LookupError("enough")
        shown.append(await app.operate.scaling(queue="videos", must_exist=must_exist))
        return shown[-1]

    monkeypatch.setattr(naming, "known_queues", known)
    app = Tenure("memory://watched")
    async with app:
        with pytest.raises(LookupError, match="enough"):
            await _show(app, look, None, 0.01, watch=True, as_json=True)
    assert [report.queues[0].desired for report in shown] == [0, 0]


def test_what_cannot_be_known_is_a_dash_and_fits_the_terminal() -> None:
    row = ScalingNeed(
        queue="a-queue-with-quite-a-long-name-indeed", ready=12_345, leased=None, delayed=None, due=None,
        estimated=True, oldest_age_seconds=None, messages_per_worker=10.0,
        mean_seconds=None, q99_seconds=None, runs=0, workers_now=3, slots=10, desired=None, why="nobody can know",
        visible_only=3, interrupted=None,
    )  # fmt: skip
    assert _shown(row, 120)[-1].split()[1:] == ["~12,345", *"––––––", "3", "–", "3"]
    head, below, _, first, second = _shown(row, 60)
    assert (head.split(), below.split()) == (
        ["ready", "delayed", "oldest", "mean", "workers"],
        ["queue", "leased", "due", "now", "q99", "ready", "only"],
    )
    assert (first.split()[1:], second.split()) == (["~12,345", "–", "–", "–", "–"], ["–", "–", "3", "–", "3"])


def test_figures_of_before_an_outage_are_told_from_those_of_now() -> None:
    console = Console(width=80)
    with console.capture() as capture:
        console.print(live([], 80, trouble="Redis is away\x1b[2J"))
    assert capture.get().splitlines() == [NOTHING, "Not of now: Redis is away\\x1b[2J"]


def _shown(row: ScalingNeed, width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(table([row], width))
    lines = capture.get().splitlines()
    assert all(len(line) <= width for line in lines)
    return lines
