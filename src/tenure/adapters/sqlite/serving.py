"""Finds which of a worker's queues hold messages, so that the others are never asked.

Few names are looked up one by one, in one statement. Many names, and patterns, are found the other way round: by
stepping through the index of ready messages from one queue name to the next, a few names at a time, beginning behind
the queue that was served last. So an empty queue costs nothing, and every queue that has something gets its turn.

Used by `lending.py` and `looking.py`.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from tenure.adapters.sqlite import edited
from tenure.adapters.sqlite.placeholders import listed
from tenure.adapters.sqlite.states import DELAYED, READY
from tenure.adapters.sqlite.transaction import ReadView
from tenure.rules.queue_pattern import has_pattern, matches

#: Up to this many names are looked up one by one.
_FEW = 16
#: Names that the first hops find, and the most that one statement finds.
_FIRST_HOPS, _MOST_HOPS = 4, 256
#: Delayed messages that are looked at to find the one that a worker waits for.
_NEXT_DUE = 100
#: Names whose match with a pattern is remembered.
_REMEMBERED = 10_000

_IN_READY = f"FROM message INDEXED BY message_ready WHERE state = {READY}"
_TOP = f"(SELECT priority {_IN_READY} AND message.queue = name ORDER BY priority DESC LIMIT 1)"
_BOTTOM = f"(SELECT priority {_IN_READY} AND message.queue = name ORDER BY priority LIMIT 1)"
_HOP = f"""
WITH RECURSIVE names (name, number) AS (
    SELECT (SELECT queue {_IN_READY} AND queue > ?1 ORDER BY queue LIMIT 1), 1
    UNION ALL
    SELECT (SELECT queue {_IN_READY} AND queue > name ORDER BY queue LIMIT 1), number + 1
    FROM names WHERE name IS NOT NULL AND number < ?2)
SELECT json_group_array(json_array(name, {_TOP}, {_BOTTOM})) FROM names WHERE name IS NOT NULL
"""
_ASK = f"""
SELECT json_group_array(json_array(name, top, bottom))
FROM (SELECT name, {_TOP} AS top, {_BOTTOM} AS bottom FROM (SELECT value AS name FROM json_each(?)))
WHERE top IS NOT NULL
"""
_HAS_READY = f"SELECT EXISTS (SELECT 1 FROM json_each(?) WHERE EXISTS (SELECT 1 {_IN_READY} AND queue = value))"
_DUE = f"""
SELECT moment, queue FROM message INDEXED BY message_due WHERE state = {DELAYED} AND moment > ? ORDER BY moment
LIMIT {_NEXT_DUE}
"""


class Candidate(NamedTuple):
    """A queue that has something ready: the highest and the lowest priority of it."""

    queue: str
    top: int
    bottom: int


_candidates = msgspec.json.Decoder(list[Candidate])


class Served:
    """The queues of one request: names, patterns, and names that are left out."""

    def __init__(self, queues: tuple[str, ...], excluded: tuple[str, ...]) -> None:
        """`queues` may name one twice."""
        self._excluded = frozenset(excluded)
        self._queues = tuple(queue for queue in dict.fromkeys(queues) if queue not in self._excluded)
        #: Names that are looked up one by one. None: there are too many, or patterns.
        self.few = self._queues if len(self._queues) <= _FEW and not has_pattern(self._queues) else None
        self._known: dict[str, bool] = dict.fromkeys(self._queues, True)

    def without(self, names: Sequence[str]) -> "Served":
        """The same queues without these."""
        return served_by(self._queues, (*sorted(self._excluded), *names))

    def __contains__(self, queue: str) -> bool:
        """Whether this queue is served."""
        known = self._known.get(queue)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[queue] = matches(queue, self._queues, self._excluded)
        return known


@lru_cache(maxsize=64)
def served_by(queues: tuple[str, ...], excluded: tuple[str, ...] = ()) -> Served:
    """The queues of a request. A worker asks for the same ones again and again."""
    return Served(queues, excluded)


def ask(db: sqlite3.Connection, queues: Sequence[str]) -> list[Candidate]:
    """Return the queues that have something ready, in the order given."""
    return _candidates.decode(db.execute(_ASK, (listed(queues),)).fetchone()[0])


def in_turn(db: sqlite3.Connection, served: Served, after: str, first: int = _FIRST_HOPS) -> Iterator[list[Candidate]]:
    """Served queues that have something ready, a few at a time: from behind `after` on, then round to it.

    `first`: this many are looked for at first, then more and more.
    """
    at, size, is_round = after, min(first, _MOST_HOPS), not after
    while True:
        found = _candidates.decode(db.execute(_HOP, (at, size)).fetchone()[0])
        is_end = len(found) < size
        if is_round and after:
            is_end = is_end or found[-1].queue >= after
            found = [one for one in found if one.queue <= after]
        yield [one for one in found if one.queue in served]
        if is_end and is_round:
            return
        at, is_round = ("", True) if is_end else (found[-1].queue, is_round)
        size = min(4 * size, _MOST_HOPS)


def has_ready(db: sqlite3.Connection, served: Served) -> bool:
    """Whether a message is ready in a served queue."""
    if served.few is not None:
        return bool(db.execute(_HAS_READY, (listed(served.few),)).fetchone()[0])
    return any(in_turn(db, served, ""))


def leasable_in(view: ReadView, served: Served) -> int | None:
    """Microseconds until something can be leased: 0 or less is now, None is unknown.

    It may be too early, where much becomes due in queues that are not served: then the caller looks again.
    """
    return 0 if has_ready(view.db, served) else due_in(view, served)


def due_in(view: ReadView, served: Served) -> int | None:
    """The same, of delayed messages."""
    # The next lease makes overdue messages of any queue ready, so that later leases need not skip them.
    overdue = view.db.execute(
        f"SELECT 1 FROM message INDEXED BY message_due WHERE state = {DELAYED} AND moment <= ? LIMIT 1", (view.now,)
    ).fetchone()
    if overdue is not None:
        return 0
    moment = None
    # Not fetchall: most often the first one is served.
    rows = view.db.execute(_DUE, (view.now,))
    for due, queue in rows:
        # One that was written by hand is put right by the next sweep.
        if (moment := edited.moment(due)) is None or queue in served:
            break
    rows.close()
    return None if moment is None else moment - view.now
