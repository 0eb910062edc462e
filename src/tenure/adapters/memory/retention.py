"""Retention: how long what is finished stays known.

Everything stays for `seconds`, and only the last `limit` of it: but nothing goes within the first ten
minutes, because `send` promises to know an id for that long. Used for finished messages, for the ids of
deleted ones, and for keys that are done.
"""

from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")

#: `Broker.send` is idempotent for this long, whatever the limit says.
PROMISED_SECONDS = 600.0


class Retention(Generic[T]):
    """Names of finished things, oldest first."""

    def __init__(self, *, limit: int, seconds: float) -> None:
        """Keep the last `limit` for at most `seconds`, and all of them for ten minutes."""
        self._limit = limit
        self._seconds = max(seconds, PROMISED_SECONDS)
        self._since: OrderedDict[T, float] = OrderedDict()

    def __contains__(self, name: T) -> bool:
        """Whether `name` is still kept."""
        return name in self._since

    def keep(self, name: T, now: float) -> list[T]:
        """Keep `name` from `now` on; what must be forgotten in return."""
        self._since[name] = now
        forgotten = []
        while self._since:
            oldest, since = next(iter(self._since.items()))
            over = len(self._since) > self._limit
            if now - since <= (PROMISED_SECONDS if over else self._seconds):
                break
            del self._since[oldest]
            forgotten.append(oldest)
        return forgotten

    def drop(self, name: T) -> None:
        """Forget `name` before its time."""
        self._since.pop(name, None)
