"""Erasing: removes what is kept of messages of one queue that have ended, piece by piece along the order of arrival.

First messages, then keys: `m:<seq>` and `c:<seq>` say how far it came. There is no index of ended messages by queue,
because it would slow every message down; so all rows are looked at, a few thousand in a step.
"""

import msgspec

from tenure.adapters.sqlite.announcing import needed_records
from tenure.adapters.sqlite.placeholders import listed
from tenure.adapters.sqlite.states import CANCELLED, COMPLETED
from tenure.adapters.sqlite.transaction import WriteTransaction
from tenure.broker import Erased

#: Rows that one step looks at: a few milliseconds.
_PIECE = 2_000

_ENDED = f"queue = ?1 AND state IN ({COMPLETED}, {CANCELLED}) AND announce IS NULL"
_MESSAGES = f"SELECT seq, id, {_ENDED} FROM message WHERE seq > ?2 ORDER BY seq LIMIT ?3"
# A key belongs to the queue with which its scope begins; the key of a message that has not ended stays.
_CLAIMS = """
SELECT seq, substr(scope, 1, length(?1)) = ?1 AND NOT EXISTS (SELECT 1 FROM message WHERE message.id = claim.id)
FROM claim WHERE seq > ?2 ORDER BY seq LIMIT ?3
"""


def erase(tx: WriteTransaction, queue: str, after: str) -> Erased:
    """Do one step from `after` on."""
    kind, _, place = after.partition(":")
    start = int(place) if place.isdigit() else 0
    return _erase_claims(tx, queue, start) if kind == "c" else _erase_messages(tx, queue, start)


def _erase_messages(tx: WriteTransaction, queue: str, start: int) -> Erased:
    rows = tx.db.execute(_MESSAGES, (queue, start, _PIECE)).fetchall()
    ended = [(seq, id) for seq, id, is_ended in rows if is_ended]
    needed = needed_records(tx, [id for _, id in ended]) if ended else ()
    gone = [(seq, id) for seq, id in ended if id not in needed]
    for table in ("message", "note", "outcome") if gone else ():
        tx.db.execute(
            f"DELETE FROM {table} WHERE seq IN (SELECT value FROM json_each(?))", (listed([seq for seq, _ in gone]),)
        )
    return Erased(len(gone), f"m:{rows[-1][0]}" if len(rows) == _PIECE else "c:0")


def _erase_claims(tx: WriteTransaction, queue: str, start: int) -> Erased:
    beginning = msgspec.json.encode([queue]).decode()[:-1] + ","
    rows = tx.db.execute(_CLAIMS, (beginning, start, _PIECE)).fetchall()
    gone = [seq for seq, is_of_queue in rows if is_of_queue]
    if gone:
        tx.db.execute("DELETE FROM claim WHERE seq IN (SELECT value FROM json_each(?))", (listed(gone),))
    return Erased(0, f"c:{rows[-1][0]}" if len(rows) == _PIECE else None)
