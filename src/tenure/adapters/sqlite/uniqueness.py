"""Uniqueness: while a message waits, no second one with the same `unique` is stored, unless it expires later.

`message_unique` is the index of nothing but such messages that are ready or delayed, so the file itself keeps it
in step with every lease and every return. A send looks here under the write lock, so of two at once one waits
and is found by the other. Used by `sending.py`.
"""

from collections.abc import Sequence
from functools import cache
from math import inf

from tenure.adapters.sqlite.placeholders import pieces, placeholders
from tenure.adapters.sqlite.states import DELAYED, READY
from tenure.adapters.sqlite.transaction import WriteTransaction
from tenure.message import Message

#: Queue, task and `unique` of a message.
Scope = tuple[str, str, str | None]
#: Whom to look for: of that scope, sent at that time or later, and not expiring before that moment.
_Wanted = tuple[Scope, float, float]


class WaitingRow:
    """Waiting messages with `unique`, as far as one batch needs them: those in the file and those it adds."""

    def __init__(self, tx: WriteTransaction, asked: Sequence[tuple[Message, float]]) -> None:
        """Look for what waits and was sent at `since` or later, for each message."""
        self._stored: dict[_Wanted, str] = {}
        #: Id, time of sending and of expiry, in the order of the batch.
        self._added: dict[Scope, list[tuple[str, float, float]]] = {}
        wanted = list(dict.fromkeys(_wanted(message, since) for message, since in asked))
        for piece in pieces(wanted):
            values = [value for place, (scope, *bounds) in enumerate(piece) for value in (place, *scope, *bounds)]
            for place, id in tx.db.execute(_oldest(len(piece)), values).fetchall():
                if id is not None:
                    self._stored[piece[place]] = id

    def add(self, message: Message, sent_at: float) -> None:
        """Add a message of the batch that will be stored."""
        if message.unique is not None:
            self._added.setdefault(_scope(message), []).append((message.id, sent_at, _until(message)))

    def stand_in(self, message: Message, since: float) -> str | None:
        """The first waiting message that makes `message` a duplicate. None: it may come in."""
        if message.unique is None:
            return None
        wanted = scope, _, until = _wanted(message, since)
        stored = self._stored.get(wanted)
        if stored is not None:
            return stored
        added = self._added.get(scope, ())
        return next((id for id, sent_at, lasts in added if sent_at >= since and lasts >= until), None)


def _scope(message: Message) -> Scope:
    return message.queue, message.task, message.unique


def _wanted(message: Message, since: float) -> _Wanted:
    return _scope(message), since, _until(message)


def _until(message: Message) -> float:
    """Return when a message expires. Infinity: never; then only one that never expires makes it a duplicate."""
    return inf if message.expires_at is None else message.expires_at


@cache
def _oldest(count: int) -> str:
    """Place and id, or nothing, for each scope and its bounds."""
    first = (
        "SELECT min(seq) FROM message INDEXED BY message_unique"
        f" WHERE uniqueness IS NOT NULL AND state IN ({READY}, {DELAYED})"
        " AND queue = entry.column2 AND task = entry.column3 AND uniqueness = entry.column4"
        " AND sent_at >= entry.column5 AND (expires_at IS NULL OR expires_at >= entry.column6)"
    )
    id = f"SELECT id FROM message WHERE seq = ({first})"
    return f"SELECT entry.column1, ({id}) FROM (VALUES {placeholders(6, count)}) AS entry"
