"""The server's wall time: our clock that never jumps, plus the difference at its last `TIME`.

Ticks of schedules and `expires` go by it, so that all workers agree, whatever their own wall clocks show. Heard when a
place is opened and with every reading of the board, once a second. In virtual time our wall clock, as it was at
first, is used as the server's. Used by `store.py` and `table.py`.
"""

from collections.abc import Sequence
from typing import Any

from tenure.clock import Clock, SystemClock

#: An answer that took longer says too little: it was given at some moment in between.
_SLOW_SECONDS = 1.0


class ServerWall:
    """The wall clock of a server."""

    def __init__(self, clock: Clock) -> None:
        """Begin with our own wall clock."""
        self._clock = clock
        self._is_virtual = not isinstance(clock, SystemClock)
        self._offset = clock.wall() - clock.monotonic()
        self._is_heard = False

    def now(self) -> float:
        """Unix seconds."""
        return self._clock.monotonic() + self._offset

    def hear(self, told: Sequence[Any], asked: float) -> None:
        """The server answered `TIME`, which was asked for at `asked` (monotonic), just now."""
        now = self._clock.monotonic()
        if self._is_virtual or (self._is_heard and now - asked > _SLOW_SECONDS):
            return
        seconds, micros = told
        self._offset = int(seconds) + int(micros) / 1e6 - (asked + now) / 2
        self._is_heard = True
