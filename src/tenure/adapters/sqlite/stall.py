"""Stalls: spans of time in which the file could not be written, as far as this process has seen.

Nobody could renew a lease then, so nobody is to blame for one that ended in such a span: somebody held the
write lock (a backup, a stopped process), or the disk was full. Kept by `writer.py`, minded by `returning.py`.
"""

from collections import deque

#: Shorter waits are the usual coming and going of writers, and shorter than any sensible lease.
_LEAST_MICROS = 200_000
#: A sweep that comes late must know of all stalls since the one before; more of them are an outage anyway.
_KEPT = 16

Span = tuple[int, int]


class Stalls:
    """The latest stalls, in store time."""

    def __init__(self) -> None:
        """All is well."""
        self._since: int | None = None
        self._past: deque[Span] = deque(maxlen=_KEPT)

    def begin(self, now: int) -> None:
        """A try to write failed."""
        if self._since is None:
            self._since = now

    def until(self, now: int) -> tuple[Span, ...]:
        """All stalls so far, one that is perhaps just ending included."""
        if self._since is None or now - self._since < _LEAST_MICROS:
            return tuple(self._past)
        return (*self._past, (self._since, now))

    def end(self, began: int, now: int) -> None:
        """A transaction that began at `began` is over. While it lasted, nobody else could write."""
        since = began if self._since is None else self._since
        if now - since >= _LEAST_MICROS:
            self._past.append((since, now))
        self._since = None
