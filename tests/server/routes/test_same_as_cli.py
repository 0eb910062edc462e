"""What the command line prints with `--json` and what a route answers are the same fields, for the same store."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from tenure.cli.root import root

from .conftest import filled

pytestmark = pytest.mark.real_time

#: Only routes have these: places in pages, and how far was looked.
_ONLY_HTTP = {"after"}
_ONLY_HTTP_OF = {"dead list URL": {"looked_at", "looked_until", "hidden", "paused"}}


def _printed(*words: str) -> Any:
    result = CliRunner().invoke(root, [*words, "--json"])
    assert result.exit_code == 0, result.output
    return msgspec.json.decode(result.stdout)


#: URL and ID stand for the store and a dead letter.
_PAIRS = {
    "queues URL": "/queues",
    "messages URL": "/messages",
    "workers URL": "/workers",
    "schedules URL": "/schedules",
    "dead list URL": "/dead",
    "show URL ID": "/messages/ID",
    "top --once URL": "/overview",
    "timing URL": "/timing",
    "scaling URL": "/scaling",
    "dead groups URL": "/dead/groups",
}


def _fields(value: Any, place: str = "") -> set[str]:
    """The names of all fields; what a message carries counts as one."""
    if isinstance(value, dict) and not place.endswith((".body", ".result", ".message", ".data", ".raw", ".kinds")):
        return {one for name, inner in value.items() for one in {f"{place}.{name}", *_fields(inner, f"{place}.{name}")}}
    if isinstance(value, list):
        return {one for inner in value for one in _fields(inner, f"{place}[]")}
    return set()


@pytest.mark.parametrize("command", _PAIRS)
@pytest.mark.parametrize("kind", ["sqlite", "valkey9"])
async def test_both_tell_the_same(command: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filled(kind, tmp_path, monkeypatch) as served:
        meant = {"URL": served.app.url, "ID": served.ids["dead"]}
        printed = await asyncio.to_thread(_printed, *(meant.get(word, word) for word in command.split()))
        response = await served.get(_PAIRS[command].replace("ID", meant["ID"]))
        assert response.status_code == 200, response.text
        told, known = _fields(printed), _fields(response.json())
        assert told - known == set(), "only the command has these"
        more = {one.removeprefix(".") for one in known - told} - _ONLY_HTTP - _ONLY_HTTP_OF.get(command, set())
        assert more == set(), "only the route has these"
        assert len(told) > 5
