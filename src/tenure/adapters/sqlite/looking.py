"""Depth: how many messages each queue holds, counted in one pass over each index. Changes nothing.

Run by `reader.py`, so that looking never holds up those who work.
"""

import sqlite3
from collections.abc import Sequence

from tenure.adapters.sqlite import edited
from tenure.adapters.sqlite.placeholders import listed
from tenure.adapters.sqlite.states import DEAD, DELAYED, LEASED, READY
from tenure.adapters.sqlite.transaction import ReadView
from tenure.broker import Depth
from tenure.message import MAX_PRIORITY

# One pass over each partial index, whatever the number of queues. Leased messages are looked up row by row: their index
# knows no queues, and they are few.
_COUNT = {
    "delayed": f"SELECT queue, count(*) FROM message INDEXED BY message_delayed WHERE state = {DELAYED}",
    "leased": f"SELECT queue, count(*) FROM message INDEXED BY message_leased WHERE state = {LEASED}",
    "dead": f"SELECT queue, count(*) FROM message INDEXED BY message_dead WHERE state = {DEAD}",
}
_AMONG = "AND queue IN (SELECT value FROM json_each(?))"
_IN_READY = f"FROM message INDEXED BY message_ready WHERE state = {READY}"
# Every queue with something ready, by hopping from name to name through the index.
_NAMES = f"""
    SELECT min(queue) {_IN_READY}
    UNION ALL SELECT (SELECT min(queue) {_IN_READY} AND queue > names.queue) FROM names WHERE names.queue IS NOT NULL
"""
# The oldest of each priority is one step into the index; the oldest of those is the oldest.
_OLDEST = f"""
SELECT sent_at FROM message WHERE seq = (SELECT min((
    SELECT seq {_IN_READY} AND message.queue = names.queue AND priority = level ORDER BY seq LIMIT 1))
    FROM (SELECT value AS level FROM json_each('{list(range(MAX_PRIORITY + 1))}')))
"""
_READY = f"""
WITH RECURSIVE names (queue) AS (%s)
SELECT queue, (SELECT count(*) {_IN_READY} AND message.queue = names.queue), ({_OLDEST})
FROM names WHERE queue IS NOT NULL
"""


def depth(view: ReadView, queues: Sequence[str] | None) -> list[Depth]:
    """Exact counts, and the age of what has lain ready longest; of every queue with something in it, or of `queues`."""
    among, names = ("", ()) if queues is None else (_AMONG, (listed(list(dict.fromkeys(queues))),))
    ready = _ready(view.db, queues, names)
    counts = {
        state: dict(view.db.execute(f"{sql} {among} GROUP BY queue", names).fetchall()) for state, sql in _COUNT.items()
    }
    if queues is None:
        queues = sorted({*ready, *(queue for found in counts.values() for queue in found)})
    depths = []
    for queue in queues:
        count, sent_at = ready.get(queue, (0, None))
        oldest = edited.number(sent_at)
        age = None if oldest is None else max(0.0, view.wall - oldest)
        others = {state: found.get(queue, 0) for state, found in counts.items()}
        depths.append(Depth(queue=queue, ready=count, oldest_age_seconds=age, **others))
    return depths


def _ready(
    db: sqlite3.Connection, queues: Sequence[str] | None, names: tuple[str, ...]
) -> dict[str, tuple[int, float | None]]:
    """By queue: how many are ready, and when the oldest of them was sent.

    Where one queue alone has something ready, names need not be compared: that halves the time for a million.
    """
    first, last = db.execute(f"SELECT (SELECT min(queue) {_IN_READY}), (SELECT max(queue) {_IN_READY})").fetchone()
    if first is None or (queues is not None and first == last and first not in queues):
        return {}
    if first == last:
        count: int = db.execute(f"SELECT count(*) {_IN_READY}").fetchone()[0]
        (oldest,) = db.execute(f"SELECT ({_OLDEST}) FROM (SELECT ? AS queue) AS names", (first,)).fetchone()
        return {first: (count, oldest)}
    found = _NAMES if queues is None else "SELECT value FROM json_each(?)"
    return {queue: (ready, oldest) for queue, ready, oldest in db.execute(_READY % found, names).fetchall()}
