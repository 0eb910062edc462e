"""Bounds how many requests wait for something at once (long polls), so that some are left for those who do not."""

import contextlib
from collections.abc import Iterator


class WaitingSlots:
    """The requests of one process that wait."""

    def __init__(self, most: int) -> None:
        """Let at most `most` requests wait at once."""
        self.most = most
        self.in_use = 0

    @contextlib.contextmanager
    def slot(self) -> Iterator[bool]:
        """Take a slot for as long as it is entered. Yields False if too many requests wait."""
        if self.in_use >= self.most:
            yield False
            return
        self.in_use += 1
        try:
            yield True
        finally:
            self.in_use -= 1
