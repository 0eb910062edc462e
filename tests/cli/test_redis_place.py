"""A place on a real Redis server, by its URL: who looks at one that is not there creates nothing."""

import os
from pathlib import Path

import pytest
from tests.servers.shared import shared, shared_cluster

from .conftest import Run
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
