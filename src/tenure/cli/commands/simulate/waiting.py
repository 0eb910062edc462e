"""A line on standard error with the progress of a simulation; only on a terminal."""

import sys

from tenure.clock import SYSTEM_CLOCK

_EVERY_SECONDS = 0.2


class ProgressLine:
    """One line, written over and over."""

    def __init__(self, total: int, columns: int) -> None:
        """Count this many messages in each of this many columns."""
        self._total = total
        self._columns = columns
        self._column = 0
        self._name = ""
        self._told_at = float("-inf")
        self._is_shown = sys.stderr.isatty()

    def begin(self, name: str) -> None:
        """Begin the next column."""
        self._column += 1
        self._name = name
        self._told_at = float("-inf")
        self.tell(0)

    def tell(self, done: int) -> None:
        """Show how many messages of this column are finished."""
        now = SYSTEM_CLOCK.monotonic()
        if self._is_shown and now - self._told_at >= _EVERY_SECONDS:
            self._told_at = now
            part = done / self._total
            text = f"{self._name} ({self._column} of {self._columns}): {done:,} of {self._total:,} messages, {part:.0%}"
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Clear the line."""
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
