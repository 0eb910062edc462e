"""Constants of other files: `from settings import VISIBILITY_TIMEOUT`.

A module is looked for where Python could find it when the project runs: beside the file that imports it, and
in the folders above, a few. Where several are found, they must agree. Nothing is executed, and a file that cannot be
read or parsed says nothing here. Made once an audit by `auditing.py`; asked by `module.py`, for imported names.
"""

import ast
from functools import lru_cache
from pathlib import Path

from tenure.audit.module import Module
from tenure.audit.source import Unreadable, read

#: This many folders above a file may be where its project begins.
_HIGHEST = 6
#: This many files are kept in mind.
_MOST_FILES = 256


class Elsewhere:
    """The files of a project, as far as other files import from them."""

    def __init__(self) -> None:
        """Make an empty cache of modules."""
        self._module = lru_cache(_MOST_FILES)(self._read)

    def constant(self, path: str, full: str, level: int, depth: int) -> float | str | None:
        """Return the constant that `from … import …` in the file at `path` gets, if it is a number or a text."""
        module, _, name = full.rpartition(".")
        files = _files(path, module, level)
        if not files:  # settings.Settings.TIMEOUT
            module, _, owner = module.rpartition(".")
            files, name = _files(path, module, level), f"{owner}.{name}"
        found = {None if (other := self._module(file)) is None else other.constant_named(name, depth) for file in files}
        return found.pop() if len(found) == 1 else None

    def _read(self, path: str) -> Module | None:
        try:
            return Module(path, ast.parse(read(path), path), self.constant)
        except (Unreadable, SyntaxError, ValueError, RecursionError, MemoryError):
            return None  # if it is to be audited too, it is reported at its own place


def _files(path: str, module: str, level: int) -> list[str]:
    """The files of a module that the file at `path` imports; there may be several, or none."""
    here = Path(path).absolute().parent
    above = [here, *here.parents]
    parts = [part for part in module.split(".") if part]
    if not parts:
        return []
    places = [root.joinpath(*parts) for root in (above[level - 1 : level] if level else above[:_HIGHEST])]
    ways = [way for place in places for way in (place.with_suffix(".py"), place / "__init__.py")]
    return [str(way) for way in ways if way.is_file()]
