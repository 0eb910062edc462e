"""`tenure workers`: who is alive, and what each holds."""

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tenure import Tenure
from tenure.cli.commands.workers import _consumers, _narrow, _table, _wide
from tenure.client.operations.consumers import ConsumerStatus, HeldMessage
from tenure.client.operations.workers import WorkerStatus
from tenure.clock import SYSTEM_CLOCK
from tenure.lease import LeaseRequest
from tenure.owner import Owner

from .conftest import URL, Run, answer, there
from .process import SOON, started


def test_nobody_is_alive(tenure: Run) -> None:
    assert tenure("workers", "jobs:app").stdout == "No worker is alive here.\n"
    assert answer(tenure("workers", "jobs:app", "--json")) == {"workers": [], "gone": [], "consumers": []}


@pytest.mark.scenario
def test_a_worker_is_shown_with_what_it_holds_and_then_as_gone(tenure: Run) -> None:
    tenure("submit", "jobs:app", "nap", '{"seconds": 60}', "--id", "nap")
    with started("worker", "jobs:app", "--name", "w1", "--concurrency", "3") as worker:
        worker.says("on sqlite:///")
        row = _holding(tenure)
        assert (row["name"], row["pid"], row["concurrency"]) == ("w1", worker.process.pid, 3)
        assert row["queues"] == ["default-tasks", "slow"]
        assert row["holds"] == [{"id": "nap", "queue": "slow", "task": "nap"}]
        shown = tenure("workers", URL).stdout
        for word in (row["id"], row["host"], str(row["pid"]), "1 message: 1 nap", "default-tasks, slow"):
            assert word in shown
    # It was killed: there is no goodbye, and nobody has swept yet.
    document = answer(tenure("workers", URL, "--json"))
    assert document["workers"] == []
    assert [one["id"] for one in document["gone"]] == [row["id"]]
    assert f"{row['id']} is gone: " in tenure("workers", URL).stdout


def _holding(tenure: Run) -> dict[str, Any]:
    until = SYSTEM_CLOCK.monotonic() + SOON
    while True:
        (row,) = answer(tenure("workers", URL, "--json"))["workers"]
        if row["holds"]:
            assert isinstance(row, dict)
            return row
        assert SYSTEM_CLOCK.monotonic() < until, "it never held anything"


def test_an_app_with_a_namespace_sees_its_own_workers(tenure: Run, folder: Path) -> None:
    (folder / "shop.py").write_text((folder / "jobs.py").read_text().replace('jobs.db"', 'jobs.db", namespace="shop"'))

    async def look(app: Tenure) -> tuple[list[str], list[str]]:
        for name, queue in (("theirs", "slow"), ("ours", "shop/slow")):
            await app.state.roster.join(Owner(name, "1", queues=(queue,), boot_id=app.clock.boot_id()))
        await app.broker.lease(LeaseRequest("ours/1", "r", ("shop/slow",), 5, 30.0))
        from tenure.cli.loading import load

        async with load("shop:app") as shop:
            own = (await shop.operate.workers()).workers
        return [row.name for row in own], [row.name for row in (await app.operate.workers()).workers]

    assert there(look) == (["ours"], ["ours", "theirs"])


def _row(id: str, host: str, queues: tuple[str, ...], holds: tuple[HeldMessage, ...]) -> WorkerStatus:
    return WorkerStatus(
        id=id, name="w", host=host, pid=12345, started_at=0.0, queues=queues, concurrency=10, holds=holds
    )


def test_what_is_held_is_counted_by_task_and_fits_eighty_columns() -> None:
    holds = tuple(
        HeldMessage(id=str(number), queue="q", task=task) for number, task in enumerate(["a", "a", "b", "c", "d", None])
    )
    row = _row("worker-on-a-long-host-name:12345/0123abcd", "a-long-host-name", ("q", "r"), holds)
    for width, drawn in ((80, _narrow([row], 90.0, 80)), (150, _wide([row], 90.0, 150))):
        console = Console(width=width)
        with console.capture() as capture:
            console.print(drawn)
        text = capture.get()
        assert "6 messages: 2 a, 1 b, 1 c, …" in text
        assert all(len(line) <= width for line in text.splitlines())
        for word in ("90 s", "10", "12345", "q, r"):
            assert word in text


def test_consumers_over_http_fit_eighty_columns() -> None:
    held = (HeldMessage(id="a", queue="acme-tasks", task="resize"),)
    row = ConsumerStatus(
        id="http:0123456789ab/a",
        name="a-long-host-name-12345",
        token="0123456789ab",
        queues=("acme-tasks",),
        holds=held,
    )
    console = Console(width=80)
    with console.capture() as capture:
        console.print(_consumers([row], 80))
    heading, _, line = capture.get().splitlines()
    assert heading.split()[-1] == "queues"
    assert line.rstrip().endswith("…")
    assert len(line) <= 80


@pytest.mark.parametrize(("width", "lines"), [(60, 2), (100, 1)])
def test_a_worker_takes_one_line_where_that_fits(width: int, lines: int) -> None:
    row = _row("web:12345/0123abcd", "web", ("default-tasks",), ())
    console = Console(width=width)
    with console.capture() as capture:
        console.print(_table([row], 90.0, width))
    assert len(capture.get().splitlines()) == 2 + lines  # the heading and its rule


def test_consumers_over_http_are_listed(tenure: Run) -> None:
    tenure("submit", "jobs:app", "nap", '{"seconds": 60}')

    async def lease(app: Tenure) -> None:
        assert await app.broker.lease(LeaseRequest("http:0123456789ab/shop-1", "r", ("slow",), 1, 600.0))

    there(lease)
    printed = tenure("workers", "jobs:app").stdout
    assert "No worker is alive here." in printed
    row = next(line for line in printed.splitlines() if "shop-1" in line)
    assert "1 message: 1 nap" in row
    assert row.split()[:3] == ["shop-1", "0123456789ab", "–"]
