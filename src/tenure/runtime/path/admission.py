"""Admission: decides for each message of a batch whether this worker runs it.

What every consumer must check (can it be read, is it ours, may it still run) is in `ownership/`. This module adds what
only a worker knows: whether the message still runs here, whether its task is known, and what was learned of its run
time. A message that may not run gets its verdict and goes straight to the outbox. Before: `intake.py`. After:
`holding.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from tenure.lease import Lease
from tenure.message import Message
from tenure.runtime.delivery import Delivery
from tenure.runtime.ownership.owned import Reading
from tenure.runtime.ownership.ownership import Ownership
from tenure.runtime.path.duplicates import Duplicates
from tenure.runtime.path.learning import Learning
from tenure.runtime.path.slots import Slots
from tenure.runtime.path.stages import HoldingStage, OutboxStage
from tenure.runtime.path.unknown_tasks import UnknownTasks, is_unknown, unknown
from tenure.tasks.task import Task
from tenure.verdict import Duplicate, Reason, Returned, Verdict


class Admission:
    """Decides for each message of a batch whether it runs."""

    def __init__(  # noqa: PLR0913 - made in one place, by the pipeline
        self,
        ownership: Ownership,
        slots: Slots,
        holding: HoldingStage,
        outbox: OutboxStage,
        *,
        owner_id: Callable[[], str],
        tasks: Mapping[str, Task[..., Any]],
        learning: Learning,
        unknown_tasks: UnknownTasks,
        lease_per_message: bool,
        duplicates: Duplicates | None = None,
        on_received: Callable[[Sequence[tuple[Delivery, Verdict | None]], bool], None] = lambda *_: None,
    ) -> None:
        """Let in messages of `tasks`, in the name of `owner_id`. `lease_per_message` as in the broker's traits.

        `duplicates` finds out why messages came again. `on_received` is called with every batch, before anything
        becomes of it, and with whether one of them was delivered before.
        """
        self._ownership = ownership
        self._slots = slots
        self._holding = holding
        self._outbox = outbox
        self._owner_id = owner_id
        self._tasks = tasks
        self._learning = learning
        self._duplicates = duplicates
        self._on_received = on_received
        #: Whether a message of the batch that is looked at was delivered before.
        self._sees_again = False
        self._unknown_tasks = unknown_tasks
        self._lease_per_message = lease_per_message
        #: Called with what will run, if something follows it.
        self.on_ready: Callable[[Sequence[Delivery]], None] | None = None

    async def admit(self, leases: Sequence[Lease]) -> None:
        """Decide for each message of a batch whether it runs."""
        self._slots.take(len(leases))
        self._learning.look()
        ready: list[Delivery] = []
        unknown_ones: list[tuple[Delivery, Reason]] = []
        duplicates: list[tuple[Delivery, Duplicate]] = []
        self._sees_again = False
        taken = await self._ownership.take(leases, self._owner_id(), self._look_at)
        self._on_received(taken, self._sees_again)
        for delivery, verdict in taken:
            if verdict is None:
                ready.append(delivery)
            elif isinstance(verdict, Duplicate):
                duplicates.append((delivery, verdict))
            elif is_unknown(verdict):
                unknown_ones.append((delivery, verdict.reason))
            else:
                self._refuse(delivery, verdict)
        if self.on_ready is not None:
            self.on_ready(ready)
        self._holding.take(ready)
        # Last: no other message waits while their histories are read.
        if duplicates and self._duplicates is not None:
            duplicates = await self._duplicates.look(duplicates)
        for delivery, done in duplicates:
            self._refuse(delivery, done)
        for delivery, reason in unknown_ones:
            self._refuse(delivery, await self._unknown_tasks.turn_away(delivery, reason))

    def _refuse(self, delivery: Delivery, verdict: Verdict) -> None:
        self._slots.finish()
        self._outbox.put(delivery, verdict)

    def _look_at(self, reading: Reading) -> tuple[Delivery, Verdict | None]:
        """Make the delivery. Also return a verdict if this worker need not even claim the message."""
        lease, message, is_routed = reading.lease, reading.message, reading.is_routed
        if lease.counters.deliveries > 1:
            self._sees_again = True
        if message is None:
            return Delivery(lease), reading.verdict
        if self._holding.is_running(lease.id):
            # We lost its lease and got it again, but the first run (a thread perhaps) has not ended.
            reason = Reason("running_here", "an earlier run of this message has not ended yet")
            return Delivery(lease, message, is_routed=is_routed), Returned(lease.seconds / 3, reason)
        task = self._tasks.get(message.task)
        if task is None:
            return Delivery(lease, message, is_routed=is_routed), unknown(message.task)
        if not self._lease_per_message:
            lease = self._lease_of_task(lease, message)
        plan = self._learning.plan(lease, message, task)
        if plan.lease_seconds is not None:
            lease = msgspec.structs.replace(lease, seconds=plan.lease_seconds)
        return Delivery(lease, message, task, plan, is_routed), None

    def _lease_of_task(self, lease: Lease, message: Message) -> Lease:
        """Give the lease its task's length: the task could not be read when it was leased."""
        if message.overrides.lease_seconds is not None:
            return lease
        seconds = self._learning.seconds_by_task().get(message.task, lease.seconds)
        return msgspec.structs.replace(lease, seconds=seconds)
