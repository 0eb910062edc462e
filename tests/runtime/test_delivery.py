"""A delivery: each of its fields has one writer, and it is the one that is named beside it."""

import ast
import re
from pathlib import Path

from tenure import runtime
from tenure.runtime.delivery import Delivery
from tenure.runtime.ownership.owned import Owned

RUNTIME = Path(runtime.__file__).parent
_NAMED = re.compile(r"# Written (?:here alone|by `([\w/.]+)`)\.")
_WRITTEN = re.compile(r"self\.(\w+)(?:: [^=]+)? = ")
#: What a name must be for an assignment to its attribute to be one to a delivery.
_DELIVERIES = {"delivery", "owned", "one", "first", "self.delivery", "held.delivery", "one.owned"}


def _named_writers(path: str) -> dict[str, str]:
    """By field, whom its comment names; its own module where it is written there alone."""
    writers: dict[str, str] = {}
    writer = path
    for line in (RUNTIME / path).read_text(encoding="utf-8").splitlines():
        if named := _NAMED.search(line):
            writer = path if named[1] is None else str(Path(path).parent / named[1])
        elif written := _WRITTEN.search(line):
            writers[written[1]] = writer
    return writers


def _writers() -> dict[str, set[str]]:
    """By field, the modules that assign it, or change the list that it is, on something that is called as above."""
    found: dict[str, set[str]] = {}
    for path in RUNTIME.rglob("*.py"):
        name = path.relative_to(RUNTIME).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for target in _targets(node):
                if isinstance(target, ast.Attribute) and ast.unparse(target.value) in _DELIVERIES:
                    found.setdefault(target.attr, set()).add(name)
    return found


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "remove"):
        return [node.func.value]
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    return [part for one in targets for part in (one.elts if isinstance(one, ast.Tuple) else [one])]


def test_every_field_names_its_writer() -> None:
    assert set(_named_writers("delivery.py")) == set(Delivery.__slots__)
    assert set(_named_writers("ownership/owned.py")) == set(Owned.__slots__)


def test_no_field_has_a_second_writer() -> None:
    named = _named_writers("ownership/owned.py") | _named_writers("delivery.py")
    makers = {"delivery.py", "ownership/owned.py"}
    written = {field: sorted(modules) for field, modules in _writers().items() if field in named}
    expected = {field: [writer] for field, writer in named.items() if writer not in makers}
    assert written == expected
