"""Brokers that return too much, too little, or too soon."""

from collections.abc import Sequence

import msgspec

from tenure.broker import RETIRE_BATCH, Broker, SweepRequest, Swept
from tenure.errors import OwnerRetired
from tenure.lease import Lease, LeaseRequest
from tenure.settlement import Ack, GiveBack, Outcome, Settlement
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.lending import Remembering, Translating
from tenure.testing.virtual import VirtualClock


class NeverReturns(HonestBroker):
    """Leaves what is overdue where it is."""

    caught_by = ("Returning",)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Return no messages."""
        del request
        return Swept()


class RevivesTheAcked(HonestBroker):
    """Lets a sweep return a message that was acked when it was overdue."""

    caught_by = ("Returning",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Answer a batch with a late ack with success, but ack nothing."""
        now = self.clock.monotonic()
        late = [one for one in batch if one.lease.has_expired(now)]
        if not late:
            return await self.inner.ack(batch)
        return [Settlement(Outcome.DELETED) for _ in batch]


class SweepsWhatIsHealthy(Remembering):
    """Returns what is overdue in ten seconds, to be early."""

    caught_by = ("Returning",)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Return leases that end soon, too."""
        swept = await self.inner.sweep(request)
        soon = [one for one in self.latest.values() if one.remaining(self.clock.monotonic()) < 10.0]
        settlements = await self.inner.give_back([GiveBack(one) for one in soon])
        pairs = zip(soon, settlements, strict=True)
        early = tuple(lease.id for lease, settlement in pairs if settlement.took_effect)
        return msgspec.structs.replace(swept, returned=swept.returned + early)


class HealthyLeasesHideOverdueOnes(HonestBroker):
    """Looks at the first this many leases only, as XPENDING without IDLE does."""

    caught_by = ("Returning",)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Look only at the leases that were lent first."""
        held = (await self.inner.leases()).leases
        for queue in {one.queue for one in held}:
            lent_first = sorted((one for one in held if one.queue == queue), key=lambda one: (one.leased_at, one.id))
            if any(one.deadline_in < 0.0 for one in lent_first[: request.limit]):
                return await self.inner.sweep(request)
        return await self.inner.sweep(msgspec.structs.replace(request, limit=0))


class AdoptsInSilence(HonestBroker):
    """Does not say that it found a lease without a deadline."""

    caught_by = ("Returning",)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Report no adopted leases."""
        return msgspec.structs.replace(await self.inner.sweep(request), adopted=())


class IgnoresTheSweepLimit(HonestBroker):
    """Returns everything at once."""

    caught_by = ("Returning",)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Sweep without a limit."""
        return await self.inner.sweep(msgspec.structs.replace(request, limit=100_000))


class IgnoresGrace(HonestBroker):
    """Returns everything as soon as the sweeper is back from an outage."""

    caught_by = ("Returning",)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Sweep as if no gap were an outage."""
        return await self.inner.sweep(msgspec.structs.replace(request, interval_seconds=1e12))


class GraceForEver(HonestBroker):
    """Takes every sweep for the first after an outage."""

    caught_by = ("Returning",)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Sweep as if every gap were an outage."""
        return await self.inner.sweep(msgspec.structs.replace(request, interval_seconds=1e-9))


class GraceAtEveryGap(Remembering):
    """Gives a fresh window after every gap, touched or not: rare sweeps return nothing, for ever."""

    caught_by = ("Grace",)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Touch every lease after a gap."""
        swept = await self.inner.sweep(request)
        if swept.grace:
            await self.inner.touch(list(self.latest.values()))
        return swept


class GapKeeping(Remembering):
    """Base of faults: knows whether a sweep comes after a gap, and returns leases by its own account."""

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin with a sweep at this moment."""
        super().__init__(inner, clock)
        self.swept_at = clock.monotonic()

    def is_gap(self, request: SweepRequest) -> bool:
        """Whether no sweep ran for two intervals; from now on one has."""
        before, self.swept_at = self.swept_at, self.clock.monotonic()
        return self.swept_at - before > 2 * request.interval_seconds

    async def deadlines(self) -> dict[str, float]:
        """Return the seconds until each lease ends, by message."""
        return {one.id: one.deadline_in for one in (await self.inner.leases()).leases}

    async def return_too(self, leases: Sequence[Lease], swept: Swept) -> Swept:
        """Return the messages of these leases, too."""
        settlements = await self.inner.give_back([GiveBack(lease) for lease in leases])
        pairs = zip(leases, settlements, strict=True)
        more = tuple(lease.id for lease, settlement in pairs if settlement.took_effect)
        return msgspec.structs.replace(swept, returned=swept.returned + more)


class TouchEarnsNoGrace(GapKeeping):
    """Gives a fresh window once for each lease, however often it was touched since."""

    caught_by = ("Grace",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without extended or touched leases."""
        super().__init__(inner, clock)
        self.graced: set[int] = set()
        self.touched: set[int] = set()

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Touch, and remember which leases had their window."""
        self.touched |= {lease.fence for lease in leases} & self.graced
        return await self.inner.touch(leases)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Return leases that were touched after they had their window."""
        if not self.is_gap(request):
            return await self.inner.sweep(request)
        late = [self.latest[id] for id, left in (await self.deadlines()).items() if left < 0.0]
        early = await self.return_too([lease for lease in late if lease.fence in self.touched], Swept())
        self.graced |= {lease.fence for lease in late}
        swept = await self.inner.sweep(request)
        return msgspec.structs.replace(swept, returned=early.returned + swept.returned)


class GraceShortens(GapKeeping):
    """Sets every deadline to one window from now after a gap, also those that were later."""

    caught_by = ("Grace",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without shortened deadlines."""
        super().__init__(inner, clock)
        self.ends: dict[str, float] = {}

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Touch, and forget the shortened deadlines."""
        for lease in leases:
            self.ends.pop(lease.id, None)
        return await self.inner.touch(leases)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Shorten deadlines after a gap, and return what is overdue by them."""
        now = self.clock.monotonic()
        if self.is_gap(request):
            held = await self.deadlines()
            self.ends |= {id: now + self.latest[id].seconds for id, left in held.items() if left > 0.0}
        ended = [self.latest[id] for id, end in self.ends.items() if end < now]
        return await self.return_too(ended, await self.inner.sweep(request))


class IgnoresMaxAttempts(HonestBroker):
    """Returns a message as often as its holders let it lapse."""

    caught_by = ("Returning",)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Sweep without a limit of attempts."""
        return await self.inner.sweep(msgspec.structs.replace(request, max_attempts=1_000_000))


class DecidesByTheWallClock(Remembering):
    """Ends leases by the time of day."""

    caught_by = ("Clocks",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Remember the time of day of each lease."""
        super().__init__(inner, clock)
        self.ends: dict[str, float] = {}

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease, and remember the end by the wall clock."""
        leases = await super().lease(request)
        self.ends |= {one.id: self.clock.wall() + one.seconds for one in leases}
        return leases

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Touch, and remember the new end."""
        self.ends |= {one.id: self.clock.wall() + one.seconds for one in leases}
        return await self.inner.touch(leases)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Return leases that are overdue by the wall clock."""
        swept = await self.inner.sweep(request)
        late = [self.latest[id] for id, end in self.ends.items() if end < self.clock.wall()]
        settlements = await self.inner.give_back([GiveBack(one) for one in late])
        pairs = zip(late, settlements, strict=True)
        returned = tuple(lease.id for lease, settlement in pairs if settlement.took_effect)
        return msgspec.structs.replace(swept, returned=swept.returned + returned)


class RetireDoesNotBan(Translating):
    """Returns what a dead owner held, and lends to it again."""

    caught_by = ("Retiring",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without retired owners."""
        super().__init__(inner, clock)
        self.lives: dict[str, int] = {}

    def asked(self, request: LeaseRequest) -> LeaseRequest:
        """Lease under a new owner after each retirement."""
        life = self.lives.get(request.owner, 0)
        return msgspec.structs.replace(request, owner=request.owner + "~" * life)

    def shown(self, lease: Lease) -> Lease:
        """Show the lease under the owner that asked."""
        return msgspec.structs.replace(lease, owner=lease.owner.rstrip("~"))

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Retire the owner's present life only."""
        life = self.lives.get(owner, 0)
        self.lives[owner] = life + 1
        return await self.inner.retire(owner + "~" * life, crashed=crashed, limit=limit)


class RetireBansTheName(HonestBroker):
    """Refuses a new boot of a worker because an old one died."""

    caught_by = ("Retiring",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin with an empty set of names."""
        super().__init__(inner, clock)
        self.names: set[str] = set()

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Retire the owner, and remember its name."""
        self.names.add(owner.partition("/")[0])
        return await self.inner.retire(owner, crashed=crashed, limit=limit)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Refuse every owner with a retired name."""
        if request.owner.partition("/")[0] in self.names:
            raise OwnerRetired("an owner of that name died")
        return await self.inner.lease(request)


class RetireWaitsForTheLease(HonestBroker):
    """Bans a dead owner, and leaves its messages to the sweep."""

    caught_by = ("Retiring",)

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Return no messages."""
        del owner, crashed, limit
        return Swept()


class LeavingIsACrash(HonestBroker):
    """Counts a crash for an owner that said goodbye."""

    caught_by = ("Retiring",)

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Retire as crashed."""
        del crashed
        return await self.inner.retire(owner, crashed=True, limit=limit)


class CrashesAreNotCounted(HonestBroker):
    """Takes a crash for a goodbye."""

    caught_by = ("Retiring",)

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Retire as left."""
        del crashed
        return await self.inner.retire(owner, crashed=False, limit=limit)


class RetireIgnoresItsLimit(HonestBroker):
    """Returns everything in one step, however much that is."""

    caught_by = ("Retiring",)

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Retire without a limit."""
        del limit
        return await self.inner.retire(owner, crashed=crashed)


class RetireBansLast(HonestBroker):
    """Returns some of the messages, and bans the owner with the last of them."""

    caught_by = ("Retiring",)

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Return a part first, and ban with the last part."""
        held = await self.inner.held(owner)
        if len(held) <= limit:
            return await self.inner.retire(owner, crashed=crashed, limit=limit)
        await self.inner.give_back([GiveBack(lease) for lease in held[:limit]])
        return Swept(tuple(lease.id for lease in held[:limit]), more=True, declared=True)


class RetireSaysItIsDone(HonestBroker):
    """Does not tell that there is more to return."""

    caught_by = ("Retiring",)

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Report that nothing is left."""
        return msgspec.structs.replace(await self.inner.retire(owner, crashed=crashed, limit=limit), more=False)
