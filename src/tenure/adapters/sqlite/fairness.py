"""Fairness: high priorities first, but nobody waits for ever.

Over the running count of messages lent from a queue, every tenth is the oldest one of a priority lower than
the highest that waits. And with several queues, each call begins with another one. Pure choice; the counts
live in the process, not in the file. Used by `lending.py` only, in the writer's thread.
"""

import sqlite3
from collections.abc import Sequence

import msgspec

from tenure.adapters.sqlite.states import READY

#: One message in so many is taken from a lower priority.
FAIRNESS = 10
#: Queues whose messages are counted. With more of them all counts begin anew, at 0.
_COUNTED = 100_000
#: Queues that are looked for at first.
_NARROW = 4

_HEAD = f"""
SELECT json_group_array(seq) FROM (
    SELECT seq FROM message INDEXED BY message_ready
    WHERE state = {READY} AND queue = ? AND priority = ? ORDER BY seq LIMIT ?)
"""

_numbers = msgspec.json.Decoder(list[int])


class Turns:
    """Whose turn it is, for one broker."""

    def __init__(self) -> None:
        """Nothing was lent yet."""
        self._calls = 0
        self._lent: dict[str, int] = {}
        #: Where queues are many: the last one that a call lent from. The next call begins behind it.
        self.last_served = ""
        #: About how many queues a call lends from.
        self.width = _NARROW

    def rotated(self, queues: Sequence[str]) -> Sequence[str]:
        """The queues, beginning with the next one at each call."""
        if len(queues) < 2:  # noqa: PLR2004 - one queue has no turns
            return queues
        start = self._calls % len(queues)
        self._calls += 1
        return (*queues[start:], *queues[:start])

    def note_width(self, queues: int) -> None:
        """A call lent from so many queues: the next one will likely do so too."""
        self.width = max(_NARROW, queues)

    def count(self, queue: str, messages: int) -> None:
        """So many more were lent from `queue`."""
        if len(self._lent) >= _COUNTED:
            self._lent.clear()
        self._lent[queue] = self._lent.get(queue, 0) + messages

    def falls_within(self, queue: str, want: int) -> int:
        """How many of the next `want` messages are a lower priority's turn."""
        lent = self._lent.get(queue, 0)
        return (lent + want) // FAIRNESS - lent // FAIRNESS

    def choose(self, db: sqlite3.Connection, queue: str, want: int, top: int, bottom: int) -> list[int]:
        """The next `want` messages, in the order in which they are lent, where several priorities wait."""
        waiting = self._heads(db, queue, want, top, bottom)
        lent = self._lent.get(queue, 0)
        chosen: list[int] = []
        while waiting and len(chosen) < want:
            # Priorities are in falling order, so the first one that is left is the highest that waits.
            source = waiting[0]
            if (lent + len(chosen) + 1) % FAIRNESS == 0 and len(waiting) > 1:
                source = min(waiting[1:], key=lambda seqs: seqs[-1])
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
