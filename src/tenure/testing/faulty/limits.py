"""Brokers that keep a limit too loosely, too strictly, or at the cost of other queues."""

from collections.abc import Mapping, Sequence

import msgspec

from tenure.broker import Broker
from tenure.lease import Lease, LeaseRequest
from tenure.limit import NO_LIMITS, Limit
from tenure.rules.queue_pattern import matches
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.virtual import VirtualClock
from tenure.verdict import Reason

_NOTHING = Reason("handler_error", "")


class _Changed(HonestBroker):
    """Leases and waits with other limits than those given."""

    def changed(self, limit: Limit) -> Limit:
        """The limit that is kept instead."""
        return limit

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease with other limits."""
        limits = {queue: self.changed(limit) for queue, limit in request.limits.items()}
        return await self.inner.lease(msgspec.structs.replace(request, limits=limits))

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Wait with other limits."""
        await self.inner.wait(queues, seconds, excluded, {queue: self.changed(one) for queue, one in limits.items()})


class LimitsAreIgnored(_Changed):
    """Leases as if there were no limits."""

    caught_by = ("Limits",)

    def changed(self, limit: Limit) -> Limit:  # noqa: ARG002 - of the class
        """No limit."""
        return Limit()


class RunningIsIgnored(_Changed):
    """Keeps only the rate."""

    caught_by = ("Limits",)

    def changed(self, limit: Limit) -> Limit:
        """The rate alone."""
        return Limit(None, limit.per_second)


class RatesAreIgnored(_Changed):
    """Keeps only the number that run."""

    caught_by = ("Limits",)

    def changed(self, limit: Limit) -> Limit:
        """The number alone."""
        return Limit(limit.running, None)


class RunningIsOneTooMany(_Changed):
    """Lets one more run than the limit says."""

    caught_by = ("Limits",)

    def changed(self, limit: Limit) -> Limit:
        """One more."""
        return Limit(None if limit.running is None else limit.running + 1, limit.per_second)


class RatesAreForEachCall(HonestBroker):
    """Checks the size of each call instead of what was leased before it."""

    caught_by = ("Limits",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease up to one second's worth in each call."""
        most = min([request.want, *(int(limit.burst) for limit in request.limits.values() if limit.per_second)])
        limits = {queue: Limit(limit.running) for queue, limit in request.limits.items()}
        return await self.inner.lease(msgspec.structs.replace(request, want=most, limits=limits))


class RunningIsCountedByOwner(HonestBroker):
    """Counts what each owner holds, and so lends the whole limit to every worker."""

    caught_by = ("Limits",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease by the leases of this owner alone."""
        own = [lease.queue for lease in await self.inner.held(request.owner)]
        limits = {
            queue: Limit(per_second=limit.per_second)
            for queue, limit in request.limits.items()
            if limit.running is None or own.count(queue) < limit.running
        }
        closed = tuple(queue for queue in request.limits if queue not in limits)
        most = min(
            [
                request.want,
                *(
                    one.running - own.count(queue)
                    for queue, one in request.limits.items()
                    if one.running is not None and queue in limits
                ),
            ]
        )
        return await self.inner.lease(
            msgspec.structs.replace(request, want=most, limits=limits, excluded=(*request.excluded, *closed))
        )


class GiveBacksKeepTheirTokens(HonestBroker):
    """Does not return the token of a message that was given back."""

    caught_by = ("Limits",)

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """Return it as a failed attempt."""
        return await self.inner.nack([Nack(one.lease, one.delay_seconds, one.reason or _NOTHING) for one in batch])


class RetriesCostNothing(HonestBroker):
    """Returns the token of a message whose attempt failed."""

    caught_by = ("Limits",)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Return it as if it had not run."""
        return await self.inner.give_back([GiveBack(one.lease, one.delay_seconds, one.reason) for one in batch])


class RunningIsCountedByHand(HonestBroker):
    """Counts leases up and settles down, so a lease that lapses is counted for ever."""

    caught_by = ("Limits",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin at zero."""
        super().__init__(inner, clock)
        self.counts: dict[str, int] = {}

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease what the counter leaves."""
        closed = tuple(
            queue
            for queue, limit in request.limits.items()
            if limit.running is not None and self.counts.get(queue, 0) >= limit.running
        )
        leases = await self.inner.lease(msgspec.structs.replace(request, excluded=(*request.excluded, *closed)))
        for lease in leases:
            self.counts[lease.queue] = self.counts.get(lease.queue, 0) + 1
        return leases

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Count down."""
        return self._count(batch, await self.inner.ack(batch))

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Count down."""
        return self._count(batch, await self.inner.nack(batch))

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """Count down."""
        return self._count(batch, await self.inner.give_back(batch))

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Count down."""
        return self._count(batch, await self.inner.dead_letter(batch))

    def _count(self, batch: Sequence[Ack | Nack | GiveBack | DeadLetter], told: list[Settlement]) -> list[Settlement]:
        for one, settlement in zip(batch, told, strict=True):
            if settlement.outcome in (Outcome.DELETED, Outcome.RETURNED, Outcome.DEAD):
                self.counts[one.lease.queue] -= 1
        return told


class OneLimitBlocksAll(HonestBroker):
    """Leases nothing at all while one of its limited queues is behind its limit."""

    caught_by = ("Limits",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease from the limited queues first; from the others only if those gave something."""
        limited = tuple(queue for queue in request.limits if matches(queue, request.queues, request.excluded))
        if not limited:
            return await self.inner.lease(request)
        leases = await self.inner.lease(msgspec.structs.replace(request, queues=limited))
        left = request.want - len(leases)
        if not leases or not left:
            return leases
        rest = msgspec.structs.replace(request, want=left, excluded=(*request.excluded, *limited))
        return [*leases, *await self.inner.lease(rest)]


class LimitedQueuesComeLast(HonestBroker):
    """Leases from limited queues only what others leave."""

    caught_by = ("Limits",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease from the others first."""
        limited = tuple(request.limits)
        leases = await self.inner.lease(msgspec.structs.replace(request, excluded=(*request.excluded, *limited)))
        left = request.want - len(leases)
        return [*leases, *await self.inner.lease(msgspec.structs.replace(request, want=left))] if left else leases


class LimitedQueuesComeFirst(HonestBroker):
    """Leases from other queues only what limited ones leave."""

    caught_by = ("Limits",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease from the limited ones first."""
        limited = tuple(queue for queue in request.limits if matches(queue, request.queues, request.excluded))
        leases = await self.inner.lease(msgspec.structs.replace(request, queues=limited)) if limited else []
        left = request.want - len(leases)
        return [*leases, *await self.inner.lease(msgspec.structs.replace(request, want=left))] if left else leases


class WaitsIgnoreLimits(HonestBroker):
    """Wakes a worker for a queue that is behind its limit, so that it spins."""

    caught_by = ("Limits",)

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Wait without limits."""
        del limits
        await self.inner.wait(queues, seconds, excluded)


class WaitsSleepThroughLimits(HonestBroker):
    """Does not look at a limited queue while it waits."""

    caught_by = ("Limits",)

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Wait for the other queues."""
        await self.inner.wait(queues, seconds, (*excluded, *limits))
