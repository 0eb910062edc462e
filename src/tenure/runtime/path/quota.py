"""Quotas: at most so many of one task at once in one worker (`concurrency=` of a task).

Admission lets in up to the limit. Of the surplus a few wait in the worker (`room.py`), enough that no place stands
empty while the next one is fetched. The rest goes back to its queue, uncounted, with a delay so that each comes back
about when its turn should come; so a flood of a limited task neither fills the slots nor keeps the others of its queue
from being reached. The line is an estimate: whoever comes back too early lines up again, and other workers may take it
meanwhile.

Asked by `admission.py`, told by `handling.py` when a handler's code has ended: a thread that was left counts on.
"""

import math
from typing import Any

from tenure.clock import Clock
from tenure.runtime.delivery import Delivery
from tenure.task import Task
from tenure.verdict import Reason

#: Nobody comes back sooner (a give-back costs more than the wait), and nobody is kept longer.
SHORTEST_SECONDS = 0.25
LONGEST_SECONDS = 60.0
#: Nor longer than this before a run has ended here: a flood that meets a new worker must not be sent away on a guess.
LONGEST_GUESS_SECONDS = 5.0
#: Nobody waits longer than this in a worker: another one may have a free place.
ROOM_SECONDS = 5.0
#: How much the newest run weighs in the mean.
_WEIGHT = 0.2

SURPLUS = Reason("concurrency", "as many of its task as may run at once here do; it comes back for its turn")


class Quotas:
    """The quotas of every limited task in one worker. Tasks without a limit cost one comparison."""

    def __init__(self, clock: Clock) -> None:
        """Nobody is in."""
        self._clock = clock
        self._lines: dict[str, _Line] = {}

    def enter(self, delivery: Delivery, task: Task[..., Any]) -> bool:
        """Whether it may run; then it has a place until `leave`."""
        return task.policy.concurrency is None or self._line(task, task.policy.concurrency).enter(delivery)

    def room_size(self, task: Task[..., Any]) -> int:
        """How many more of the task should wait in the worker, so that a place that is free is taken at once."""
        limit = task.policy.concurrency
        return 0 if limit is None else self._line(task, limit).room_size()

    def turn_seconds(self, task: Task[..., Any], waiting: int) -> float:
        """Seconds after which one more of the task should come back; `waiting` are before it in the worker."""
        limit = task.policy.concurrency
        return 0.0 if limit is None else self._line(task, limit).turn_seconds(self._clock.monotonic(), waiting)

    def leave(self, delivery: Delivery) -> None:
        """Its code has ended."""
        task = delivery.task
        if task is not None and task.policy.concurrency is not None:
            self._line(task, task.policy.concurrency).leave(delivery, self._clock.monotonic())

    def _line(self, task: Task[..., Any], limit: int) -> "_Line":
        line = self._lines.get(task.name)
        if line is None:
            line = self._lines[task.name] = _Line(limit)
        return line


class _Line:
    """Those of one task that run, and those that were sent away for a while."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._inside: set[Delivery] = set()
        self._mean_seconds: float | None = None
        #: The moment at which the last one in the line should have its turn.
        self._last_turn = float("-inf")

    def enter(self, delivery: Delivery) -> bool:
        if len(self._inside) >= self._limit:
            return False
        self._inside.add(delivery)
        return True

    def room_size(self) -> int:
        """As many as run within the shortest absence: whoever was sent away could not be back sooner."""
        if self._mean_seconds is None:
            return self._limit
        if self._mean_seconds > ROOM_SECONDS:
            return 0
        return max(self._limit, math.ceil(self._limit * SHORTEST_SECONDS / max(self._mean_seconds, 1e-6)))

    def turn_seconds(self, now: float, waiting: int) -> float:
        seconds, longest = self._mean_seconds, LONGEST_SECONDS
        if seconds is None:
            # None has ended: they last as long as the first one lasts already, and nobody is kept longer than that.
            seconds = self._oldest_seconds(now)
            longest = min(LONGEST_GUESS_SECONDS, max(SHORTEST_SECONDS, seconds))
        turn = max(self._last_turn, now + waiting * seconds / self._limit) + seconds / self._limit
        # Never further away than anybody is kept: beyond it all come back together, and find a line as it is then.
        self._last_turn = min(turn, now + longest)
        return max(SHORTEST_SECONDS, self._last_turn - now)

    def _oldest_seconds(self, now: float) -> float:
        return max((now - one.started for one in self._inside if one.started is not None), default=0.0)

    def leave(self, delivery: Delivery, now: float) -> None:
        if delivery not in self._inside:
            return
        self._inside.discard(delivery)
        if delivery.started is not None:
            lasted = now - delivery.started
            mean = self._mean_seconds
            self._mean_seconds = lasted if mean is None else mean + _WEIGHT * (lasted - mean)
