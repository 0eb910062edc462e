"""Brokers that lend, and remember what they lent, in the wrong way."""

from collections.abc import Mapping, Sequence

import msgspec

from tenure.broker import Broker, Query
from tenure.client.browse_all import browse_all
from tenure.lease import Lease, LeaseRequest
from tenure.limit import NO_LIMITS, Limit
from tenure.message import MessageState
from tenure.rules.lapse import REMOTE_OWNER
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Settlement
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.virtual import VirtualClock


class Remembering(HonestBroker):
    """Base of faults: knows the latest lease of each message."""

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without known leases."""
        super().__init__(inner, clock)
        self.latest: dict[str, Lease] = {}

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease, and remember the leases."""
        leases = await self.inner.lease(request)
        self.latest |= {lease.id: lease for lease in leases}
        return leases

    def now_held(self, lease: Lease) -> Lease:
        """The lease under which this message was last leased, to any owner."""
        return self.latest.get(lease.id, lease)


class ForgetsToHide(Remembering):
    """Lends a message that is already leased."""

    caught_by = ("Lending",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Fill up the answer with earlier leases."""
        before = [one for one in self.latest.values() if one.queue in request.queues]
        leases = await super().lease(request)
        again = [msgspec.structs.replace(one, owner=request.owner) for one in before]
        return (leases + again)[: request.want]


class Translating(HonestBroker):
    """Base of faults: shows other leases than it holds, and finds the real one when it is used."""

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without translated leases."""
        super().__init__(inner, clock)
        self.real: dict[tuple[str, str, int], Lease] = {}

    def shown(self, lease: Lease) -> Lease:
        """Return the lease that the caller gets."""
        return lease

    def asked(self, request: LeaseRequest) -> LeaseRequest:
        """Return the request that the inner broker gets."""
        return request

    def _show(self, lease: Lease) -> Lease:
        shown = self.shown(lease)
        self.real[shown.id, shown.owner, shown.fence] = lease
        return shown

    def _find(self, lease: Lease) -> Lease:
        return self.real.get((lease.id, lease.owner, lease.fence), lease)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease, and show the changed leases."""
        return [self._show(lease) for lease in await self.inner.lease(self.asked(request))]

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Touch the real leases."""
        touched = await self.inner.touch([self._find(lease) for lease in leases])
        pairs = zip(touched, leases, strict=True)
        return [msgspec.structs.replace(new, owner=old.owner, fence=old.fence) for new, old in pairs]

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Ack the real leases."""
        return await self.inner.ack([msgspec.structs.replace(one, lease=self._find(one.lease)) for one in batch])

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Nack the real leases."""
        return await self.inner.nack([msgspec.structs.replace(one, lease=self._find(one.lease)) for one in batch])

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """Give the real leases back."""
        real = [msgspec.structs.replace(one, lease=self._find(one.lease)) for one in batch]
        return await self.inner.give_back(real)

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Put the real leases' messages aside."""
        real = [msgspec.structs.replace(one, lease=self._find(one.lease)) for one in batch]
        return await self.inner.dead_letter(real)


class LendsAnyNumberOfBytes(HonestBroker):
    """Fills up the batch, however large the messages are."""

    caught_by = ("Lending",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Join the answers of several calls into one."""
        leases: list[Lease] = []
        while len(leases) < request.want:
            more = await self.inner.lease(msgspec.structs.replace(request, want=request.want - len(leases)))
            if not more:
                break
            leases += more
        return leases


class LendsOneLargeMessageAtATime(HonestBroker):
    """Stops at the first message that is not small, and leaves most of its room unused."""

    caught_by = ("Lending",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend a large first message alone, and give the others back."""
        leases = await self.inner.lease(request)
        if not leases or len(leases[0].envelope) < self.traits.lease_byte_limit // 20:
            return leases
        await self.inner.give_back([GiveBack(lease) for lease in leases[1:]])
        return leases[:1]


class FenceStandsStill(Translating):
    """Gives a message the same fence at each lending."""

    caught_by = ("Fencing",)

    def shown(self, lease: Lease) -> Lease:
        """Show every lease with fence 1."""
        return msgspec.structs.replace(lease, fence=1)


class ForgetsPresence(HonestBroker):
    """Does not keep with the loan that its holder had presence, so a worker's lapse uses an attempt."""

    caught_by = ("Returning", "Lapsing")

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease without presence."""
        return await self.inner.lease(msgspec.structs.replace(request, has_presence=False))


class TakesEveryHolderForAWorker(HonestBroker):
    """Never counts an attempt for a lapse, so what its holders let lapse comes back for ever."""

    caught_by = ("Lapsing",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease with presence."""
        return await self.inner.lease(msgspec.structs.replace(request, has_presence=True))


class PresenceOfAnOwnersFirstLoan(HonestBroker):
    """Keeps presence with the owner, not with the loan: what it said first holds for all of its leases."""

    caught_by = ("Lapsing",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without known owners."""
        super().__init__(inner, clock)
        self.known: dict[str, bool] = {}

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease with the presence that the owner had first."""
        known = self.known.setdefault(request.owner, request.has_presence)
        return await self.inner.lease(msgspec.structs.replace(request, has_presence=known))


class TakesHTTPForALoop(HonestBroker):
    """Does not tell owners over HTTP from others: a reply that a proxy cut uses an attempt."""

    caught_by = ("Lapsing",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease under another name, and answer under the right one."""
        other = msgspec.structs.replace(request, owner=_renamed(request.owner))
        return [_owned_by(lease, request.owner) for lease in await self.inner.lease(other)]

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Touch under the other name."""
        answers = await self.inner.touch([_owned_by(lease, _renamed(lease.owner)) for lease in leases])
        return [_owned_by(new, old.owner) for new, old in zip(answers, leases, strict=True)]


class TouchesWithEachLease(HonestBroker):
    """Counts the lease itself as a touch, so that a reply that no client got uses an attempt."""

    caught_by = ("Lapsing",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease, and touch at once."""
        leases = await self.inner.lease(request)
        return await self.inner.touch(leases) if leases else []


def _renamed(owner: str) -> str:
    return owner.replace(REMOTE_OWNER, "https:", 1) if owner.startswith(REMOTE_OWNER) else owner


def _owned_by(lease: Lease, owner: str) -> Lease:
    return msgspec.structs.replace(lease, owner=owner)


class ReturnsBehindTheBacklog(HonestBroker):
    """Lends what came back after everything that never was lent."""

    caught_by = ("Priority",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin with an empty set of lent ids."""
        super().__init__(inner, clock)
        self.lent: set[str] = set()

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend messages that were never lent first."""
        everything = await self.inner.lease(msgspec.structs.replace(request, want=1000))
        everything.sort(key=lambda lease: lease.id in self.lent)
        await self.inner.give_back([GiveBack(one) for one in everything[request.want :]])
        self.lent |= {one.id for one in everything[: request.want]}
        return everything[: request.want]


class StarvesLowPriorities(HonestBroker):
    """Serves the highest priority alone for as long as there is any."""

    caught_by = ("Priority",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Give back messages that are not of the highest priority."""
        leases: list[Lease] = []
        while len(leases) < request.want:
            batch = await self.inner.lease(msgspec.structs.replace(request, want=1))
            if not batch:
                break
            if await self._something_higher_waits(batch[0]):
                await self.inner.give_back([GiveBack(batch[0])])
            else:
                leases += batch
        return leases

    async def _something_higher_waits(self, lease: Lease) -> bool:
        query = Query(states=(MessageState.READY,), queues=(lease.queue,))
        mine = _priority(lease.envelope)
        return any([_priority(one.envelope) > mine async for one in browse_all(self.inner, query)])


class TooFair(HonestBroker):
    """Looks at the lower priorities every second time."""

    caught_by = ("Priority",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin with turn 0."""
        super().__init__(inner, clock)
        self.turn = 0

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend the lowest priority at every second turn."""
        leases: list[Lease] = []
        while len(leases) < request.want:
            everything = await self.inner.lease(msgspec.structs.replace(request, want=1000))
            if not everything:
                break
            self.turn += 1
            everything.sort(key=lambda lease: _priority(lease.envelope), reverse=self.turn % 2 == 0)
            leases.append(everything[0])
            await self.inner.give_back([GiveBack(one) for one in everything[1:]])
        return leases


class HeldForgetsRequests(HonestBroker):
    """Cannot tell what one request lent from what another did."""

    caught_by = ("Lending",)

    async def held(self, owner: str, request_id: str | None = None) -> list[Lease]:
        """Return the leases of all requests."""
        del request_id
        return await self.inner.held(owner)


class HeldForgetsLeases(HonestBroker):
    """Cannot say what it lent, so that a lost reply leaves messages leased without a holder."""

    caught_by = ("Lending",)

    async def held(self, owner: str, request_id: str | None = None) -> list[Lease]:
        """Return no leases."""
        del owner, request_id
        return []


class TellsALaterDeadline(HonestBroker):
    """Starts the local clock when the answer arrives, not when the question left."""

    caught_by = ("Lending",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Report deadlines one second late."""
        leases = await self.inner.lease(request)
        return [msgspec.structs.replace(one, deadline=one.deadline + 1.0) for one in leases]


class PromisesWhatItCannotKeep(HonestBroker):
    """Tells the seconds that were asked for, whatever it granted."""

    caught_by = ("Lending",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Report the seconds that were asked for."""
        leases = await self.inner.lease(request)
        return [msgspec.structs.replace(one, seconds=request.seconds) for one in leases]


class OneQueueHidesTheOthers(HonestBroker):
    """Reads the first queue first, always."""

    caught_by = ("Lending",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease from each queue in order, always from the first."""
        leases: list[Lease] = []
        for queue in request.queues:
            want = request.want - len(leases)
            if want:
                leases += await self.inner.lease(msgspec.structs.replace(request, queues=(queue,), want=want))
        return leases


class WaitNeverWakes(HonestBroker):
    """Sleeps for as long as it may, whatever happens."""

    caught_by = ("Waiting",)

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Wait for a queue that does not exist."""
        del queues, excluded, limits
        await self.inner.wait(["a queue that nobody uses"], seconds)


class WaitNeverSleeps(HonestBroker):
    """Returns at once, so that a worker spins."""

    caught_by = ("Waiting",)

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Return at once."""
        await self.inner.wait(queues, min(seconds, 0.01), excluded, limits)


class _Priority(msgspec.Struct):
    priority: int = 5


def _priority(envelope: bytes) -> int:
    return msgspec.json.decode(envelope, type=_Priority).priority
