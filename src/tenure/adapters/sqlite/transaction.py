"""A transaction as the acts see it: a connection, one moment, and what the commit will stir up."""

import sqlite3
from collections.abc import Sequence

#: A fence for every 64 microseconds of store time. Until the year 2255 that takes six bytes.
_FENCE_SHIFT = 6
#: In a message that was never lent, in place of a fence: it takes as many bytes (`schema.py`).
NO_FENCE = 1 << 31

_LOAN = """
INSERT INTO loan (fence, owner, request, seconds, has_presence, leased_at)
VALUES (max(?, (SELECT max(fence) FROM loan) + 1), ?, ?, ?, ?, ?)
"""


class ReadView:
    """One read: all its statements see one snapshot, at one moment."""

    __slots__ = ("db", "now", "wall")

    def __init__(self, db: sqlite3.Connection, now: int, wall: float) -> None:
        """`now` is store time in microseconds; `wall` is for showing."""
        self.db = db
        self.now = now
        self.wall = wall


class WriteTransaction(ReadView):
    """One write: it holds the write lock until its batch is committed."""

    __slots__ = ("stalls", "stirred")

    def __init__(self, db: sqlite3.Connection, now: int, wall: float, stalls: Sequence[tuple[int, int]] = ()) -> None:
        """`now` must have been read after the lock was taken."""
        super().__init__(db, now, wall)
        #: Spans of store time in which no process could write, as far as this one knows (`stall.py`).
        self.stalls = stalls
        #: Queues in which something became leasable, or will at a known time.
        self.stirred: set[str] = set()

    def next_fence(self, owner: str, request: str, seconds: float, *, has_presence: bool = True) -> int:
        """Write down a loan. Its fence is higher than every one before, also of what a restored backup knows nothing.

        The newest loan is never removed, so fences rise within the file. They also rise with time, faster than loans
        are made (15,625 a second): so a file that was put back to an earlier state goes on above where it was.
        """
        cursor = self.db.execute(_LOAN, (self.now >> _FENCE_SHIFT, owner, request, seconds, has_presence, self.wall))
        return cursor.lastrowid or 0
