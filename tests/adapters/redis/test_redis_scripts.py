"""The scripts: all of them are packaged and used, and say nothing that the oldest server does not understand."""

import re
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import pytest
from redis import Redis
from tests.servers import KINDS
from tests.servers.shared import shared

from tenure.adapters import redis as adapter
from tenure.adapters.redis import RedisBroker, read_options, script
from tenure.announcement import RESULT_LIMIT

_COMMAND = re.compile(
    r"""(?:\bp?call\(|\bmany\(|undo\[#undo \+ 1\] = (?:kept and )?\{|command = \{)'([A-Z]+)'(?:, '([A-Z]+)')?"""
)
#: Those of which the second word is part of the name.
_CONTAINERS = {"XGROUP", "XINFO", "INFO"}


def _texts() -> dict[str, str]:
    folder = files(adapter) / "lua"
    return {one.name: one.read_text(encoding="utf-8") for one in folder.iterdir() if one.name.endswith(".lua")}


def test_every_script_is_in_the_package_and_every_file_is_used() -> None:
    loaded = [value for value in vars(script).values() if isinstance(value, script.Script)]
    assert len(loaded) > 20
    for name, text in _texts().items():
        assert any(text in one.text for one in loaded), f"{name} is used by no script"


def test_the_stated_fairness_is_that_of_the_script() -> None:
    url = "redis://localhost"
    broker, _ = adapter.connect(read_options(url, urlsplit(url)))
    assert isinstance(broker, RedisBroker)
    (fairness,) = re.findall(r"^local FAIRNESS = (\d+)$", _texts()["lease.lua"], re.MULTILINE)
    assert broker.traits.fairness == int(fairness)


@pytest.mark.parametrize("kind", KINDS)
def test_every_command_is_one_that_servers_know_and_6_2_above_all(kind: Any) -> None:
    used = {name for text in _texts().values() for name, _ in _COMMAND.findall(text)}
    assert {"XREADGROUP", "HSET", "ZADD", "XDEL", "ZMSCORE"} <= used
    client: Any = Redis(port=shared(kind).port)
    known = {name.upper() for name in client.command()}
    client.close()
    assert used <= known


def test_the_script_keeps_results_of_the_stated_size_with_their_announcement() -> None:
    (limit,) = re.findall(r"RESULT_LIMIT = G \.\. 'announcements', (\d+)", _texts()["announce.lua"])
    assert int(limit) == RESULT_LIMIT
