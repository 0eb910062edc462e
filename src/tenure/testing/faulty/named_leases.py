"""Brokers that find the wrong lease."""

import msgspec

from tenure.broker import Broker
from tenure.lease import Lease, LeaseRequest
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.virtual import VirtualClock


class FindsByIdAlone(HonestBroker):
    """Gives the lease to everyone who knows the id."""

    caught_by = ("NamedLeases",)

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:
        """Find the lease for any owner and fence."""
        del owner, fence
        for held in (await self.inner.leases()).leases:
            if held.id == id:
                return await self.inner.find(id, held.owner, held.fence, queue)
        return None


class FindsByOwnerAlone(HonestBroker):
    """Does not look at the fence."""

    caught_by = ("NamedLeases",)

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:
        """Find the owner's latest lease, whatever the fence."""
        del fence
        for held in (await self.inner.leases()).leases:
            if (held.id, held.owner) == (id, owner):
                return await self.inner.find(id, owner, held.fence, queue)
        return None


class FindsByFenceAlone(HonestBroker):
    """Does not look at the owner."""

    caught_by = ("NamedLeases",)

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:
        """Find the lease of any owner, by its fence."""
        del owner
        for held in (await self.inner.leases()).leases:
            if (held.id, held.fence) == (id, fence):
                return await self.inner.find(id, held.owner, fence, queue)
        return None


class FindsNoLapsedLease(HonestBroker):
    """Takes a lease whose deadline has passed for one that has ended."""

    caught_by = ("NamedLeases",)

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:
        """Find no lease whose deadline has passed."""
        found = await self.inner.find(id, owner, fence, queue)
        return None if found is None or found.has_expired(self.clock.monotonic()) else found


class FindsWhatHasEnded(HonestBroker):
    """Finds every lease that it ever gave."""

    caught_by = ("NamedLeases",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without known leases."""
        super().__init__(inner, clock)
        self.given: dict[tuple[str, str, int], Lease] = {}

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease, and remember the leases."""
        leases = await self.inner.lease(request)
        self.given |= {(one.id, one.owner, one.fence): one for one in leases}
        return leases

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:
        """Find leases that have ended too."""
        return await self.inner.find(id, owner, fence, queue) or self.given.get((id, owner, fence))


class FindBelievesTheHint(HonestBroker):
    """Looks in the queue that was named, and nowhere else."""

    caught_by = ("NamedLeases",)

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:
        """Find only leases of the named queue."""
        found = await self.inner.find(id, owner, fence)
        return found if found is None or queue in {None, found.queue} else None


class FindsWithoutTheMessage(HonestBroker):
    """Forgets what was lent."""

    caught_by = ("NamedLeases",)

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:
        """Find the lease without its envelope."""
        found = await self.inner.find(id, owner, fence, queue)
        return None if found is None else msgspec.structs.replace(found, envelope=b"")


class FindingRenews(HonestBroker):
    """Extends a lease when it is looked for."""

    caught_by = ("NamedLeases",)

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:
        """Find the lease, and touch it."""
        found = await self.inner.find(id, owner, fence, queue)
        return None if found is None else (await self.inner.touch([found]))[0]


class FindsAnOldFence(HonestBroker):
    """Finds a lease that nothing can be settled with."""

    caught_by = ("NamedLeases",)

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:
        """Find the lease with a useless receipt, as where each touch replaces it."""
        found = await self.inner.find(id, owner, fence, queue)
        touched = {held.id for held in (await self.inner.leases()).leases if held.beats}
        if found is None or id not in touched:
            return found
        return msgspec.structs.replace(found, fence=found.fence - 1)
