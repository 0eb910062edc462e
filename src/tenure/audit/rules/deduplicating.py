"""TQ401: a log of done messages that is read, changed and written back as a whole.

Read and write must be of the same blob, object or file, something must be added in between, the write must be
unconditional, and words in the function must speak of what was done before: any other file may be rewritten in peace.
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from tenure.audit.module import Module
from tenure.audit.queue_calls import queue_calls
from tenure.audit.rule import Hit
from tenure.audit.tree import Function, calls_in, last_name, walk_body

_SURE = re.compile(
    r"de_?dup|duplicat|idempot|(seen|processed|handled|done|completed)_?(ids?|messages?|keys?|log|events?)\b|already_?(seen|processed|done)"
)
#: Enough in a file that calls a queue, or speaks of messages.
_LIKELY = re.compile(r"processed|\bseen\b|message_?id")
_CONDITIONS = {"etag", "match_condition", "if_match", "if_none_match", "lease", "IfMatch", "IfNoneMatch", "blob_type"}
_LOCKS = re.compile(r"lock|flock|lease|transaction", re.IGNORECASE)
_GROWS = {"append", "add", "update", "extend", "insert", "setdefault"}


class _Access(NamedTuple):
    target: str
    node: ast.Call


def rewritten_logs(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ401."""
    told: set[ast.AST] = set()
    if not any(_write(module, call) is not None for call in module.calls):
        return
    # Where a function does all of it, it is the one to name; only then those that have it done.
    own = [(function, calls_in(function)) for function in module.functions]
    for function, calls in [*own, *((function, calls + _of_helpers(module, calls)) for function, calls in own)]:
        reads = {access.target for call in calls if (access := _read(module, call)) is not None}
        writes = [access for call in calls if (access := _write(module, call)) is not None]
        both = [access for access in writes if access.target in reads and access.node not in told]
        if both and _is_about_done(module, function) and _grows(function) and not _is_locked(function):
            for access in both:
                told.add(access.node)
                text = f"{function.name} reads it, adds to it and overwrites it: of two at once, one addition is lost"
                yield Hit("TQ401", access.node, text)


def _of_helpers(module: Module, calls: list[ast.Call]) -> list[ast.Call]:
    """Return the calls inside functions of this file that are called, such as `_load` and `_save`."""
    inside = {local for call in calls if (local := module.local_function(call)) is not None}
    return [call for local in sorted(inside, key=lambda one: one.lineno) for call in calls_in(local)]


def _read(module: Module, call: ast.Call) -> _Access | None:
    match last_name(call):
        case "download_blob":
            return _Access(_object(call, call.args[:1]), call)
        case "get_object":
            key = next((one.value for one in call.keywords if one.arg == "Key"), None)
            return None if key is None else _Access(ast.dump(key), call)
        case "read_text" | "read_bytes":
            return _Access(_object(call, []), call)
        case "open" if _mode(module, call).startswith("r"):
            return _Access(_file(call), call)
    return None


def _write(module: Module, call: ast.Call) -> _Access | None:
    words = {one.arg for one in call.keywords}
    if words & _CONDITIONS:
        return None
    match last_name(call):
        case "upload_blob" if any(one.arg == "overwrite" and _is_true(one.value) for one in call.keywords):
            # On a client of the container the blob's name comes first, on the blob's own its content.
            return _Access(_object(call, call.args[:1] if len(call.args) > 1 else []), call)
        case "put_object":
            key = next((one.value for one in call.keywords if one.arg == "Key"), None)
            return None if key is None else _Access(ast.dump(key), call)
        case "write_text" | "write_bytes":
            return _Access(_object(call, []), call)
        case "open" if _mode(module, call).startswith("w"):
            return _Access(_file(call), call)
    return None


def _object(call: ast.Call, names: list[ast.expr]) -> str:
    before = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    return " ".join(map(ast.dump, [before, *names]))


def _file(call: ast.Call) -> str:
    """`open(path)` and `path.open()` are the same file as `path.read_text()`."""
    if isinstance(call.func, ast.Attribute):
        return ast.dump(call.func.value)
    return ast.dump(call.args[0]) if call.args else ""


def _mode(module: Module, call: ast.Call) -> str:
    place = 0 if isinstance(call.func, ast.Attribute) else 1
    given = [one.value for one in call.keywords if one.arg == "mode"] or call.args[place : place + 1]
    mode = module.constant(given[0]) if given else "r"
    return mode if isinstance(mode, str) and "+" not in mode else ""


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _is_about_done(module: Module, function: Function) -> bool:
    owner = module.class_of(function)
    said: list[ast.Constant] = []
    words = [function.name, owner.name if owner is not None else "", module.path.replace("\\", "/").rpartition("/")[2]]
    for one in walk_body(function):
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
            said.append(one.value)  # a docstring: words about other things
        elif isinstance(one, ast.Name):
            words.append(one.id)
        elif isinstance(one, ast.Attribute):
            words.append(one.attr)
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and one not in said:
            words.append(one.value)
    text = " ".join(words).lower()
    if _SURE.search(text):
        return True
    return _LIKELY.search(text) is not None and (bool(queue_calls(module)) or "message" in text)


def _grows(function: Function) -> bool:
    for one in walk_body(function):
        if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Add | ast.BitOr):
            return True
        if isinstance(one, ast.Call) and last_name(one) in _GROWS:
            return True
        if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store):
            return True
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add | ast.BitOr) and not _is_counting(one):
            return True
    return False


def _is_counting(node: ast.BinOp) -> bool:
    return isinstance(node.right, ast.Constant) and isinstance(node.right.value, int)


def _is_locked(function: Function) -> bool:
    entered = [item.context_expr for one in walk_body(function) if isinstance(one, ast.With | ast.AsyncWith)
               for item in one.items]  # fmt: skip
    called = [call.func for call in calls_in(function)]
    return any(_LOCKS.search(ast.unparse(one)) for one in [*entered, *called])
