"""The reference of `tenure.standalone` names what there is: names, parameters, events."""

import inspect
import re
from typing import Any

from tenure import standalone

from .markdown import ROOT

PAGE = (ROOT / "docs" / "reference" / "standalone.md").read_text(encoding="utf-8")
SOURCES = [path.read_text(encoding="utf-8") for path in (ROOT / "src" / "tenure" / "standalone").rglob("*.py")]


def _calls() -> dict[str, list[str]]:
    found = re.findall(r"`([A-Za-z_.]+)\(([a-z_, ]*)\)`", "\n".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)))
    return {name: words.split(", ") if words else [] for name, words in found}


def test_every_name_is_on_the_page() -> None:
    missing = [name for name in standalone.__all__ if f"`{name}" not in PAGE]
    assert missing == []


def test_calls_have_the_parameters_of_the_page() -> None:
    calls = _calls()
    assert len(calls) > 20
    for name, words in calls.items():
        found: Any = standalone
        for part in name.split("."):
            found = getattr(found, part)
        parameters = [one for one in inspect.signature(found).parameters if one != "self"]
        assert parameters == words, name


def test_every_event_of_the_log_is_on_the_page() -> None:
    event = r"((?:heartbeat_|message_(?:deletion|release|processed|log)|duplicate_)[a-z_]*)"
    told = set(re.findall(rf'"{event}",', "".join(SOURCES)))
    listed = set(re.findall(rf"^\| `{event}` \|", PAGE, re.MULTILINE))
    assert len(listed) > 5
    assert listed == told
