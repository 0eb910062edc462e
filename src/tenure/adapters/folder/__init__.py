"""A cloakroom in a folder: one file a body. For one machine, or a network share that all workers see.

    file:///srv/tenure/bodies            an absolute path
    file:///srv/tenure/bodies?create=no  it must be there

Start reading at `cloakroom.py`.
"""

from math import isfinite
from urllib.parse import SplitResult, parse_qsl, unquote

from tenure.adapters.folder.cloakroom import FolderCloakroom
from tenure.clock import Clock
from tenure.errors import BadURL

__all__ = ["FolderCloakroom", "connect"]

#: What a URL may say after its `?`, and what is taken.
_TAKEN = {"create": "yes or no", "keep_seconds": "a number of seconds above 0"}
KEEP_SECONDS = 30 * 86_400.0


def connect(url: str, parts: SplitResult, *, clock: Clock) -> FolderCloakroom:
    """The folder that `url` names. Raises `BadURL`."""
    path = unquote(parts.path)
    if parts.netloc not in ("", "localhost") or len(path.strip("/")) == 0 or not path.startswith("/"):
        msg = f"{url!r} names no folder; write file:///srv/tenure/bodies (an absolute path). Nothing was opened"
        raise BadURL(msg)
    create, keep = True, KEEP_SECONDS
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name == "create" and value in ("yes", "no"):
            create = value == "yes"
        elif name == "keep_seconds" and (number := _number(value)) is not None:
            keep = number
        elif name in _TAKEN:
            msg = f"{url!r}: {name} cannot be {value!r}; nothing was opened. It takes {_TAKEN[name]}"
            raise BadURL(msg)
        else:
            msg = f"{url!r}: {name!r} is not an option; nothing was opened. There are {', '.join(_TAKEN)}"
            raise BadURL(msg)
    return FolderCloakroom(path, clock, create=create, keep_seconds=keep)


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if number > 0 and isfinite(number) else None
