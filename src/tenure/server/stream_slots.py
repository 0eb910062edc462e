"""Slots for streams: how many may be open at once, in all and for each principal.

with server.streams.slot(principal.name): ...
"""

import contextlib
from collections import Counter
from collections.abc import Iterator

from tenure.server.errors import TooManyStreams

#: One principal may have this part of all streams open.
_SHARE = 2


class StreamSlots:
    """Counts open streams of one process."""

    def __init__(self, most: int) -> None:
        """Allow at most `most` streams at once."""
        self.most = most
        self.most_each = max(1, most // _SHARE)
        self._open: Counter[str] = Counter()

    @property
    def in_use(self) -> int:
        """The number of open streams."""
        return self._open.total()

    @contextlib.contextmanager
    def slot(self, name: str) -> Iterator[None]:
        """Take a slot for one stream of a principal, while it is open. Raises `TooManyStreams`."""
        if self.in_use >= self.most:
            msg = f"the server has {self.most} streams open, as many as it may; close some, or try again later"
            raise TooManyStreams(msg, retry_after=5.0)
        if self._open[name] >= self.most_each:
            msg = f"{name} has {self.most_each} streams open, as many as it may; close some"
            raise TooManyStreams(msg, retry_after=5.0)
        self._open[name] += 1
        try:
            yield
        finally:
            self._open[name] -= 1
            if not self._open[name]:
                del self._open[name]
