"""An index of events by message: four bytes for each id, kept beside the journal.

The events of a million messages are hundreds of megabytes; their marks are four, so that one message's events are found
by searching the marks alone. A row of `journal_ids` covers the events from one place to another: small appends add to
the newest row, so that rows stay few. Two ids may share a mark by chance: the reader compares the events themselves.
Places that no row covers were appended by an older version, and are searched themselves.

Used by `journal.py`.
"""

import struct
import zlib
from collections.abc import Sequence

from tenure.adapters.sqlite.transaction import ReadView, WriteTransaction
from tenure.event import Event

_WIDTH = 4
#: An append with this many ids gets a row of its own; a smaller one is added to the newest row, up to the most.
_LEAST, _MOST = 64, 256

# Joined bytes are a text to SQLite, whose length ends at its first zero: hence the cast.
_ADD = f"""
UPDATE journal_ids SET last_seq = ?1, marks = CAST(marks || ?2 AS BLOB)
WHERE first_seq = (SELECT max(first_seq) FROM journal_ids) AND last_seq = ?3 - 1
  AND length(marks) + length(?2) <= {_MOST * _WIDTH}
"""
_INSERT = "INSERT OR REPLACE INTO journal_ids (first_seq, last_seq, marks) VALUES (?, ?, ?)"
# All rows, for the gaps between them: comparing them here takes half the time of a window function.
_FIND = "SELECT first_seq, last_seq, instr(marks, ?) > 0 FROM journal_ids ORDER BY first_seq"

#: Places from and to, both included.
Span = tuple[int, int]


def marks_of(events: Sequence[Event]) -> bytes:
    """The marks of all messages that these events are about. Runs in the caller's loop."""
    ids = [event.message_id for event in events if event.message_id is not None]
    for data in [event.data for event in events if event.data]:
        ids += data.get("ids", ())
    return struct.pack(f"<{len(ids)}I", *map(zlib.crc32, map(str.encode, ids)))


def mark(tx: WriteTransaction, first: int, last: int, marks: bytes) -> None:
    """Keep the marks of the events from place `first` to `last`."""
    if len(marks) < _LEAST * _WIDTH and tx.db.execute(_ADD, (last, marks, first)).rowcount:
        return
    tx.db.execute(_INSERT, (first, last, marks))


def forget(tx: WriteTransaction, upto: int) -> None:
    """The events up to this place are gone."""
    tx.db.execute("DELETE FROM journal_ids WHERE last_seq <= ?", (upto,))


def spans_about(view: ReadView, message_id: str, last: int) -> list[Span]:
    """Return the spans that may hold events about a message, in order; `last` is the journal's newest place."""
    wanted = struct.pack("<I", zlib.crc32(message_id.encode()))
    spans: list[Span] = []
    covered = 0
    for first, end, is_found in view.db.execute(_FIND, (wanted,)):
        if covered < first - 1:
            spans.append((covered + 1, first - 1))
        if is_found:
            spans.append((first, end))
        covered = end
    if covered < last:
        spans.append((covered + 1, last))
    return spans
