"""The waiting room.

Where a few messages of a task at its limit wait inside the worker, and start when the limit allows.

Their leases are held and they take slots, so there are never more of them than half the slots, over all tasks: other
messages of the queue still get through. A message that finds no room is returned for about as long as its turn takes.
So is a message that waits too long because the runs before it last longer than expected: another worker may be able to
run it.

Called by `holding.py`, and by `handling.py` when a handler's code has ended. The figures are in `quota.py`.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from tenure.clock import Clock
from tenure.runtime.delivery import Delivery
from tenure.runtime.path.quota import ROOM_SECONDS, SURPLUS, Quotas
from tenure.runtime.path.slots import Slots
from tenure.tasks.task import Task
from tenure.verdict import Returned

#: Timers may go off a hair early.
_SLACK_SECONDS = 0.01


class WaitingRoom:
    """The messages that wait for their task's limit."""

    def __init__(self, clock: Clock, slots: Slots) -> None:
        """Wait for these slots of a worker. Made on its loop."""
        self._clock = clock
        self._slots = slots
        self._most = slots.total // 2
        self._quotas = Quotas(clock)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        #: Since when each waits, the oldest first.
        self._since: dict[Delivery, float] = {}
        self._by_task: dict[str, dict[Delivery, None]] = {}
        #: Called with a message that has a place now: it is to be started.
        self.on_free: Callable[[Delivery], None] = lambda _: None
        #: Called with a message that has waited too long: it is to be returned.
        self.on_tired: Callable[[Delivery, Returned], None] = lambda *_: None

    def __contains__(self, id: str) -> bool:
        """Whether a delivery of that message waits."""
        return bool(self._since) and any(delivery.id == id for delivery in self._since)

    def __len__(self) -> int:
        """Count the deliveries that wait."""
        return len(self._since)

    def may_run(self, delivery: Delivery, task: Task[..., Any]) -> bool:
        """Take a place until `leave`. False: there is none."""
        return self._quotas.enter(delivery, task)

    def may_wait(self, delivery: Delivery, task: Task[..., Any]) -> bool:
        """Whether there is room for it; then it waits until `on_free` or `on_tired` is called."""
        if len(self._since) >= self._most or self._count(task.name) >= self._quotas.most_waiting(task):
            return False
        self._since[delivery] = self._clock.monotonic()
        self._slots.waiting += 1
        self._by_task.setdefault(task.name, {})[delivery] = None
        if self._timer is None:
            self._timer = self._loop.call_later(ROOM_SECONDS, self._look)
        return True

    def send_away(self, task: Task[..., Any]) -> Returned:
        """Make the verdict that returns it until about its turn."""
        return Returned(self._quotas.turn_seconds(task, self._count(task.name)), SURPLUS)

    def leave(self, delivery: Delivery) -> None:
        """Free the place of a delivery whose code has ended; the first waiting message gets it."""
        task = delivery.task
        if task is None or task.policy.concurrency is None:  # it never took a place, and nothing waits for one
            return
        self._quotas.leave(delivery)
        waiting = self._by_task.get(task.name) if self._since else None
        if not waiting:
            return
        first = next(iter(waiting))
        if self._quotas.enter(first, task):
            self.drop(first)
            self.on_free(first)

    def drop(self, delivery: Delivery) -> bool:
        """Let it wait no longer; False: it did not wait."""
        if delivery.task is None or self._since.pop(delivery, None) is None:
            return False
        self._slots.waiting -= 1
        waiting = self._by_task[delivery.task.name]
        del waiting[delivery]
        if not waiting:
            del self._by_task[delivery.task.name]
        return True

    def empty(self) -> list[Delivery]:
        """End all waiting; returns the messages that waited."""
        waiting = list(self._since)
        for delivery in waiting:
            self.drop(delivery)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return waiting

    def _count(self, task: str) -> int:
        return len(self._by_task.get(task, ()))

    def _look(self) -> None:
        """Return messages that waited too long. One timer serves all of them: most leave long before."""
        now = self._clock.monotonic()
        for delivery in [one for one, since in self._since.items() if now - since >= ROOM_SECONDS]:
            if self.drop(delivery) and delivery.task is not None:
                self.on_tired(delivery, self.send_away(delivery.task))
        oldest = next(iter(self._since.values()), None)
        pause = None if oldest is None else oldest + ROOM_SECONDS - now + _SLACK_SECONDS
        self._timer = None if pause is None else self._loop.call_later(pause, self._look)
