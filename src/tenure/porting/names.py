"""What a task needs of its file besides itself: imports, constants, functions and classes, and what those need.

Relative imports become absolute, since the port is another file. Names of Celery stay behind.
"""

import ast
from collections.abc import Iterator

from tenure.porting.edits import Source
from tenure.porting.project import File

_LOGGER = "celery.utils.log.get_task_logger"


def used_in(text: str) -> set[str]:
    """The bare names that a text reads."""
    return {one.id for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Name)}


class Names:
    """The statements of a file that its port needs."""

    def __init__(self, file: File, ported: set[str]) -> None:
        """Look in `file`; names in `ported` are there already."""
        self._file, self._ported = file, ported
        self._imports = dict(_imports(file))
        self._defined = dict(_definitions(file))

    def needed(self, texts: list[str]) -> tuple[list[str], dict[str, str], set[str]]:
        """The import lines, the definitions by name in the order of the file, and the names of Celery that are used."""
        ahead = [name for text in texts for name in sorted(used_in(text))]
        imports: dict[str, None] = {}
        found: dict[str, ast.stmt] = {}
        of_celery: set[str] = set()
        seen: set[str] = set()
        while ahead:
            name = ahead.pop()
            if name in seen or name in self._ported:
                continue
            seen.add(name)
            if name in self._imports:
                line, full = self._imports[name]
                if full.partition(".")[0] == "celery":
                    of_celery.add(name)
                elif full.rpartition(".")[2] not in self._ported:
                    imports[line] = None
            elif name in self._defined:
                found[name] = self._defined[name]
                ahead += sorted(used_in(_text(self._file.source, self._defined[name])))
        ordered = sorted(found.items(), key=lambda one: one[1].lineno)
        texts_of = {name: _rewritten(self._file, _text(self._file.source, one)) for name, one in ordered}
        return list(imports), texts_of, of_celery - {"get_task_logger"} if _has_logger(self._file) else of_celery


def _imports(file: File) -> Iterator[tuple[str, tuple[str, str]]]:
    """By the name that it binds: the line, and the full name."""
    for node in _top(file.module.tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                line = f"import {one.name}" + (f" as {one.asname}" if one.asname else "")
                yield one.asname or one.name.partition(".")[0], (line, one.name)
        elif isinstance(node, ast.ImportFrom):
            origin = _absolute(file, node)
            for one in node.names:
                line = f"from {origin} import {one.name}" + (f" as {one.asname}" if one.asname else "")
                yield one.asname or one.name, (line, f"{origin}.{one.name}")


def _absolute(file: File, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = file.dotted.split(".")
    is_package = file.module.path.endswith("__init__.py")
    kept = parts[: len(parts) - node.level + (1 if is_package else 0)]
    return ".".join([*kept, *([node.module] if node.module else [])]) or (node.module or "")


def _definitions(file: File) -> Iterator[tuple[str, ast.stmt]]:
    for node in _top(file.module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node


def _top(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of the file itself, also those under `if` and `try`."""
    for node in tree.body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from (one for one in ast.walk(node) if isinstance(one, ast.Import | ast.ImportFrom))


def _text(source: Source, node: ast.stmt) -> str:
    above = getattr(node, "decorator_list", [])
    lines = [f"@{source.text(one)}" for one in above]
    return "\n".join([*lines, source.text(node)])


def _has_logger(file: File) -> bool:
    return _LOGGER in file.module.imports.values()


def _rewritten(file: File, text: str) -> str:
    name = next((name for name, full in file.module.imports.items() if full == _LOGGER), None)
    return text if name is None else text.replace(f"{name}(", "logging.getLogger(")
