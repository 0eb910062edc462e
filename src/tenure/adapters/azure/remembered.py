"""What a process remembers of rows, with their versions: so that the usual path reads nothing.

Bounded: what was not used for longest is forgotten, and read again. It may be old; who writes by it is refused then,
and forgets it. The loops of one process share it, because the heartbeat writes rows that the worker's loop settles.
Used by `store.py` for lives, and by `ledger.py` for claims.
"""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")

#: So many are remembered.
MOST = 10_000


class Remembered(Generic[T]):
    """The latest that is known, by name. Any thread may ask."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, name: str, what: T) -> None:
        """The latest."""
        with self._lock:
            self._known[name] = what
            self._known.move_to_end(name)
            while len(self._known) > MOST:
                self._known.popitem(last=False)

    def recall(self, name: str) -> T | None:
        """What is remembered; perhaps no longer true."""
        return self._known.get(name)

    def forget(self, name: str) -> None:
        """Read it again next time."""
        with self._lock:
            self._known.pop(name, None)
