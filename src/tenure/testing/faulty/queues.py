"""Brokers that are wrong about which queues there are."""

from collections.abc import Mapping, Sequence

import msgspec

from tenure.broker import RETIRE_BATCH, Broker, Sent, SweepRequest, Swept
from tenure.lease import Lease, LeaseRequest
from tenure.limit import NO_LIMITS, Limit
from tenure.message import Outgoing
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.virtual import VirtualClock


class ListsQueuesAsTheyCame(HonestBroker):
    """Lists queues in no order."""

    caught_by = ("Queues",)

    async def queues(self) -> list[str]:
        """Return the queues in reverse."""
        return (await self.inner.queues())[::-1]


class ListsQueuesWithWorkOnly(HonestBroker):
    """Lists a queue while something can be leased from it."""

    caught_by = ("Queues",)

    async def queues(self) -> list[str]:
        """Return only queues with ready messages."""
        return [depth.queue for depth in await self.inner.depth() if depth.ready]


class _Forgetting(HonestBroker):
    """Base of faults: knows which queues were forgotten."""

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin with an empty set of forgotten queues."""
        super().__init__(inner, clock)
        self.forgotten: set[str] = set()

    async def forget_queue(self, queue: str) -> bool:
        """Forget the queue, and remember that."""
        is_gone = await self.inner.forget_queue(queue)
        if is_gone:
            self.forgotten.add(queue)
        return is_gone


class ForgetsFullQueues(HonestBroker):
    """Says that it forgets a queue whatever is in it."""

    caught_by = ("Queues",)

    async def forget_queue(self, queue: str) -> bool:
        """Answer that the queue is gone."""
        await self.inner.forget_queue(queue)
        return True


class ForgetsQueuesWithDeadLetters(HonestBroker):
    """Takes a queue with dead letters for an empty one."""

    caught_by = ("Queues",)

    async def forget_queue(self, queue: str) -> bool:
        """Answer that a queue with only dead letters is gone."""
        (depth,) = await self.inner.depth([queue])
        return await self.inner.forget_queue(queue) or not (depth.ready or depth.leased or depth.delayed)


class ForgetsQueuesWhoseMessagesAreHeld(HonestBroker):
    """Takes a queue for empty while everything in it is held."""

    caught_by = ("Queues",)

    async def forget_queue(self, queue: str) -> bool:
        """Answer that a queue with only leased messages is gone."""
        (depth,) = await self.inner.depth([queue])
        return await self.inner.forget_queue(queue) or not (depth.ready or depth.dead or depth.delayed)


class NeverForgetsAQueue(HonestBroker):
    """Lists every queue that there ever was."""

    caught_by = ("Queues",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin with an empty set of queues."""
        super().__init__(inner, clock)
        self.seen: set[str] = set()

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Send, and remember the queues."""
        self.seen |= {one.message.queue for one in batch}
        return await self.inner.send(batch)

    async def queues(self) -> list[str]:
        """Return all queues ever used."""
        return sorted({*self.seen, *await self.inner.queues()})


class AForgottenQueueStaysForgotten(_Forgetting):
    """Does not list a queue that is used again."""

    caught_by = ("Queues",)

    async def queues(self) -> list[str]:
        """Leave out queues that were forgotten."""
        return [queue for queue in await self.inner.queues() if queue not in self.forgotten]


class AForgottenQueueIsNotServed(_Forgetting):
    """Loses what is sent to a queue at the moment it is forgotten."""

    caught_by = ("Queues",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Exclude queues that were forgotten."""
        return await self.inner.lease(msgspec.structs.replace(request, excluded=(*request.excluded, *self.forgotten)))


class AForgottenQueueForgetsWhatIsDone(_Forgetting):
    """Takes a message of a forgotten queue for a new one."""

    caught_by = ("Queues",)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Answer that a message of a forgotten queue is new."""
        answers = await self.inner.send(batch)
        return [
            msgspec.structs.replace(answer, duplicate=False) if one.message.queue in self.forgotten else answer
            for answer, one in zip(answers, batch, strict=True)
        ]


class AForgottenQueueWakesNobody(_Forgetting):
    """Does not wake those who wait for a queue that was forgotten."""

    caught_by = ("Queues",)

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Sleep through the wait for a forgotten queue."""
        await super().wait(queues, min(seconds, 5.0), excluded, limits)
        if self.forgotten or seconds > 5.0:
            await super().wait(queues, seconds, (*excluded, *self.forgotten), limits)


class SweepsForgetTooSoon(HonestBroker):
    """Forgets a queue as soon as it is empty."""

    caught_by = ("Queues",)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Forget every empty queue, then sweep."""
        for queue in await self.inner.queues():
            await self.inner.forget_queue(queue)
        return await self.inner.sweep(request)


class SweepsForgetNothing(NeverForgetsAQueue):
    """Forgets a queue only on request."""

    caught_by = ("Queues",)

    async def forget_queue(self, queue: str) -> bool:
        """Forget the queue on request only."""
        is_gone = await self.inner.forget_queue(queue)
        if is_gone:
            self.seen.discard(queue)
        return is_gone


class LeasingMakesQueues(HonestBroker):
    """Lists a queue that was only asked for."""

    caught_by = ("Queues",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin with an empty set of queues."""
        super().__init__(inner, clock)
        self.asked: set[str] = set()

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease, and remember the queues that were asked for."""
        self.asked |= {queue for queue in request.queues if "*" not in queue}
        return await self.inner.lease(request)

    async def queues(self) -> list[str]:
        """Return also queues that were only asked for."""
        return sorted({*self.asked, *await self.inner.queues()})


class SweepsNameNoQueues(HonestBroker):
    """Does not say where it returned messages."""

    caught_by = ("Queues",)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Report no queues."""
        return msgspec.structs.replace(await self.inner.sweep(request), queues={})


class SweepsNameNoQueuesOfTheDead(HonestBroker):
    """Does not say where messages died."""

    caught_by = ("Queues",)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Report no queues of dead letters."""
        swept = await self.inner.sweep(request)
        queues = {id: queue for id, queue in swept.queues.items() if id not in swept.dead}
        return msgspec.structs.replace(swept, queues=queues)


class RetirementsNameNoQueues(HonestBroker):
    """Does not say where it returned what a dead owner held."""

    caught_by = ("Queues",)

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Report no queues."""
        swept = await self.inner.retire(owner, crashed=crashed, limit=limit)
        return msgspec.structs.replace(swept, queues={})
