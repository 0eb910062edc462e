"""Holding: gives each lease to the heartbeat, and starts a message as soon as its task's limit allows.

There is no gap in which a lease is not kept: it is held first, then its handler starts. Of a task at its limit a few
messages wait in the worker (`waiting_room.py`), and their leases are held too; the others go back to their queue.
Before: `admission.py`. After: `handling.py`, or the outbox for messages that do not run.
"""

from collections.abc import Callable, Sequence

from tenure.runtime.background.heartbeat import Heartbeat
from tenure.runtime.delivery import Delivery
from tenure.runtime.path.slots import Slots
from tenure.runtime.path.stages import HandlingStage, OutboxStage
from tenure.runtime.path.waiting_room import WaitingRoom
from tenure.verdict import Lost, Returned, Verdict


class Holding:
    """Holds what may run, and starts it."""

    def __init__(
        self,
        heartbeat: Heartbeat,
        handling: HandlingStage,
        outbox: OutboxStage,
        slots: Slots,
        waiting_room: WaitingRoom,
        *,
        on_started: Callable[[], None] = lambda: None,
        on_held: Callable[[Sequence[Delivery]], None] = lambda _: None,
    ) -> None:
        """`on_started` is called whenever handlers begin, `on_held` of those whose leases the heartbeat keeps from now.

        When one has ended, handling tells `waiting_room.leave`.
        """
        self._heartbeat = heartbeat
        self._handling = handling
        self._outbox = outbox
        self._slots = slots
        self._waiting_room = waiting_room
        self._on_started = on_started
        self._on_held = on_held
        waiting_room.on_free, waiting_room.on_tired = self._start_late, self._give_back

    def take(self, deliveries: Sequence[Delivery]) -> None:
        """Hold and start messages up to the limits of their tasks; the others wait or go back."""
        ready = [delivery for delivery in deliveries if self._has_place(delivery)]
        self._heartbeat.hold(ready)
        self._on_held(ready)
        self._handling.start(ready)
        self._on_started()

    def _has_place(self, delivery: Delivery) -> bool:
        """Whether the task is below its limit.

        Checked last, because an admitted message counts until its code has ended.
        """
        task, waiting_room = delivery.task, self._waiting_room
        # Most tasks have no limit: for them neither room nor quota is asked.
        if task is None or task.policy.concurrency is None or waiting_room.may_run(delivery, task):
            return True
        if waiting_room.may_wait(delivery, task):
            self._heartbeat.hold([delivery], begun=False)
            self._on_held([delivery])
        else:
            self._give_back(delivery, waiting_room.send_away(task))
        return False

    def is_running(self, id: str) -> bool:
        """Whether a run of that message has not ended here, or waits to start. Its lease may be lost."""
        if id in self._handling.running_ids:
            return True
        return self._slots.waiting > 0 and id in self._waiting_room

    def _start_late(self, delivery: Delivery) -> None:
        """Start a delivery that has waited for its task's limit."""
        self._heartbeat.begin(delivery, is_renewed=delivery.is_renewed)
        self._handling.start_soon(delivery)
        self._on_started()

    def _give_back(self, delivery: Delivery, verdict: Verdict) -> None:
        self._slots.finish()
        self._outbox.put(delivery, verdict)

    # -- calls from beside the path -----------------------------------------------------------------

    def on_lost(self, delivery: Delivery) -> None:
        """End a run whose lease is lost, or do not start it. Nothing is settled."""
        if self._waiting_room.drop(delivery):
            self._give_back(delivery, Lost())
        else:
            self._handling.end(delivery, Lost())

    def stop_waiting(self, verdict: Returned | None) -> None:
        """Empty the waiting room, because the worker stops. None: nothing is settled, as after `kill -9`."""
        for delivery in self._waiting_room.empty():
            if verdict is not None:
                self._give_back(delivery, verdict)
