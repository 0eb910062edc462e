"""Bounds how many requests wait for something at once (long polls), so that some are left for those who do not."""

import contextlib
from collections.abc import Iterator


class WaitingSlots:
    """The requests of one process that wait."""

    def __init__(self, most: int) -> None:
        """So many at once."""
        self.most = most
        self.in_use = 0

    @contextlib.contextmanager
    def slot(self) -> Iterator[bool]:
        """Whether a request may wait; it has a slot for as long as this is entered. False: too many do."""
        if self.in_use >= self.most:
            yield False
            return
        self.in_use += 1
        try:
            yield True
        finally:
            self.in_use -= 1
