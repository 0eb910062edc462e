"""Outcomes: what happened to each message of a simulation, noted by the handlers themselves.

Written by `virtual_worker.py` while handlers run and by `billing.py` when messages leave the queue; read by
`result.py`. Seconds are virtual, from the beginning of the simulation.
"""

import asyncio

#: This many runs in a row were cut by scale-down, for each message that could be at work, and none came to its end.
#: Where one run in ten survives, that is as good as never seen.
_CUTS_IN_VAIN = 20


class Outcomes:
    """Counts by message, and the moments that the table is made of."""

    def __init__(self, count: int, began: float = 0.0, *, slots: int = 1) -> None:
        """Make counts for `count` messages. `began` is the start on the virtual clock, `slots` those of all workers."""
        self.began = began
        self._slots = slots
        #: Whether no more messages will come.
        self.all_sent = False
        #: Runs that were cut by scale-down since a message left.
        self.cut_in_a_row = 0
        self.count = count
        self.sent_at = [0.0] * count
        #: Times its handler was begun, and times it ran to its end.
        self.begun = [0] * count
        self.completed = [0] * count
        #: Handlers of it at work now.
        self._running = [0] * count
        #: Whether two were ever at work at once.
        self.overlapped = bytearray(count)
        #: Seconds that its handlers were at work, all together.
        self.worked = [0.0] * count
        #: The end of the first run that came to its end.
        self.done_at: list[float | None] = [None] * count
        #: Given up: with the dead letters.
        self.given_up = bytearray(count)
        #: The last crash in the middle of a run, until the next run begins.
        self._crashed_at: dict[int, float] = {}
        #: Of each crash: which message, and how long until it was begun again.
        self.recoveries: list[tuple[int, float]] = []
        self.crashes = 0
        #: Runs that were ended because their worker was stopped.
        self.interrupted = 0
        #: Renewals of its lease.
        self.beats = [0] * count
        self.left = count
        #: When the last of them left.
        self.ended_at = 0.0
        self._at_work = 0
        #: Nothing is left, and no handler of what is gone goes on; or scale-down lets none of them come to its end.
        self.is_over = asyncio.Event()

    def begin(self, index: int, now: float) -> None:
        """A handler of it starts."""
        self.begun[index] += 1
        self._running[index] += 1
        self._at_work += 1
        if self._running[index] > 1:
            self.overlapped[index] = 1
        crashed_at = self._crashed_at.pop(index, None)
        if crashed_at is not None:
            self.recoveries.append((index, now - crashed_at))

    def complete(self, index: int, began: float, now: float) -> None:
        """Count a run that ended by itself."""
        self._end(index, began, now)
        self.completed[index] += 1
        if self.done_at[index] is None:
            self.done_at[index] = now

    def cut(self, index: int, began: float, now: float, *, crashed: bool) -> None:
        """Count a run that was cut off: its worker ended, or its lease was lost."""
        self._end(index, began, now)
        if crashed and not self._running[index] and not self.completed[index]:
            self._crashed_at[index] = now

    def _end(self, index: int, began: float, now: float) -> None:
        self._running[index] -= 1
        self._at_work -= 1
        self.worked[index] += now - began
        self._look()

    def interrupt(self) -> None:
        """A run is cut because its worker was stopped. When that has happened to all of them, we give up."""
        self.interrupted += 1
        self.cut_in_a_row += 1
        if self.all_sent and self.left and self.cut_in_a_row >= _CUTS_IN_VAIN * min(self.left, self._slots):
            self.is_over.set()

    def leave(self, index: int, now: float, *, given_up: bool = False) -> None:
        """Count a message that is out of the queue for good."""
        self.given_up[index] = given_up
        self.left -= 1
        self.cut_in_a_row = 0
        self.ended_at = now
        self._look()

    def _look(self) -> None:
        if not self.left and not self._at_work:
            self.is_over.set()
