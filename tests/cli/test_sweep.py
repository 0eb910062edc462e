"""Sweeping by hand."""

import asyncio
import time

import pytest

from tenure import Tenure
from tenure.event import EventKind
from tenure.lease import LeaseRequest

from .conftest import Run, answer

URL = "sqlite:///jobs.db"


async def _lease(seconds: float) -> None:
    """Take the message as a client without presence does, and never come back."""
    async with Tenure(URL) as app:
        assert await app.broker.lease(LeaseRequest("nobody", "1", ("default-tasks",), 1, seconds))


async def _kinds() -> list[str]:
    async with Tenure(URL) as app:
        return [stored.event.kind for stored in await app.state.journal.read()]


def test_a_sweep_of_nothing_says_so(tenure: Run) -> None:
    assert tenure("queues", "jobs:app").exit_code == 0
    assert tenure("sweep", URL).stdout == "0 overdue messages returned, 0 to the dead letters\n"
    assert answer(tenure("sweep", URL, "--json")) == {
        "returned": [], "dead": [], "adopted": [], "grace": False, "retired": [], "windows_end_in": None,
    }  # fmt: skip


def test_an_overdue_lease_is_returned_and_recorded(tenure: Run) -> None:
    tenure("submit", URL, "resize", "{}", "--id", "a", "--create")
    tenure("sweep", URL)  # from here on somebody sweeps, so that there is no gap
    asyncio.run(_lease(0.05))
    document = answer(tenure("sweep", URL, "--for", "200ms", "--json"))
    assert (document["returned"], document["grace"]) == (["a"], False)
    assert EventKind.REQUEUE in asyncio.run(_kinds())


def test_after_a_gap_everybody_gets_a_fresh_window_and_the_command_says_what_to_do(tenure: Run) -> None:
    tenure("submit", URL, "resize", "{}", "--id", "a", "--create")
    asyncio.run(_lease(20.0))
    result = tenure("sweep", URL)  # the first sweep ever, with something lent: that is a gap
    assert result.exit_code == 0
    assert "an outage is assumed: leases got a fresh window" in result.stdout
    assert f"tenure sweep {URL} --for 2" in result.stdout
    assert EventKind.SWEEP_GRACE in asyncio.run(_kinds())


def test_rare_sweeps_return_what_nobody_comes_back_for(tenure: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a cron job: every sweep comes after a gap, and is not the first."""
    monkeypatch.setenv("TENURE_SWEEP_INTERVAL", "0.05")
    tenure("submit", URL, "resize", "{}", "--id", "a", "--create")
    asyncio.run(_lease(0.05))
    swept = []
    for _ in range(2):
        time.sleep(0.2)  # the machine's own time passes between two commands
        swept.append(answer(tenure("sweep", URL, "--json")))
    assert [(one["grace"], one["returned"]) for one in swept] == [(True, []), (False, ["a"])]


def test_sweeping_goes_on_until_the_windows_have_ended(tenure: Run) -> None:
    tenure("submit", URL, "resize", "{}", "--id", "a", "--create")
    asyncio.run(_lease(0.2))
    document = answer(tenure("sweep", URL, "--for", "1s", "--json"))
    assert (document["grace"], document["returned"]) == (True, ["a"])
