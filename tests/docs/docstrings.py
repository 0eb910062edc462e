"""What an editor shows on hover, read from the source as an editor reads it: docstrings, and the words beside fields.

Read from the source and not from the objects, so that it is the same on every Python.
"""

import ast
import functools
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef

_OPTION = re.compile(r"^- `(\w+)`: (.*?)(?=^- `|^\S|\Z)", re.MULTILINE | re.DOTALL)


def options_in(docstring: str) -> dict[str, str]:
    """The options that a docstring lists, one bullet each: "- `name`: what it means"."""
    return {match[1]: " ".join(match[2].split()) for match in _OPTION.finditer(docstring)}


@functools.cache
def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def class_node(kind: type[Any]) -> tuple[Path, ast.ClassDef]:
    """Where a class is written, and how."""
    path = Path(inspect.getsourcefile(kind) or "")
    for node in ast.walk(ast.parse("\n".join(_lines(path)))):
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__:
            return path, node
    msg = f"{kind} is not in {path}"
    raise LookupError(msg)


def doc_of(node: ast.ClassDef | Function) -> str:
    """The docstring, without its indentation; empty: there is none."""
    return ast.get_docstring(node) or ""


def fields_of(kind: type[Any]) -> dict[str, str]:
    """The public fields and attributes of a class, each with the `#:` comment above it or the docstring below it."""
    path, node = class_node(kind)
    found: dict[str, str] = {}
    start = next((one.body for one in node.body if isinstance(one, Function) and one.name == "__init__"), [])
    for body, of_self in ((node.body, False), (start, True)):
        for one, below in zip(body, [*body[1:], None], strict=False):
            name = _field(one, of_self=of_self)
            if name is not None and not name.startswith("_"):
                found[name] = _string(below) or _comment(_lines(path), one.lineno)
    return found


def _field(one: ast.stmt, *, of_self: bool) -> str | None:
    """The name that a statement declares: `name: type` in a class, or `self.name = value` in its constructor."""
    targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
    for target in targets:
        if of_self and isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
            return target.attr
        if not of_self and isinstance(target, ast.Name) and isinstance(one, ast.AnnAssign):
            return target.id
    return None


def _string(one: ast.stmt | None) -> str:
    if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
        return " ".join(textwrap.dedent(one.value.value).split())
    return ""


def _comment(lines: list[str], number: int) -> str:
    """The `#:` comment in the lines above."""
    words: list[str] = []
    while lines[number - 2].strip().startswith("#:"):
        number -= 1
        words.insert(0, lines[number - 1].strip().removeprefix("#:").strip())
    return " ".join(words)
