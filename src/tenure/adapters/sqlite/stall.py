"""Stalls: spans of time in which this process could not write the file.

No lease could be renewed in such a span, so a lease that ended in it is not counted as lost: another process held the
write lock (a backup, a stopped process), or the disk was full. Kept by `writer.py`, read by `returning.py`.
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
        """Begin with no stall recorded."""
        self._since: int | None = None
        self._past: deque[Span] = deque(maxlen=_KEPT)

    def begin(self, now: int) -> None:
        """Note when the write lock was first asked for, whether it was given or not."""
        if self._since is None:
            self._since = now

    def until(self, now: int) -> tuple[Span, ...]:
        """Return all stalls so far, also one that may be ending now."""
        if self._since is None or now - self._since < _LEAST_MICROS:
            return tuple(self._past)
        return (*self._past, (self._since, now))

    def end(self, now: int) -> None:
        """A transaction is over. While it lasted, no other process could write."""
        if self._since is not None and now - self._since >= _LEAST_MICROS:
            self._past.append((self._since, now))
        self._since = None
