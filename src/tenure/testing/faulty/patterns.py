"""Brokers that serve the wrong queues."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import msgspec

from tenure.broker import Broker
from tenure.lease import Lease, LeaseRequest
from tenure.limit import NO_LIMITS, Limit
from tenure.rules.queue_pattern import has_pattern, is_pattern, served_of
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.virtual import VirtualClock


class _Serving(HonestBroker):
    """Base of faults: decides itself which queues a request means."""

    async def served(self, request: LeaseRequest) -> tuple[str, ...]:
        """Return the queues that a request matches, by name."""
        return tuple(served_of(await self.inner.queues(), request.queues, request.excluded))

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease from the queues that `served` returns."""
        if not has_pattern(request.queues):
            return await self.inner.lease(request)
        queues = await self.served(request)
        return await self.inner.lease(msgspec.structs.replace(request, queues=queues))


class ServesNamesOnly(_Serving):
    """Takes a pattern for the name of a queue."""

    caught_by = ("Patterns",)

    async def served(self, request: LeaseRequest) -> tuple[str, ...]:
        """Leave out patterns."""
        return tuple(queue for queue in request.queues if not is_pattern(queue))


class ServesWhatItKnewAtTheStart(_Serving):
    """Looks once which queues match."""

    caught_by = ("Patterns",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without known requests."""
        super().__init__(inner, clock)
        self.known: dict[tuple[str, ...], tuple[str, ...]] = {}

    async def served(self, request: LeaseRequest) -> tuple[str, ...]:
        """Return the queues that the first such request matched."""
        if request.queues not in self.known:
            self.known[request.queues] = await super().served(request)
        return self.known[request.queues]


class MatchesAsAShellDoes(_Serving):
    """Takes other signs for wildcards too."""

    caught_by = ("Patterns",)

    async def served(self, request: LeaseRequest) -> tuple[str, ...]:
        """Match `?` and `[…]` too."""
        queues = await self.inner.queues()
        return tuple(queue for queue in queues if any(fnmatchcase(queue, one) for one in request.queues))


class FirstByNameFirst(_Serving):
    """Serves queues by name, always from the first."""

    caught_by = ("Patterns",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease from one queue after the other, always from the first."""
        leases: list[Lease] = []
        for queue in await self.served(request):
            want = request.want - len(leases)
            if want:
                leases += await self.inner.lease(msgspec.structs.replace(request, queues=(queue,), want=want))
        return leases


class AsksAFewQueues(_Serving):
    """Asks a few queues in each call, whether they have something or not."""

    caught_by = ("Patterns",)

    async def served(self, request: LeaseRequest) -> tuple[str, ...]:
        """Return only the first three queues."""
        return (await super().served(request))[:3]


class ServesTheExcluded(HonestBroker):
    """Does not look at what is excluded."""

    caught_by = ("Patterns",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease without exclusions."""
        return await self.inner.lease(msgspec.structs.replace(request, excluded=()))


class ServesExcludedNames(HonestBroker):
    """Excludes queues that match a pattern, not those that are named."""

    caught_by = ("Patterns",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Exclude nothing from named queues."""
        if has_pattern(request.queues):
            return await self.inner.lease(request)
        return await self.inner.lease(msgspec.structs.replace(request, excluded=()))


class WaitsForQueuesThatAreThere(HonestBroker):
    """Looks at the start of a wait which queues match."""

    caught_by = ("Patterns",)

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Wait only for queues that exist now."""
        await self.inner.wait(served_of(await self.inner.queues(), queues, excluded), seconds, limits=limits)


class TheExcludedWake(HonestBroker):
    """Wakes for what may not be leased."""

    caught_by = ("Patterns",)

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Wait without exclusions."""
        del excluded
        await self.inner.wait(queues, seconds, limits=limits)


class AnyQueueWakes(HonestBroker):
    """Wakes waiters on a pattern for every queue."""

    caught_by = ("Patterns",)

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Wait for every queue if one is a pattern."""
        await self.inner.wait(["*"] if has_pattern(queues) else queues, seconds, excluded, limits)
