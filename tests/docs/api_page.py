"""The reference of the Python API, made from signatures and docstrings.

    python -m tests.docs.api_page > docs/reference/api.md

`test_api_page.py` fails while the page is not what this prints.
"""

import ast
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tenure import (
    Call,
    Event,
    GroupHandle,
    GroupProgress,
    GroupResult,
    Handle,
    MemberResult,
    Message,
    Progress,
    QueueService,
    Record,
    Reject,
    Retry,
    Snooze,
    SyncGroupHandle,
    SyncHandle,
    Task,
    Tenure,
    Update,
)
from tenure.runtime.worker import Worker
from tenure.tasks.registry import Registry
from tenure.testing import Kit, Seen, VirtualClock

from .docstrings import Function, class_node, doc_of, fields_of

_HEAD = """\
# Python API

Every public name of `tenure` and of the test kit, with its signature, from the docstrings. `from tenure import …` has
them all, except the kit: `from tenure.testing import Kit, Seen, VirtualClock`.

Other pages: what a handler can ask and say ([`Context` and `SyncContext`](context.md)), every option in a table
([options](options.md)), every error ([errors](errors.md)), the pieces for a loop of your own
([`tenure.standalone`](standalone.md)).

Names that begin with an underscore, and names that are neither on this page nor on those, are internal. They may change
in any release.
"""

#: A line of a signature is not longer than this.
_WIDTH = 100
#: Nor a line of words than this.
_PROSE = 118


@dataclass(frozen=True)
class Shown:
    """One class on the page."""

    kind: type[Any]
    #: How the page calls an instance of it.
    name: str
    #: Whether users make one themselves.
    is_made: bool = False
    #: Bases whose members are shown too.
    bases: tuple[type[Any], ...] = ()
    #: For Tenure's own rooms.
    internal: frozenset[str] = field(default=frozenset())


SHOWN = (
    Shown(Tenure, "app", is_made=True, bases=(Registry,),
          internal=frozenset({"find", "in_force", "origins", "queue_named", "sees", "sweep_request"})),
    Shown(Task, "task", internal=frozenset({"prior", "signature", "sizer"})),
    Shown(Call, "call"),
    Shown(Handle, "handle"),
    Shown(SyncHandle, "handle"),
    Shown(Update, "update"),
    Shown(GroupHandle, "group"),
    Shown(SyncGroupHandle, "group"),
    Shown(GroupResult, "group"),
    Shown(MemberResult, "member"),
    Shown(GroupProgress, "status"),
    Shown(QueueService, "service", is_made=True),
    Shown(Worker, "worker", internal=frozenset(
        {"abandon", "deletions", "findings", "has_stuck_handlers", "owner", "owner_id", "supervisor_link"})),
    Shown(Retry, "retry", is_made=True),
    Shown(Snooze, "snooze", is_made=True),
    Shown(Reject, "reject", is_made=True),
    Shown(Record, "status"),
    Shown(Progress, "progress"),
    Shown(Message, "message"),
    Shown(Event, "event"),
    Shown(Kit, "kit", is_made=True),
    Shown(Seen, "seen", internal=frozenset({"read"})),
    Shown(VirtualClock, "clock"),
)  # fmt: skip


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(f"\n{_section(shown)}" for shown in SHOWN)


def members(shown: Shown) -> Iterator[Function]:
    """The public methods and properties, those of bases first."""
    seen: set[str] = set()
    for kind in (*shown.bases, shown.kind):
        for one in class_node(kind)[1].body:
            if isinstance(one, Function) and not one.name.startswith("_") and one.name not in shown.internal | seen:
                if "overload" in _decorators(one) or "abstractmethod" in _decorators(one):
                    continue
                seen.add(one.name)
                yield one


def attributes(shown: Shown) -> dict[str, str]:
    """The public attributes and properties, each with what it means."""
    fields = {name: text for kind in (*shown.bases, shown.kind) for name, text in fields_of(kind).items()}
    fields |= {one.name: " ".join(doc_of(one).split()) for one in members(shown) if _is_property(one)}
    return {name: text for name, text in fields.items() if name not in shown.internal}


def _section(shown: Shown) -> str:
    node = class_node(shown.kind)[1]
    parts = [f"## `{shown.kind.__name__}`", doc_of(node)]
    start = next((one for one in node.body if isinstance(one, Function) and one.name == "__init__"), None)
    if shown.is_made and start is not None:
        parts += [_block(_signature(start, shown.kind.__name__, result=False)), doc_of(start)]
    if told := attributes(shown):
        lines = (f"- `{shown.name}.{name}`: {text}" for name, text in told.items())
        wrapped = (textwrap.fill(line, _PROSE, subsequent_indent="  ", break_on_hyphens=False) for line in lines)
        parts += ["Attributes:", "\n".join(wrapped)]
    overloads = _overloads(shown)
    for one in members(shown):
        if not _is_property(one):
            owner = shown.kind.__name__ if "classmethod" in _decorators(one) else shown.name
            parts.append(method(one, owner, overloads.get(one.name)).rstrip("\n"))
    return "\n\n".join(parts) + "\n"


def method(one: Function, owner: str, ways: list[Function] | None = None) -> str:
    """One method, with its signature: `ways` are its overloads."""
    ways = ways or [one]
    name = f"{owner}.{one.name}"
    # Two ways to call it are shown; of more, which are for type checkers, the last.
    signatures = [_signature(way, name) for way in (ways if len(ways) <= 2 else ways[-1:])]
    return "\n\n".join([f"### `{name}`", _block("\n".join(signatures)), doc_of(one)]) + "\n"


def _overloads(shown: Shown) -> dict[str, list[Function]]:
    found: dict[str, list[Function]] = {}
    for kind in (*shown.bases, shown.kind):
        for one in class_node(kind)[1].body:
            if isinstance(one, Function) and "overload" in _decorators(one):
                found.setdefault(one.name, []).append(one)
    return found


def _decorators(function: Function) -> set[str]:
    return {ast.unparse(one).rpartition(".")[2] for one in function.decorator_list}


def _is_property(function: Function) -> bool:
    return bool({"property", "cached_property"} & _decorators(function))


def _block(text: str) -> str:
    return f"```text\n{text}\n```"


def _signature(function: Function, name: str, *, result: bool = True) -> str:
    """As it is written, without `self`; one parameter a line where it is long."""
    wait = "await " if isinstance(function, ast.AsyncFunctionDef) else ""
    returns = f" -> {_type(function.returns)}" if result and function.returns is not None else ""
    parameters = [*_parameters(function.args)]
    line = f"{wait}{name}({', '.join(parameters)}){returns}"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"{wait}{name}(", *(f"    {one}," for one in parameters), f"){returns}"])


def _parameters(args: ast.arguments) -> Iterator[str]:
    ordered = [*args.posonlyargs, *args.args]
    defaults = [*[None] * (len(ordered) - len(args.defaults)), *args.defaults]
    for place, (one, default) in enumerate(zip(ordered, defaults, strict=True)):
        if one.arg not in ("self", "cls"):
            yield _parameter(one, default)
        if place + 1 == len(args.posonlyargs) and place:
            yield "/"
    if args.vararg is not None:
        yield f"*{_parameter(args.vararg, None)}"
    elif args.kwonlyargs:
        yield "*"
    for one, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _parameter(one, default)
    if args.kwarg is not None:
        yield f"**{_parameter(args.kwarg, None)}"


def _parameter(one: ast.arg, default: ast.expr | None) -> str:
    kind = "" if one.annotation is None else f": {_type(one.annotation)}"
    value = "" if default is None else f"{' = ' if kind else '='}{ast.unparse(default).replace(chr(39), chr(34))}"
    return f"{one.arg}{kind}{value}"


def _type(annotation: ast.expr | None) -> str:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    text = "" if annotation is None else ast.unparse(annotation)
    return text.replace("'", '"' if "Literal" in text else "")  # else it is the name of a class that comes later


if __name__ == "__main__":
    sys.stdout.write(page())
