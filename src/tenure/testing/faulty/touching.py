"""Brokers that keep leases alive in the wrong way."""

from collections.abc import Sequence

import msgspec

from tenure.broker import Broker, SweepRequest, Swept
from tenure.lease import Lease, LeaseState
from tenure.settlement import Ack, GiveBack, Outcome, Settlement
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.lending import Remembering
from tenure.testing.virtual import VirtualClock


class TouchDoesNothing(HonestBroker):
    """Says that the lease goes on, and lets it end."""

    caught_by = ("Touching",)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Only say so."""
        now = self.clock.monotonic()
        return [msgspec.structs.replace(one, deadline=now + one.seconds) for one in leases]


class TouchAdds(HonestBroker):
    """Adds the seconds to what is left."""

    caught_by = ("Touching",)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """As seed 004 had it."""
        now = self.clock.monotonic()
        longer = [msgspec.structs.replace(one, seconds=one.seconds + max(0.0, one.remaining(now))) for one in leases]
        touched = await self.inner.touch(longer)
        return [msgspec.structs.replace(new, seconds=old.seconds) for new, old in zip(touched, leases, strict=True)]


class TouchShortens(HonestBroker):
    """Sets the deadline from now, even if it was later."""

    caught_by = ("Touching",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """No deadline was set yet."""
        super().__init__(inner, clock)
        self.deadlines: dict[str, tuple[float, Lease]] = {}

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """From now, come what may."""
        touched = await self.inner.touch(leases)
        now = self.clock.monotonic()
        self.deadlines |= {one.id: (now + one.seconds, one) for one in touched if one.state == LeaseState.HELD}
        return touched

    async def sweep(self, request: SweepRequest) -> Swept:
        """What is overdue by these deadlines is overdue."""
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
    """Gives a message back to whoever touches it, as XCLAIM does."""

    caught_by = ("Touching",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Nothing was stolen yet."""
        super().__init__(inner, clock)
        self.stolen: dict[str, Lease] = {}

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Whoever touches, holds."""
        touched = await self.inner.touch([self.now_held(one) for one in leases])
        self.stolen |= {
            old.id: old
            for new, old in zip(touched, leases, strict=True)
            if new.state == LeaseState.HELD and (new.owner, new.fence) != (old.owner, old.fence)
        }
        pairs = zip(touched, leases, strict=True)
        return [msgspec.structs.replace(new, owner=old.owner, fence=old.fence) for new, old in pairs]

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """The thief may, the one it was stolen from may not."""
        return [await self._ack(one) for one in batch]

    async def _ack(self, ack: Ack) -> Settlement:
        thief = self.stolen.get(ack.lease.id)
        if thief is None:
            return (await self.inner.ack([ack]))[0]
        if (thief.owner, thief.fence) != (ack.lease.owner, ack.lease.fence):
            return Settlement(Outcome.TAKEN_OVER)
        return (await self.inner.ack([msgspec.structs.replace(ack, lease=self.now_held(ack.lease))]))[0]


class TouchForgetsTheOverdue(HonestBroker):
    """Calls a lease lost as soon as its deadline is past, though nobody took the message."""

    caught_by = ("Touching",)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Too late is too late."""
        now = self.clock.monotonic()
        touched = []
        for lease in leases:
            if lease.has_expired(now):
                touched.append(msgspec.structs.replace(lease, state=LeaseState.LOST))
            else:
                touched += await self.inner.touch([lease])
        return touched
