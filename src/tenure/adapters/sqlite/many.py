"""Many rows in one statement.

Each statement that Python's sqlite3 runs gives the interpreter lock away and must win it back; beside a thread
that computes, that costs up to 5 ms a time. A hundred rows in three statements instead of a hundred keep the
write lock short (measured: ten times as many messages a second beside one busy thread, and never fewer).

Batches are cut into powers of two, so that few statements serve every size and all of them stay prepared.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TypeVar

T = TypeVar("T")

_LARGEST = 128


def pieces(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """`rows` in order, in pieces whose sizes are powers of two."""
    start, size = 0, _LARGEST
    while start < len(rows):
        while size > len(rows) - start:
            size //= 2
        yield rows[start : start + size]
        start += size


@cache
def placeholders(width: int, count: int) -> str:
    """The body of a VALUES clause for `count` rows of `width` columns."""
    row = "(" + ", ".join("?" * width) + ")"
    return ", ".join([row] * count)
