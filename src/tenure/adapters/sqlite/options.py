"""Options of a SQLite file: the arguments of `connect` and the parameters of a URL."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from tenure.url_options import above_zero, read_query, whole_above_zero

#: What a URL may say after its `?`, and what is taken.
_TAKEN = {
    "synchronous": "full or normal",
    "busy_seconds": "a number of seconds above 0",
    "keep_seconds": "a number of seconds above 0",
    "body_limit": "a number of bytes above 0",
}


class SqliteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of one SQLite file."""

    path: str
    #: full: what was acknowledged survives a power cut. normal: it survives a crash of the process only.
    synchronous: Literal["full", "normal"] = "full"
    #: How long a call waits for another process's lock before it fails.
    busy_seconds: float = 10.0
    #: How long finished messages and done keys are remembered.
    keep_seconds: float = 7 * 86400.0
    #: For those who only look: a path that leads nowhere is a mistake, not a new file.
    must_exist: bool = False


def read_options(url: str, query: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The options in a URL, for `connect`. Raises `BadURL`, which says whether the name or the value is wrong."""
    return read_query(url, query, _TAKEN, _read)


def _read(name: str, value: str) -> str | float | None:
    """Parse an option's value. None: the value is not valid."""
    if name == "synchronous":
        return value if value in ("full", "normal") else None
    return whole_above_zero(value) if name == "body_limit" else above_zero(value)
