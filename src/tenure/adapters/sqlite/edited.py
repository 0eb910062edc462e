"""Edited by hand: columns that hold something else than Tenure wrote, because SQLite takes any value anywhere.

A row that was edited by hand must not hide the others, nor stop a lease or a sweep. A value that cannot be read
counts as absent. Used by all code that reads rows of `message`.
"""

import math
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

#: The largest count that is believed; more was written by hand, and would overflow a column when 1 is added.
_MOST = 2**53
#: Ten years and some, in microseconds: nothing is delayed or lent for longer.
LONGEST_MICROS = 3660 * 86_400 * 1_000_000


def count(value: object) -> int:
    """A counter; 0 if it is not one."""
    return value if isinstance(value, int) and 0 <= value <= _MOST else 0


def moment(value: object) -> int | None:
    """A moment of the store's time. None: there is none."""
    return value if isinstance(value, int) else None


def number(value: object) -> float | None:
    """A time or a duration. None: it is no finite number."""
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def text(value: object) -> str | None:
    """A text. None: it is not one."""
    return value if isinstance(value, str) else None


def raw(value: object) -> bytes | None:
    """Bytes; a text as its bytes. None: there are none."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    return value if isinstance(value, bytes) else None


def read(decoder: "msgspec.json.Decoder[T]", value: object) -> T | None:
    """Parse a column's value. None: it is empty or cannot be read."""
    found = raw(value)
    if not found:
        return None
    try:
        return decoder.decode(found)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def sql_count(column: str) -> str:
    """`count`, inside a statement."""
    return f"CASE WHEN typeof({column}) = 'integer' AND {column} BETWEEN 0 AND {_MOST} THEN {column} ELSE 0 END"


def counters(values: "tuple[Any, ...] | list[Any]") -> tuple[int, ...]:
    """Deliveries, attempts, crashes, lost."""
    return tuple(map(count, values))
