"""A place on a real Redis server, by its URL: who looks at one that is not there creates nothing."""

import asyncio
import os
from pathlib import Path

import pytest
from tests.servers.shared import shared, shared_cluster

from tenure import Tenure
from tenure.event import Event, EventKind
from tenure.sample import Sample

from .conftest import Run, answer
from .test_bad_input import _refused


@pytest.fixture(params=["single", "cluster"])
def url(request: pytest.FixtureRequest) -> str:
    """Under a prefix that nobody has used."""
    place = shared("valkey9") if request.param == "single" else shared_cluster("valkey9")
    return f"{place.url}?prefix=t{os.urandom(6).hex()}"


def _keys(url: str) -> list[str]:
    prefix = url.partition("prefix=")[2]
    servers = shared_cluster("valkey9").nodes if "cluster" in url else (shared("valkey9"),)
    found: list[str] = []
    for server in servers:
        keys = server.ask("KEYS", f"{prefix}:*")
        found += map(str, keys if isinstance(keys, list) else [])
    return found


def test_a_url_that_leads_nowhere_creates_nothing(tenure: Run, url: str) -> None:
    sentence = _refused(tenure, url, "store_missing", 2)
    assert url.partition("prefix=")[2] in sentence
    assert _keys(url) == []


def test_who_sends_may_create_the_place_and_then_others_may_look(tenure: Run, url: str) -> None:
    refused = tenure("submit", url, "resize", "{}")
    assert "--create makes it" in refused.stderr
    assert tenure("submit", url, "resize", "{}", "--create").exit_code == 0
    assert tenure("submit", url, "resize", "{}").exit_code == 0
    result = tenure("queues", url)
    assert result.exit_code == 0, result.stderr
    assert "default" in result.stdout


def test_a_place_that_has_no_message_yet_is_there_all_the_same(tenure: Run, url: str, folder: Path) -> None:
    app = f"from tenure import Tenure\napp = Tenure({url!r})\n\n@app.task\nasync def nap() -> None: ...\n"
    (folder / "mine.py").write_text(app)
    paused = tenure("pause", "mine:app", "default", "--yes")
    assert paused.exit_code == 0, paused.stderr
    assert tenure("queues", url).exit_code == 0


def test_timing_and_scaling_read_the_journal_there(tenure: Run, url: str) -> None:
    assert tenure("submit", url, "resize", "{}", "--create").exit_code == 0

    async def told() -> None:
        async with Tenure(url) as app:
            wall = app.clock.wall()
            for page in range(3):
                await app.state.journal.append(
                    [
                        Event(EventKind.COMPLETED, wall, "default-tasks", "resize", f"{page}-{place}", "w/1", 1, 2.0)
                        for place in range(700)
                    ]
                )
            await app.state.journal.sample([Sample("default-tasks", "resize", 2.0, wall) for _ in range(150)])

    asyncio.run(told())
    document = answer(tenure("timing", url, "--json"))
    (task,) = document["tasks"]
    assert (document["events"], document["cut"], task["completed"]) == (2100, False, 2100)
    assert (task["durations"]["samples"], task["durations"]["q99"]) == (150, 2.0)
    (queue,) = answer(tenure("scaling", url, "--json"))["queues"]
    assert (queue["ready"], queue["mean_seconds"], queue["runs"], queue["desired"]) == (1, 2.0, 2100, 1)
