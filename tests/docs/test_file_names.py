"""A docstring that names a file names one that is there: `held_lease.py`, `path/outbox.py`, `rules/lapse.py`."""

import re
from pathlib import Path

import pytest

from .markdown import ROOT

PACKAGE = ROOT / "src" / "tenure"
NAMED = re.compile(r"`([a-z_/]+\.(?:py|lua))`")
#: Files of users, in examples.
THEIRS = re.compile(r"(tests|examples)/|(jobs|app|main|worker_main|conftest)\.py")


def _is_there(named: str, folder: Path) -> bool:
    """Beside the file, in a folder above it, or in its `lua`."""
    above = [folder, *(parent for parent in folder.parents if parent.is_relative_to(PACKAGE))]
    return any((place / named).is_file() for place in [*above, folder / "lua"])


@pytest.mark.parametrize("room", sorted(path.name for path in PACKAGE.iterdir() if path.suffix in {"", ".py"}))
def test_every_file_that_is_named_is_there(room: str) -> None:
    files = [PACKAGE / room] if room.endswith(".py") else sorted((PACKAGE / room).rglob("*.py"))
    wrong = {
        f"{file.relative_to(PACKAGE)}: {named}"
        for file in files
        for named in NAMED.findall(file.read_text(encoding="utf-8"))
        if not THEIRS.match(named) and not _is_there(named.removeprefix("tenure/"), file.parent)
    }
    assert not wrong
