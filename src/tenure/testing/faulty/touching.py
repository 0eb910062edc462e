"""Brokers that keep leases alive in the wrong way."""

from collections.abc import Sequence

import msgspec

from tenure.broker import Broker, SweepRequest, Swept
from tenure.lease import Lease, LeaseRequest, LeaseState
from tenure.settlement import Ack, GiveBack, Outcome, Settlement
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.lending import Remembering
from tenure.testing.virtual import VirtualClock


class TouchDoesNothing(HonestBroker):
    """Says that the lease goes on, and lets it end."""

    caught_by = ("Touching",)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Answer that the lease goes on, and touch nothing."""
        now = self.clock.monotonic()
        return [msgspec.structs.replace(one, deadline=now + one.seconds) for one in leases]


class TouchAdds(HonestBroker):
    """Adds the seconds to what is left."""

    caught_by = ("Touching",)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Touch for the seconds plus those that are left."""
        now = self.clock.monotonic()
        longer = [msgspec.structs.replace(one, seconds=one.seconds + max(0.0, one.remaining(now))) for one in leases]
        touched = await self.inner.touch(longer)
        return [msgspec.structs.replace(new, seconds=old.seconds) for new, old in zip(touched, leases, strict=True)]


class TouchShortens(HonestBroker):
    """Sets the deadline from now, even if it was later."""

    caught_by = ("Touching",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without known deadlines."""
        super().__init__(inner, clock)
        self.deadlines: dict[str, tuple[float, Lease]] = {}

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Set the deadline from now, even to an earlier one."""
        touched = await self.inner.touch(leases)
        now = self.clock.monotonic()
        self.deadlines |= {one.id: (now + one.seconds, one) for one in touched if one.state == LeaseState.HELD}
        return touched

    async def sweep(self, request: SweepRequest) -> Swept:
        """Return leases that are overdue by these deadlines."""
        now = self.clock.monotonic()
        overdue = [(id, lease) for id, (deadline, lease) in self.deadlines.items() if deadline < now]
        settlements = await self.inner.give_back([GiveBack(lease) for _, lease in overdue])
        pairs = zip(overdue, settlements, strict=True)
        returned = tuple(id for (id, _), settlement in pairs if settlement.took_effect)
        for id, _ in overdue:
            del self.deadlines[id]
        swept = await self.inner.sweep(request)
        return msgspec.structs.replace(swept, returned=returned + swept.returned)


class TouchStealsBack(Remembering):
    """Gives a message to every owner that touches it, as XCLAIM does."""

    caught_by = ("Touching",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without taken leases."""
        super().__init__(inner, clock)
        self.stolen: dict[str, Lease] = {}

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Give the lease to the owner that touches it."""
        touched = await self.inner.touch([self.now_held(one) for one in leases])
        self.stolen |= {
            old.id: old
            for new, old in zip(touched, leases, strict=True)
            if new.state == LeaseState.HELD and (new.owner, new.fence) != (old.owner, old.fence)
        }
        pairs = zip(touched, leases, strict=True)
        return [msgspec.structs.replace(new, owner=old.owner, fence=old.fence) for new, old in pairs]

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Ack for the new owner, not for the old one."""
        return [await self._ack(one) for one in batch]

    async def _ack(self, ack: Ack) -> Settlement:
        thief = self.stolen.get(ack.lease.id)
        if thief is None:
            return (await self.inner.ack([ack]))[0]
        if (thief.owner, thief.fence) != (ack.lease.owner, ack.lease.fence):
            return Settlement(Outcome.TAKEN_OVER)
        return (await self.inner.ack([msgspec.structs.replace(ack, lease=self.now_held(ack.lease))]))[0]


class TouchForgetsTheOverdue(HonestBroker):
    """Calls a lease lost as soon as its deadline is past, though no other owner took the message."""

    caught_by = ("Touching",)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Answer that an overdue lease is lost."""
        now = self.clock.monotonic()
        touched = []
        for lease in leases:
            if lease.has_expired(now):
                touched.append(msgspec.structs.replace(lease, state=LeaseState.LOST))
            else:
                touched += await self.inner.touch([lease])
        return touched


class TouchesWhatItRemembers(HonestBroker):
    """Sets the deadline from what it remembers of the lease, and so takes back what another process gave."""

    caught_by = ("TouchingElsewhere",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without known deadlines."""
        super().__init__(inner, clock)
        self.deadlines: dict[str, tuple[float, Lease]] = {}

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease, and remember the deadlines."""
        leases = await self.inner.lease(request)
        self.deadlines |= {one.id: (one.deadline, one) for one in leases}
        return leases

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Touch from the remembered deadline, whatever the store says."""
        touched = await self.inner.touch(leases)
        now = self.clock.monotonic()
        for one in touched:
            if one.state is LeaseState.HELD and one.id in self.deadlines:
                self.deadlines[one.id] = (max(self.deadlines[one.id][0], now + one.seconds), one)
        return touched

    async def sweep(self, request: SweepRequest) -> Swept:
        """Return leases that are overdue by these deadlines."""
        now = self.clock.monotonic()
        overdue = [lease for deadline, lease in self.deadlines.values() if deadline < now]
        settlements = await self.inner.give_back([GiveBack(lease) for lease in overdue])
        returned = tuple(one.id for one, said in zip(overdue, settlements, strict=True) if said.took_effect)
        for one in overdue:
            del self.deadlines[one.id]
        swept = await self.inner.sweep(request)
        return msgspec.structs.replace(swept, returned=returned + swept.returned)
