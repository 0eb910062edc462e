"""Looking: browse, depth, what is leasable, what an owner holds. Changes nothing.

Run by `reader.py`, so that looking never holds up those who work.
"""

import sqlite3
from collections.abc import Sequence
from operator import itemgetter

import msgspec

from tenure.adapters.sqlite import edited
from tenure.adapters.sqlite.many import listed
from tenure.adapters.sqlite.states import CANCELLED, COMPLETED, DEAD, DELAYED, LEASED, READY
from tenure.adapters.sqlite.timeline import seconds
from tenure.adapters.sqlite.transaction import View
from tenure.broker import Browsed, Depth
from tenure.message import MAX_PRIORITY, Counters, MessageState
from tenure.verdict import Reason

_reason = msgspec.json.Decoder(Reason)

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

_COLUMNS = (
    "seq, id, envelope, deliveries, attempts, crashes, lost,"
    " (SELECT owner FROM loan WHERE loan.fence = message.fence), fence, moment, reason, finished_at"
)
_PAGE = "queue = ? AND seq > ? ORDER BY seq LIMIT ?"
_BROWSE = {
    MessageState.DELAYED: f"INDEXED BY message_delayed WHERE state = {DELAYED} AND {_PAGE}",
    MessageState.LEASED: f"INDEXED BY message_leased WHERE state = {LEASED} AND {_PAGE}",
    MessageState.DEAD: f"INDEXED BY message_dead WHERE state = {DEAD} AND {_PAGE}",
    # Finished ones are in no index, and few people page through them.
    MessageState.COMPLETED: f"NOT INDEXED WHERE state = {COMPLETED} AND {_PAGE}",
    MessageState.CANCELLED: f"NOT INDEXED WHERE state = {CANCELLED} AND {_PAGE}",
}


def leasable_in(view: View, queues: Sequence[str]) -> int | None:
    """Microseconds until something can be leased from `queues`: 0 or less is now, None is unknown."""
    soonest: int | None = None
    for queue in queues:
        if has_ready(view.db, queue):
            return 0
        due = view.db.execute(
            f"SELECT min(moment) FROM message INDEXED BY message_delayed WHERE state = {DELAYED} AND queue = ?",
            (queue,),
        ).fetchone()[0]
        # One that was written by hand is put right by the next sweep.
        due = edited.moment(due)
        if due is not None and (soonest is None or due - view.now < soonest):
            soonest = due - view.now
    return soonest


def has_ready(db: sqlite3.Connection, queue: str) -> bool:
    """Whether a message lies ready in `queue`."""
    found = db.execute(
        f"SELECT 1 FROM message INDEXED BY message_ready WHERE state = {READY} AND queue = ? LIMIT 1", (queue,)
    ).fetchone()
    return found is not None


def browse(view: View, queue: str, state: MessageState, limit: int, after: int) -> list[Browsed]:
    """Messages of one queue and state, in the order in which they came."""
    if state is MessageState.READY:
        rows = _ready_page(view.db, queue, limit, after)
    else:
        rows = view.db.execute(f"SELECT {_COLUMNS} FROM message {_BROWSE[state]}", (queue, after, limit)).fetchall()
    return [_browsed(view, queue, state, row) for row in rows]


def _ready_page(db: sqlite3.Connection, queue: str, limit: int, after: int) -> list[tuple[object, ...]]:
    """The index is by priority first, so the page is merged from a page of each."""
    sql = (
        f"SELECT {_COLUMNS} FROM message INDEXED BY message_ready"
        f" WHERE state = {READY} AND queue = ? AND priority = ? AND seq > ? ORDER BY seq LIMIT ?"
    )
    pages = [db.execute(sql, (queue, priority, after, limit)).fetchall() for priority in range(MAX_PRIORITY + 1)]
    return sorted((row for page in pages for row in page), key=itemgetter(0))[:limit]


def _browsed(view: View, queue: str, state: MessageState, row: tuple[object, ...]) -> Browsed:
    seq, id, envelope, deliveries, attempts, crashes, lost, owner, fence, moment, reason, finished_at = row
    when = edited.moment(moment)
    until = None if when is None else seconds(when - view.now)
    leased = state is MessageState.LEASED
    return Browsed(
        id=id,  # type: ignore[arg-type]
        queue=queue,
        state=state,
        envelope=edited.raw(envelope) or b"",
        counters=Counters(*edited.counters((deliveries, attempts, crashes, lost))),
        cursor=seq,  # type: ignore[arg-type]
        owner=edited.text(owner) if leased else None,
        fence=edited.moment(fence) if leased else None,
        deadline_in=until if leased else None,
        due_in=until if state is MessageState.DELAYED else None,
        reason=edited.read(_reason, reason),
        finished_at=edited.number(finished_at),
    )


def depth(view: View, queues: Sequence[str] | None) -> list[Depth]:
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
    """By queue: how many lie ready, and when the oldest of them was sent.

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
