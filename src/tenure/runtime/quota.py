"""Quotas: at most so many of one task at once in one worker (`concurrency=` of a task).

Intake lets in up to the limit. The surplus goes back to its queue, uncounted, with a delay so that each comes
back about when its turn should come; so a flood of a limited task neither fills the slots nor keeps the others
of its queue from being reached. The line is an estimate: whoever comes back too early lines up again, and other
workers may take it meanwhile.

Asked by `intake.py`, told by `handling.py` when a handler's code has ended: a thread that was left counts on.
"""

from typing import Any

from tenure.clock import Clock
from tenure.runtime.delivery import Delivery
from tenure.task import Task

#: What a run is taken to last before one has ended here.
DEFAULT_SECONDS = 0.25
#: Nobody comes back sooner (a give-back costs more than the wait), and nobody is kept longer.
SHORTEST_SECONDS = 0.25
LONGEST_SECONDS = 60.0
#: Nor longer than this on a guess: a flood that meets a new worker must not be sent away by it for a minute.
LONGEST_GUESS_SECONDS = 5.0
#: How much the newest run weighs in the mean.
_WEIGHT = 0.2


class Quotas:
    """The quotas of every limited task in one worker. Tasks without a limit cost one comparison."""

    def __init__(self, clock: Clock) -> None:
        """Nobody is in."""
        self._clock = clock
        self._lines: dict[str, _Line] = {}

    def enter(self, delivery: Delivery, task: Task[..., Any]) -> float | None:
        """None: it may run, and has a place until `leave`. Otherwise: seconds after which it may come back."""
        limit = task.policy.concurrency
        if limit is None:
            return None
        line = self._lines.get(task.name)
        if line is None:
            line = self._lines[task.name] = _Line(limit)
        return line.enter(delivery, self._clock.monotonic())

    def leave(self, delivery: Delivery) -> None:
        """Its code has ended, or it was not run after all."""
        task = delivery.task
        if task is not None and task.policy.concurrency is not None:
            line = self._lines.get(task.name)
            if line is not None:
                line.leave(delivery, self._clock.monotonic())


class _Line:
    """Those of one task that run, and those that were sent away for a while."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._inside: set[Delivery] = set()
        self._mean_seconds: float | None = None
        #: The moment at which the last one in the line should have its turn.
        self._last_turn = float("-inf")

    def enter(self, delivery: Delivery, now: float) -> float | None:
        if len(self._inside) < self._limit:
            self._inside.add(delivery)
            return None
        seconds, longest = self._mean_seconds, LONGEST_SECONDS
        if seconds is None:
            seconds, longest = DEFAULT_SECONDS, LONGEST_GUESS_SECONDS
        turn = max(self._last_turn, now) + seconds / self._limit
        # Never further away than anybody is kept: beyond it all come back together, and find a line as it is then.
        self._last_turn = min(turn, now + longest)
        return max(SHORTEST_SECONDS, self._last_turn - now)

    def leave(self, delivery: Delivery, now: float) -> None:
        if delivery not in self._inside:
            return
        self._inside.discard(delivery)
        if delivery.started is not None:
            lasted = now - delivery.started
            mean = self._mean_seconds
            self._mean_seconds = lasted if mean is None else mean + _WEIGHT * (lasted - mean)
