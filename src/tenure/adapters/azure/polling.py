"""Polling: which of many queues are asked next, and when.

Storage queues cannot call us. A queue that gave as much as was asked for is asked again at once, one that gave less
soon, and one that gave nothing more and more seldom: up to every `poll_seconds` for up to 10 queues, in proportion to
their number above that, and never more seldom than 30 times `poll_seconds`. So a worker on 300 idle queues makes 10
requests a second, and one on 1000 makes 33. What comes in or back by this process is asked for at once.

Shared by the stores of a process (`shared.py`). Asked by `lending.py` and `waiting.py`.
"""

import random
from collections.abc import Sequence

#: The first pause after something was there.
FIRST_PAUSE = 0.05
#: Each pause is so much longer than the one before.
LONGER = 1.6
#: So many queues are each asked every `poll_seconds`; more of them take longer in proportion, up to so many times that.
_OFTEN, _SELDOM = 10, 30
#: A queue that was asked, and of which no answer was noted, is asked again after so many seconds.
_UNANSWERED = 60.0
#: Whoever polls many queues spreads the requests: a pause is cut by up to this part.
_SPREAD = 0.2


def longest_pause(poll_seconds: float, queues: int) -> float:
    """The longest time for which one of so many queues is not asked."""
    return poll_seconds * min(max(1.0, queues / _OFTEN), _SELDOM)


class _Turn:
    """When one queue is asked again."""

    __slots__ = ("due", "is_busy", "pause", "stirs")

    def __init__(self) -> None:
        self.due = 0.0
        self.pause = 0.0
        #: It gave all that was asked for.
        self.is_busy = False
        #: How often something came into it by this process.
        self.stirs = 0


class Polling:
    """The turns of every queue that this process polls. Any thread may stir one."""

    def __init__(self) -> None:
        """Nothing was asked yet."""
        self._turns: dict[str, _Turn] = {}

    def due(self, queues: Sequence[str], now: float) -> list[str]:
        """Those whose turn it is, the one that has waited longest first."""
        turns = self._turns
        found = [(turns[queue].due if queue in turns else 0.0, queue) for queue in queues]
        return [queue for _, queue in sorted((one for one in found if one[0] <= now), key=lambda one: one[0])]

    def next_due(self, queues: Sequence[str]) -> float | None:
        """When the first of them is to be asked. None: there are none."""
        turns = self._turns
        return min((turn.due if (turn := turns.get(queue)) else 0.0 for queue in queues), default=None)

    def is_busy(self, queue: str) -> bool:
        """Whether it gave all that was asked for, the last time."""
        turn = self._turns.get(queue)
        return turn is not None and turn.is_busy

    def ask(self, queue: str, now: float) -> int:
        """It is being asked; what to hand to `answered`."""
        turn = self._turns.setdefault(queue, _Turn())
        turn.due = now + _UNANSWERED
        return turn.stirs

    def answered(self, queue: str, stirs: int, now: float, *, got: int, want: int, longest: float) -> None:
        """It gave `got` of the `want` messages that were asked for."""
        turn = self._turns.setdefault(queue, _Turn())
        turn.is_busy = got >= want
        if turn.stirs != stirs:
            turn.due, turn.pause = 0.0, FIRST_PAUSE  # something came while it was asked
        elif got:
            turn.pause = FIRST_PAUSE
            turn.due = now if turn.is_busy else now + FIRST_PAUSE
        else:
            # One that was empty when it was first asked begins with long pauses: there may be thousands.
            turn.pause = min(turn.pause * LONGER or longest / LONGER**2, longest)
            turn.due = now + turn.pause * (1.0 - random.uniform(0.0, _SPREAD))  # noqa: S311 - only to spread

    def looked(self, queue: str, stirs: int, now: float, *, shows: bool, longest: float) -> None:
        """It was looked at, and shows something, or nothing."""
        if shows:
            self._turns.setdefault(queue, _Turn()).due = 0.0  # whoever leases asks it first
        else:
            self.answered(queue, stirs, now, got=0, want=1, longest=longest)

    def stir(self, queue: str) -> None:
        """Something came into it."""
        turn = self._turns.get(queue)
        if turn is not None:
            turn.stirs += 1
            turn.due = 0.0
