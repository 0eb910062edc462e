"""The differences between two JSON values, by path. Pure."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One difference."""

    #: As in `payload.width`, `payload.images[2]`, `queue`, `priority`.
    path: str
    kind: Literal["added", "removed", "changed"]
    #: None where it was added.
    before: Any = None
    #: None where it was removed.
    after: Any = None


def differences(before: Any, after: Any, path: str) -> Iterator[Change]:
    """List the differences, in the order of the value before; what was added comes last."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in [*before, *(one for one in after if one not in before)]:
            yield from _one(before, after, name, f"{path}.{name}")
    elif isinstance(before, list) and isinstance(after, list):
        old, new = dict(enumerate(before)), dict(enumerate(after))
        for place in range(max(len(before), len(after))):
            yield from _one(old, new, place, f"{path}[{place}]")
    elif type(before) is not type(after) or before != after:
        yield Change(path=path, kind="changed", before=before, after=after)


def _one(before: dict[Any, Any], after: dict[Any, Any], name: Any, path: str) -> Iterator[Change]:
    if name not in before:
        yield Change(path=path, kind="added", after=after[name])
    elif name not in after:
        yield Change(path=path, kind="removed", before=before[name])
    else:
        yield from differences(before[name], after[name], path)
