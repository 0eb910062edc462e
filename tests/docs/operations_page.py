"""The reference of the operations, made from signatures, docstrings and the comments beside fields.

    python -m tests.docs.operations_page > docs/reference/operations.md

`test_operations_page.py` fails while the page is not what this prints.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import msgspec.inspect as types

from tenure.client.operations import DeadQuery, EventQuery, MessageQuery, Operate
from tenure.client.operations.operations import Operations

from .api_page import Shown, members, method
from .docstrings import class_node, doc_of, fields_of

_HEAD = """\
# Operations

What `app.operate` can do: every method, and every struct that it takes or answers with. `tenure … --json` prints the
same structs ([JSON](json.md)). How to use them: [operate from Python](../how-to/operate-from-python.md).

- `app.operate` is async and acts as the current user. `app.operate_sync` has the same methods with the same
  parameters, and blocks. `kit.operate` is that of a test kit.
- `None` is "cannot be known", 0 is "none". Times named `_at`, `at`, `since`, `before` and `until` are Unix seconds; all
  others are spans in seconds.
- Queues are named as in the app's code, with or without its namespace. Ids may be shortened to a beginning that only
  one message has.
- Every act is written to the journal and the audit log, with who did it, how and from where. Acts on
  many messages stop at `limit` and say whether there is `more`; repeated, the same call goes on. Cancelled in the
  middle, the batch under way is carried out and recorded.
- All methods raise `BrokerUnavailable` while the store is away, and `BadArgument` for what makes no sense.

`from tenure.client.operations import DeadQuery, EventQuery, MessageQuery`
"""
_STRUCTS = """\
## The structs

First what you fill in, then what is answered, in the order of the methods.
"""
#: What programs fill in, in the order of the page; structs that are answered follow.
_QUERIES: tuple[type[Any], ...] = (MessageQuery, DeadQuery, EventQuery)


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(f"\n{part}" for part in (*_methods(), _STRUCTS, *map(_struct, structs())))


def subjects() -> list[type[Any]]:
    """The classes that `Operate` is made of, in its order, and `Operate` last."""
    parts = [kind for kind in Operate.__mro__ if issubclass(kind, Operations) and kind not in (Operate, Operations)]
    return [*parts, Operate]


def structs() -> list[type[Any]]:
    """Every struct that a method takes or answers with, and those within them, in the order in which they are met."""
    found: list[type[Any]] = []
    for kind in (*_QUERIES, *_answers()):
        for one in _within(kind):
            if one not in found:
                found.append(one)
    return found


def _answers() -> Iterator[type[Any]]:
    for subject in subjects():
        for name, one in vars(subject).items():
            if inspect.iscoroutinefunction(one) and not name.startswith("_"):
                answer = inspect.signature(one, eval_str=True).return_annotation
                if isinstance(answer, type) and issubclass(answer, msgspec.Struct):
                    yield answer


def _within(kind: type[Any]) -> Iterator[type[Any]]:
    """A struct, and the structs of its fields."""
    seen: list[type[Any]] = []

    def walk(info: Any) -> None:
        if isinstance(info, types.StructType):
            if info.cls not in seen:
                seen.append(info.cls)
                for field in info.fields:
                    walk(field.type)
            return
        for name in ("item_type", "types", "key_type", "value_type", "item_types"):
            inner = getattr(info, name, ())
            for one in inner if isinstance(inner, tuple) else (inner,):
                walk(one)

    walk(types.type_info(kind))
    return iter(seen)


def _methods() -> Iterator[str]:
    for subject in subjects():
        text = doc_of(class_node(subject)[1]).partition("\n")[0].rstrip(".")
        title = "For another person" if subject is Operate else _title(subject)
        own = [one for one in members(Shown(subject, "app.operate")) if one.name != "access"]
        yield f"## {title}\n\n{text}.\n\n" + "\n".join(method(one, "app.operate") for one in own)


def _title(subject: type[Any]) -> str:
    name = subject.__name__.removesuffix("Operations")
    whole = {"Dead": "Dead letters"} | {one: one for one in ("Overview", "Health", "Doctor", "Timing", "Scaling")}
    return whole.get(name, f"{name}s")


def _struct(kind: type[Any]) -> str:
    _, node = class_node(kind)
    meanings = fields_of(kind)
    rows = [
        f"| `{name}` | {_kind(one)} | {meanings.get(name, '')} |".replace("|  |", "| |")
        for one in node.body
        if isinstance(one, ast.AnnAssign)
        and isinstance(one.target, ast.Name)
        and not (name := one.target.id).startswith("_")
    ]
    table = "\n".join(["| field | type | what it is |", "|---|---|---|", *rows])
    return f"### `{kind.__name__}`\n\n{doc_of(node).partition(chr(10) + chr(10))[0]}\n\n{table}\n"


def _kind(one: ast.AnnAssign) -> str:
    default = "" if one.value is None else f" = {ast.unparse(one.value)}".replace("'", '"')
    return f"`{ast.unparse(one.annotation)}{default}`".replace("|", "\\|").replace("'", '"')


if __name__ == "__main__":
    sys.stdout.write(page())
