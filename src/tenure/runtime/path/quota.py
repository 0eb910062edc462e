"""Quotas: at most this many messages of one task at once in one worker (`concurrency=` of a task).

Holding starts messages up to the limit. A few more wait in the worker (`waiting_room.py`), so that a free place is
taken at once. The others go back to their queue, uncounted, with a delay that brings each back about when its turn
comes. So a flood of a limited task neither fills the slots nor blocks the other messages of its queue. The delay is an
estimate: a message that comes back too early is returned again, and another worker may take it meanwhile.

Called by `holding.py`, and by `handling.py` when a handler's code has ended: a thread that goes on still counts.
"""

import math
from typing import Any

from tenure.clock import Clock
from tenure.runtime.delivery import Delivery
from tenure.tasks.task import Task
from tenure.verdict import Reason

#: The shortest absence (a give-back costs more than a shorter wait), and the longest.
SHORTEST_SECONDS = 0.25
LONGEST_SECONDS = 60.0
#: Nor longer than this before a run has ended here: a flood that meets a new worker must not be sent away on a guess.
LONGEST_GUESS_SECONDS = 5.0
#: No message waits longer than this in a worker: another one may have a free place.
ROOM_SECONDS = 5.0
#: How much the newest run weighs in the mean.
_WEIGHT = 0.2

SURPLUS = Reason(
    "concurrency", "this worker is at the task's concurrency limit; the message was returned and will be leased again"
)


class Quotas:
    """The quotas of every limited task in one worker. A task without a limit costs one comparison."""

    def __init__(self, clock: Clock) -> None:
        """Start with every place free."""
        self._clock = clock
        self._lines: dict[str, _TaskLine] = {}

    def enter(self, delivery: Delivery, task: Task[..., Any]) -> bool:
        """Take a place until `leave`. False: the task is at its limit."""
        return task.policy.concurrency is None or self._line(task, task.policy.concurrency).enter(delivery)

    def most_waiting(self, task: Task[..., Any]) -> int:
        """Return how many more of the task should wait in the worker, so that a free place is taken at once."""
        limit = task.policy.concurrency
        return 0 if limit is None else self._line(task, limit).most_waiting()

    def turn_seconds(self, task: Task[..., Any], waiting: int) -> float:
        """Seconds after which one more of the task should come back; `waiting` are before it in the worker."""
        limit = task.policy.concurrency
        return 0.0 if limit is None else self._line(task, limit).turn_seconds(self._clock.monotonic(), waiting)

    def leave(self, delivery: Delivery) -> None:
        """Free the place of a delivery whose code has ended."""
        task = delivery.task
        if task is not None and task.policy.concurrency is not None:
            self._line(task, task.policy.concurrency).leave(delivery, self._clock.monotonic())

    def _line(self, task: Task[..., Any], limit: int) -> "_TaskLine":
        line = self._lines.get(task.name)
        if line is None:
            line = self._lines[task.name] = _TaskLine(limit)
        return line


class _TaskLine:
    """The deliveries of one task: those that run, and those that were returned for a while."""

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

    def most_waiting(self) -> int:
        """Return how many run within the shortest absence: a message that was sent away cannot be back sooner."""
        if self._mean_seconds is None:
            return self._limit
        if self._mean_seconds > ROOM_SECONDS:
            return 0
        return max(self._limit, math.ceil(self._limit * SHORTEST_SECONDS / max(self._mean_seconds, 1e-6)))

    def turn_seconds(self, now: float, waiting: int) -> float:
        seconds, longest = self._mean_seconds, LONGEST_SECONDS
        if seconds is None:
            # None has ended: assume that they last as long as the first one has lasted so far.
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
