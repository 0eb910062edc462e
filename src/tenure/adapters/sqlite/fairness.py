"""Fairness: which messages are leased next, by `rules/rotation.py`, where several queues or priorities wait.

The counts are kept in the process, not in the file. Used by `lending.py` only, in the writer's thread.
"""

import sqlite3
from collections.abc import Sequence
from operator import itemgetter

import msgspec

from tenure.adapters.sqlite.states import READY
from tenure.rules.rotation import lower_turns, next_source, rotated

#: Queues whose messages are counted. With more of them all counts start over, at 0.
_COUNTED = 100_000
#: Queues that are looked for at first.
_NARROW = 4

_HEAD = f"""
SELECT json_group_array(seq) FROM (
    SELECT seq FROM message INDEXED BY message_ready
    WHERE state = {READY} AND queue = ? AND priority = ? ORDER BY seq LIMIT ?)
"""

_numbers = msgspec.json.Decoder(list[int])


class QueueTurns:
    """The turns of queues and priorities, for one broker."""

    def __init__(self) -> None:
        """Begin with no leases counted and the narrowest look."""
        self._calls = 0
        self._lent: dict[str, int] = {}
        #: Where queues are many: the last one that a call lent from. The next call begins behind it.
        self.last_served = ""
        #: How many calls leased from limited queues and others.
        self._limited_calls = 0
        #: About how many queues a call lends from.
        self.width = _NARROW

    def rotated(self, queues: Sequence[str]) -> Sequence[str]:
        """The queues, beginning with the next one at each call."""
        turn = self._calls
        if len(queues) > 1:
            self._calls += 1
        return rotated(queues, turn)

    def rotated_parts(self, parts: Sequence[str]) -> Sequence[str]:
        """The limited queues, and what stands for all others, beginning with the next one at each call."""
        self._limited_calls += 1
        return rotated(parts, self._limited_calls)

    def note_width(self, queues: int) -> None:
        """A call leased from this many queues: the next one will likely do so too."""
        self.width = max(_NARROW, queues)

    def count(self, queue: str, messages: int) -> None:
        """Count `messages` more leases from `queue`."""
        if len(self._lent) >= _COUNTED:
            self._lent.clear()
        self._lent[queue] = self._lent.get(queue, 0) + messages

    def falls_within(self, queue: str, want: int) -> int:
        """Return how many of the next `want` messages are a lower priority's turn."""
        return lower_turns(self._lent.get(queue, 0), want)

    def choose(self, db: sqlite3.Connection, queue: str, want: int, top: int, bottom: int) -> list[int]:
        """The next `want` messages, in the order in which they are lent, where several priorities wait."""
        waiting = self._heads(db, queue, want, top, bottom)
        lent = self._lent.get(queue, 0)
        chosen: list[int] = []
        while waiting and len(chosen) < want:
            source = next_source(waiting, lent + len(chosen) + 1, arrival=itemgetter(-1))
            chosen.append(source.pop())
            if not source:
                waiting.remove(source)
        return chosen

    def _heads(self, db: sqlite3.Connection, queue: str, want: int, top: int, bottom: int) -> list[list[int]]:
        """The oldest of each priority, highest priority first, each list with its oldest at the end."""
        fair = self.falls_within(queue, want)
        heads: list[list[int]] = []
        for priority in range(top, bottom - 1, -1):
            (text,) = db.execute(_HEAD, (queue, priority, max(want, 0) + fair)).fetchone()
            seqs = sorted(_numbers.decode(text), reverse=True)
            want -= len(seqs)
            if seqs:
                heads.append(seqs)
        return heads
