"""The descriptions of a struct's fields: the `#:` comments above them, read from its source.

Where there is no source (a frozen application), there are no meanings.
"""

import ast
import functools
import inspect
import textwrap
from typing import Any

_MARK = "#:"


@functools.cache
def field_comments(kind: type[Any]) -> dict[str, str]:
    """The comment of each field that has one, also of fields that it inherits."""
    found: dict[str, str] = {}
    for parent in reversed(kind.__mro__):
        if parent.__module__.startswith("tenure"):
            found |= _own(parent)
    return found


def _own(kind: type[Any]) -> dict[str, str]:
    try:
        lines = textwrap.dedent(inspect.getsource(kind)).splitlines()
    except (OSError, TypeError):
        return {}
    (node,) = ast.parse("\n".join(lines)).body
    if not isinstance(node, ast.ClassDef):
        return {}
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign | ast.Assign)]
    found: dict[str, str] = {}
    for one in fields:
        target = one.target if isinstance(one, ast.AnnAssign) else one.targets[0]
        comment = _above(lines, one.lineno)
        if isinstance(target, ast.Name) and comment:
            found[target.id] = comment
    return found


def _above(lines: list[str], number: int) -> str:
    """The comment above a line, which is counted from 1."""
    words: list[str] = []
    for line in reversed(lines[: number - 1]):
        text = line.strip()
        if not text.startswith(_MARK):
            break
        words.insert(0, text.removeprefix(_MARK).strip())
    return " ".join(words)
