"""Looking: browse, depth, what is leasable, what an owner holds. Changes nothing.

Run by `reader.py`, so that looking never holds up those who work.
"""

import sqlite3
from collections.abc import Sequence
from operator import itemgetter

import msgspec

from tenure.adapters.sqlite import edited
from tenure.adapters.sqlite.states import CANCELLED, COMPLETED, DEAD, DELAYED, LEASED, READY
from tenure.adapters.sqlite.timeline import seconds
from tenure.adapters.sqlite.transaction import View
from tenure.broker import Browsed, Depth
from tenure.message import MAX_PRIORITY, Counters, MessageState
from tenure.verdict import Reason

_reason = msgspec.json.Decoder(Reason)

#: Served by its partial index alone, except for leased ones: those are few.
_COUNT = {
    "delayed": f"SELECT count(*) FROM message INDEXED BY message_delayed WHERE state = {DELAYED} AND queue = ?",
    "leased": f"SELECT count(*) FROM message INDEXED BY message_leased WHERE state = {LEASED} AND queue = ?",
    "dead": f"SELECT count(*) FROM message INDEXED BY message_dead WHERE state = {DEAD} AND queue = ?",
}

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
    """Exact counts, and the age of what has lain ready longest."""
    if queues is None:
        queues = sorted(_all_queues(view.db))
    return [_depth(view, queue) for queue in queues]


def _depth(view: View, queue: str) -> Depth:
    counts = {state: view.db.execute(sql, (queue,)).fetchone()[0] for state, sql in _COUNT.items()}
    counts["ready"] = _count_ready(view.db, queue)
    oldest = edited.number(_oldest_sent_at(view.db, queue)) if counts["ready"] else None
    age = None if oldest is None else max(0.0, view.wall - oldest)
    return Depth(queue=queue, oldest_age_seconds=age, **counts)


def _count_ready(db: sqlite3.Connection, queue: str) -> int:
    """Where no other queue has anything ready, names need not be compared: that halves the time for a million."""
    in_ready = f"FROM message INDEXED BY message_ready WHERE state = {READY}"
    first, last = db.execute(f"SELECT (SELECT min(queue) {in_ready}), (SELECT max(queue) {in_ready})").fetchone()
    if first == last == queue:
        row = db.execute(f"SELECT count(*) {in_ready}").fetchone()
    else:
        row = db.execute(f"SELECT count(*) {in_ready} AND queue = ?", (queue,)).fetchone()
    count: int = row[0]
    return count


def _oldest_sent_at(db: sqlite3.Connection, queue: str) -> float | None:
    """The oldest of each priority is one step into the index; the oldest of those is the oldest."""
    heads = [
        db.execute(
            "SELECT seq, sent_at FROM message INDEXED BY message_ready"
            f" WHERE state = {READY} AND queue = ? AND priority = ? ORDER BY seq LIMIT 1",
            (queue, priority),
        ).fetchone()
        for priority in range(MAX_PRIORITY + 1)
    ]
    found = [head for head in heads if head is not None]
    return min(found, key=itemgetter(0))[1] if found else None


def _all_queues(db: sqlite3.Connection) -> set[str]:
    """Every queue with something in it, by hopping from name to name through the indexes."""
    found: set[str] = set()
    for name, state in (("ready", READY), ("delayed", DELAYED), ("dead", DEAD)):
        hop = f"SELECT min(queue) FROM message INDEXED BY message_{name} WHERE state = {state} AND queue > ?"
        queue = ""
        while (queue := db.execute(hop, (queue,)).fetchone()[0]) is not None:
            found.add(queue)
    leased = db.execute(f"SELECT DISTINCT queue FROM message INDEXED BY message_leased WHERE state = {LEASED}")
    found.update(name for (name,) in leased.fetchall())
    return found
