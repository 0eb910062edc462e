"""Room: how many more messages may wait in the queues of a batch, counted in the transaction that stores it.

Only for messages with `most_waiting`. What waits is counted in the two indexes that hold it, at most as far as the
limit, so a queue without a limit costs nothing, and one with a limit of 10,000 at most that many steps of an index.
Used by `sending.py`.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from tenure.adapters.sqlite.states import DELAYED, READY
from tenure.adapters.sqlite.transaction import WriteTransaction
from tenure.broker import Sent
from tenure.message import Message
from tenure.rules.rejections import queue_full

_WAITING = f"""
SELECT (SELECT count(*) FROM (SELECT 1 FROM message INDEXED BY message_ready
        WHERE state = {READY} AND queue = ?1 LIMIT ?2))
     + (SELECT count(*) FROM (SELECT 1 FROM message INDEXED BY message_delayed
        WHERE state = {DELAYED} AND queue = ?1 LIMIT ?2))
"""


class Limited(Protocol):
    """A message that is about to be stored."""

    @property
    def message(self) -> Message:
        """The message."""
        ...

    @property
    def most_waiting(self) -> int | None:
        """It is refused if so many wait. None: any number may."""
        ...


class QueueRoom:
    """What waits in the limited queues of one batch."""

    def __init__(self, tx: WriteTransaction, entries: Sequence[Limited]) -> None:
        """Count."""
        most: dict[str, int] = {}
        for entry in entries:
            if entry.most_waiting is not None:
                queue = entry.message.queue
                most[queue] = max(most.get(queue, 0), entry.most_waiting)
        self._waiting = {
            queue: int(tx.db.execute(_WAITING, (queue, limit)).fetchone()[0]) for queue, limit in most.items()
        }

    def takes_all(self, entries: Iterable[Limited]) -> bool:
        """Whether there is room for the whole batch, even if every message of it is new."""
        waiting = dict(self._waiting)
        for entry in entries:
            queue, most = entry.message.queue, entry.most_waiting
            if queue in waiting:
                if most is not None and waiting[queue] >= most:
                    return False
                waiting[queue] += 1
        return True

    def answer(self, entry: Limited) -> Sent:
        """Whether a new message is stored; if so, it waits from now on."""
        message, most = entry.message, entry.most_waiting
        if most is not None and self._waiting[message.queue] >= most:
            return Sent(message.id, refusal=queue_full(message, most))
        if message.queue in self._waiting:
            self._waiting[message.queue] += 1
        return Sent(message.id)
