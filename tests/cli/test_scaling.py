"""`tenure scaling`: desired workers for each queue, and why; what cannot be known is not guessed."""

from typing import Any

from rich.console import Console

from tenure import Tenure
from tenure.cli.scaling import Needed, table
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
        from tenure.cli.scaling import needs
        from tenure.timing.scaling import ScalingRules

        async with load("jobs:app") as shop:
            rows = await needs(shop, ScalingRules(), queue="default-tasks", slots=None, since_seconds=3600.0)
        (row,) = rows
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


def test_what_cannot_be_known_is_a_dash_and_fits_the_terminal() -> None:
    row = Needed(
        queue="a-queue-with-quite-a-long-name-indeed", ready=12_345, leased=None, due=None, estimated=True,
        mean_seconds=None, q99_seconds=None, runs=0, workers_now=3, slots=10, desired=None, why="nobody can know",
        visible_only=3, interrupted=None,
    )  # fmt: skip
    assert _shown(row, 80)[-1].split()[1:] == ["~12,345", "–", "–", "–", "–", "3", "–", "3"]
    head, below, _, first, second = _shown(row, 60)
    assert (head.split(), below.split()) == (["ready", "due", "mean", "workers"],
                                             ["queue", "leased", "now", "q99", "ready", "only"])  # fmt: skip
    assert (first.split()[1:], second.split()) == (["~12,345", "–", "–", "–"], ["–", "3", "–", "3"])


def _shown(row: Needed, width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(table([row], width))
    lines = capture.get().splitlines()
    assert all(len(line) <= width for line in lines)
    return lines
