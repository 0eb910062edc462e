"""A broker that passes every call on, unchanged. The faulty ones change one call each.

A faulty broker is a subclass that overrides what it does wrong. What it must remember for that is shared
with its twins, so that a second connection has the same fault. The same for a state: `honest_state.py`.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import ClassVar

from tenure.announcement import READ_LIMIT, Announcement
from tenure.broker import (
    MOST_LEASES,
    RETIRE_BATCH,
    Broker,
    BrokerTraits,
    Depth,
    Erased,
    Leases,
    Page,
    Promoted,
    Query,
    Refused,
    Sent,
    SweepRequest,
    Swept,
)
from tenure.finding import Finding
from tenure.lease import Lease, LeaseRequest
from tenure.limit import NO_LIMITS, Limit
from tenure.message import MessageState, Outgoing
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Settlement
from tenure.testing.virtual import VirtualClock
from tenure.verdict import Reason


class HonestBroker:
    """Passes everything on to `inner`."""

    #: Names of the suites that are expected to catch the fault.
    caught_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Stand in front of `inner`, in the time of `clock`."""
        self.inner = inner
        self.clock = clock

    @property
    def traits(self) -> BrokerTraits:
        """The traits of `inner`."""
        return self.inner.traits

    async def open(self) -> None:
        """Pass it on."""
        await self.inner.open()

    async def close(self) -> None:
        """Pass it on."""
        await self.inner.close()

    def twin(self) -> Broker:
        """A second connection with the same fault and the same memory."""
        inner = self.inner.twin()
        if inner is self.inner:
            return self
        twin = copy.copy(self)
        twin.inner = inner
        return twin

    async def check(self, queues: Sequence[str]) -> list[Finding]:
        """Pass it on."""
        return await self.inner.check(queues)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Pass it on."""
        return await self.inner.send(batch)

    def refusal(self, outgoing: Outgoing) -> Reason | None:
        """Pass it on."""
        return self.inner.refusal(outgoing)

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        """Pass it on."""
        await self.inner.put_aside(batch)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Pass it on."""
        return await self.inner.lease(request)

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Pass it on."""
        await self.inner.wait(queues, seconds, excluded, limits)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Pass it on."""
        return await self.inner.touch(leases)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Pass it on."""
        return await self.inner.ack(batch)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Pass it on."""
        return await self.inner.nack(batch)

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """Pass it on."""
        return await self.inner.give_back(batch)

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Pass it on."""
        return await self.inner.dead_letter(batch)

    async def redrive(self, ids: Sequence[str], queue: str | None = None) -> list[str]:
        """Pass it on."""
        return await self.inner.redrive(ids, queue)

    async def delete(self, ids: Sequence[str], queue: str | None = None) -> list[str]:
        """Pass it on."""
        return await self.inner.delete(ids, queue)

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:
        """Pass it on."""
        return await self.inner.cancel(ids, queue)

    async def promote(self, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:
        """Pass it on."""
        return await self.inner.promote(ids, queue)

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        """Pass it on."""
        return await self.inner.announcements(after, limit)

    async def announced(self, batch: Sequence[Announcement]) -> None:
        """Pass it on."""
        await self.inner.announced(batch)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Pass it on."""
        return await self.inner.sweep(request)

    async def held(self, owner: str, request_id: str | None = None) -> list[Lease]:
        """Pass it on."""
        return await self.inner.held(owner, request_id)

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Pass it on."""
        return await self.inner.retire(owner, crashed=crashed, limit=limit)

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:
        """Pass it on."""
        return await self.inner.find(id, owner, fence, queue)

    async def leases(self, queues: Sequence[str] | None = None, *, limit: int = MOST_LEASES) -> Leases:
        """Pass it on."""
        return await self.inner.leases(queues, limit=limit)

    async def browse(self, query: Query) -> Page:
        """Pass it on."""
        return await self.inner.browse(query)

    async def queues(self) -> list[str]:
        """Pass it on."""
        return await self.inner.queues()

    async def forget_queue(self, queue: str) -> bool:
        """Pass it on."""
        return await self.inner.forget_queue(queue)

    async def erase(self, queue: str, after: str = "") -> Erased:
        """Pass it on."""
        return await self.inner.erase(queue, after)

    async def depth(self, queues: Sequence[str] | None = None) -> list[Depth]:
        """Pass it on."""
        return await self.inner.depth(queues)
