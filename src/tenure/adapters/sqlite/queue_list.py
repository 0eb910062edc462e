"""The list of queues: which there are, also those that are empty for now.

A queue is its messages; the table `queue` remembers its name for an hour after the last one has ended. A sender
writes the name of its queue, at most once a minute for each, and by the sweep for queues with something in them. So a
plain message pays nothing. What is in a queue is listed whether the table knows the name or not.

Used by `broker.py`; `NotedQueues` by every send of a process.
"""

import sqlite3
from collections.abc import Iterable, Sequence

from tenure.adapters.sqlite.placeholders import listed
from tenure.adapters.sqlite.states import DEAD, DELAYED, LEASED, READY
from tenure.adapters.sqlite.timeline import micros
from tenure.adapters.sqlite.transaction import ReadView, WriteTransaction

#: A queue that was empty for so long is taken off the list by a sweep.
_EMPTY_SECONDS = 3600.0
#: A name is written again after so long.
_AGAIN_SECONDS = 60.0

_INDEXES = {READY: "message_ready", DELAYED: "message_delayed", DEAD: "message_dead"}
_LEASED = f"FROM message INDEXED BY message_leased WHERE state = {LEASED}"
_NOTE = """
INSERT INTO queue (name, moment) SELECT value, ?1 FROM json_each(?2) WHERE true
ON CONFLICT (name) DO UPDATE SET moment = excluded.moment WHERE excluded.moment > moment
"""


class NotedQueues:
    """Queues that this process wrote down a short while ago. Used by the writer's thread alone."""

    def __init__(self) -> None:
        """Begin with no queue noted."""
        self._until: dict[str, int] = {}
        self._checked = 0

    def note(self, tx: WriteTransaction, queues: Iterable[str]) -> None:
        """Write down names that were not written lately. Call for what is sent, in the same transaction."""
        until = self._until
        new = [queue for queue in queues if until.get(queue, 0) <= tx.now]
        if new:
            _write(tx, new)
            # If the transaction fails they are written a minute late; meanwhile their messages, if any, list them.
            until.update(dict.fromkeys(new, tx.now + micros(_AGAIN_SECONDS)))

    def tidy(self, tx: WriteTransaction) -> None:
        """Write down every queue with something in it, and forget those that were long empty; once a minute."""
        if tx.now - self._checked < micros(_AGAIN_SECONDS):
            return
        self._checked = tx.now
        _write(tx, list(_filled(tx.db)))
        tx.db.execute("DELETE FROM queue WHERE moment < ?", (tx.now - micros(_EMPTY_SECONDS),))

    def forget(self, tx: WriteTransaction, queue: str) -> bool:
        """Take a queue off the list, with its learned run times. False: the queue is not empty.

        A pause stays: it is an operator's word, and the queue may come back.
        """
        if _has_something(tx.db, queue):
            return False
        tx.db.execute("DELETE FROM queue WHERE name = ?", (queue,))
        tx.db.execute("DELETE FROM sample WHERE queue = ?", (queue,))
        self._until.pop(queue, None)
        return True


def queues(view: ReadView) -> list[str]:
    """The names of all queues, sorted."""
    known = {name for (name,) in view.db.execute("SELECT name FROM queue").fetchall()}
    return sorted(known | _filled(view.db))


def names_with(db: sqlite3.Connection, state: int) -> list[str]:
    """Queues with ready, delayed or dead messages, sorted; by hopping through the index from name to name."""
    step = f"SELECT min(queue) FROM message INDEXED BY {_INDEXES[state]} WHERE state = {state}"
    found = db.execute(
        f"WITH RECURSIVE names (name) AS ({step} UNION ALL SELECT ({step} AND queue > name) FROM names"
        " WHERE name IS NOT NULL) SELECT name FROM names WHERE name IS NOT NULL"
    )
    return [name for (name,) in found.fetchall()]


def _filled(db: sqlite3.Connection) -> set[str]:
    leased = {name for (name,) in db.execute(f"SELECT DISTINCT queue {_LEASED}").fetchall()}
    return leased.union(*(names_with(db, state) for state in _INDEXES))


def _has_something(db: sqlite3.Connection, queue: str) -> bool:
    looks = [f"SELECT 1 FROM message INDEXED BY {index} WHERE state = {state}" for state, index in _INDEXES.items()]
    looks.append(f"SELECT 1 {_LEASED}")
    return any(db.execute(f"{look} AND queue = ? LIMIT 1", (queue,)).fetchone() for look in looks)


def _write(tx: WriteTransaction, names: Sequence[str]) -> None:
    tx.db.execute(_NOTE, (tx.now, listed(names)))
