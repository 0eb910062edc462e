"""Which events are about which message: four bytes for each id, kept beside the journal.

The events of a million messages are hundreds of megabytes; their marks are four, so that one message's events are found
by searching the marks alone. A row of `journal_ids` covers the events from one place to another: small appends add to
the newest row, so that rows stay few. A mark may be another id's by chance; whoever finds it reads the events
and compares. Places that no row covers were appended by an older version, and are searched themselves.

Used by `journal.py`.
"""

import struct
import zlib
from collections.abc import Sequence

from tenure.adapters.sqlite.transaction import Transaction, View
from tenure.event import Event

_WIDTH = 4
#: An append with so many ids gets a row of its own; a smaller one is added to the newest row, up to the most.
_LEAST, _MOST = 64, 256

# Joined bytes are a text to SQLite, whose length ends at its first zero: hence the cast.
_ADD = f"""
UPDATE journal_ids SET last_seq = ?1, marks = CAST(marks || ?2 AS BLOB)
WHERE first_seq = (SELECT max(first_seq) FROM journal_ids) AND last_seq = ?3 - 1
  AND length(marks) + length(?2) <= {_MOST * _WIDTH}
"""
_INSERT = "INSERT OR REPLACE INTO journal_ids (first_seq, last_seq, marks) VALUES (?, ?, ?)"
# Where the mark stands, and the places between two rows; in one pass.
_FIND = """
SELECT first_seq, last_seq, instr(marks, ?1) > 0, before FROM (
    SELECT first_seq, last_seq, marks, lag(last_seq, 1, 0) OVER (ORDER BY first_seq) AS before
    FROM journal_ids)
WHERE instr(marks, ?1) OR before < first_seq - 1
ORDER BY first_seq
"""

#: Places from and to, both included.
Span = tuple[int, int]


def marks_of(events: Sequence[Event]) -> bytes:
    """The marks of all messages that these events are about. Runs in the caller's loop."""
    ids = [event.message_id for event in events if event.message_id is not None]
    for data in [event.data for event in events if event.data]:
        ids += data.get("ids", ())
    return struct.pack(f"<{len(ids)}I", *map(zlib.crc32, map(str.encode, ids)))


def mark(tx: Transaction, first: int, last: int, marks: bytes) -> None:
    """Keep the marks of the events from place `first` to `last`."""
    if len(marks) < _LEAST * _WIDTH and tx.db.execute(_ADD, (last, marks, first)).rowcount:
        return
    tx.db.execute(_INSERT, (first, last, marks))


def forget(tx: Transaction, upto: int) -> None:
    """The events up to this place are gone."""
    tx.db.execute("DELETE FROM journal_ids WHERE last_seq <= ?", (upto,))


def spans_about(view: View, message_id: str, last: int) -> list[Span]:
    """Where events about a message may be, in order; `last` is the newest place of the journal."""
    wanted = struct.pack("<I", zlib.crc32(message_id.encode()))
    spans: list[Span] = []
    for first, end, is_found, before in view.db.execute(_FIND, (wanted,)).fetchall():
        if before < first - 1:
            spans.append((before + 1, first - 1))
        if is_found:
            spans.append((first, end))
    (covered,) = view.db.execute("SELECT coalesce(max(last_seq), 0) FROM journal_ids").fetchone()
    if covered < last:
        spans.append((covered + 1, last))
    return spans
