"""Brokers that tell something wrong about what is held."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from tenure.broker import MOST_LEASES, Broker, Leases
from tenure.lease import Lease
from tenure.query import HeldLease
from tenure.rules.queue_pattern import is_pattern
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.lending import Remembering
from tenure.testing.virtual import VirtualClock


class _Telling(HonestBroker):
    """Base of faults: tells something else about each lease, or about all of them."""

    def told(self, held: HeldLease) -> HeldLease | None:
        """Return the changed entry of one lease. None: leave the lease out."""
        return held

    def told_of_all(self, leases: Leases) -> Leases:
        """Return the changed list of leases."""
        return leases

    async def leases(self, queues: Sequence[str] | None = None, *, limit: int = MOST_LEASES) -> Leases:
        """Change each entry, then the list."""
        leases = await self.inner.leases(queues, limit=limit)
        told = tuple(one for held in leases.leases if (one := self.told(held)) is not None)
        return self.told_of_all(msgspec.structs.replace(leases, leases=told))


class CountsNoBeats(_Telling):
    """Does not count touches."""

    caught_by = ("HeldLeases",)

    def told(self, held: HeldLease) -> HeldLease:
        """Report zero beats."""
        return msgspec.structs.replace(held, beats=0)


class DoesNotDateBeats(_Telling):
    """Does not know when it was touched."""

    caught_by = ("HeldLeases",)

    def told(self, held: HeldLease) -> HeldLease:
        """Report the lease's begin as its last beat."""
        return msgspec.structs.replace(held, last_beat_at=held.last_beat_at and held.leased_at)


class _Counting(_Telling):
    """Base of faults: counts touches itself."""

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without counted touches."""
        super().__init__(inner, clock)
        self.beats: Counter[str] = Counter()

    def told(self, held: HeldLease) -> HeldLease:
        """Report this broker's own count of beats."""
        return msgspec.structs.replace(held, beats=self.beats[held.id])


class CountsBeatsInVain(_Counting):
    """Counts a touch by a holder who lost its lease."""

    caught_by = ("HeldLeases",)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Count every touch, even a late one."""
        answers = await self.inner.touch(leases)
        self.beats.update(lease.id for lease in leases)
        return answers


class BeatsAreOfTheMessage(_Counting):
    """Counts on with the next lease of the same message."""

    caught_by = ("HeldLeases",)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Count every touch that took effect, of any lease of the message."""
        answers = await self.inner.touch(leases)
        self.beats.update(answer.id for answer in answers if answer.state == "held")
        return answers


class ForgetsTheWork(HonestBroker):
    """Does not keep what the worker knows of the work."""

    caught_by = ("HeldLeases",)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Touch without the size and the prediction."""
        bare = [msgspec.structs.replace(lease, size=None, predicted_seconds=None) for lease in leases]
        answers = await self.inner.touch(bare)
        return [
            msgspec.structs.replace(answer, size=lease.size, predicted_seconds=lease.predicted_seconds)
            for answer, lease in zip(answers, leases, strict=True)
        ]


class LosesProgressOfLeases(_Telling):
    """Does not say how far a handler is."""

    caught_by = ("HeldLeases",)

    def told(self, held: HeldLease) -> HeldLease:
        """Report no progress."""
        return msgspec.structs.replace(held, progress=None)


class EveryHolderHasPresence(_Telling):
    """Takes every holder for a worker on the roster."""

    caught_by = ("HeldLeases",)

    def told(self, held: HeldLease) -> HeldLease:
        """Report that the holder has presence."""
        return msgspec.structs.replace(held, has_presence=True)


class LentJustNow(_Telling):
    """Says that everything was lent at this moment."""

    caught_by = ("HeldLeases",)

    def told(self, held: HeldLease) -> HeldLease:
        """Report the lease as made now."""
        return msgspec.structs.replace(held, leased_at=self.clock.wall())


class DeadlineForgetsTouches(_Telling):
    """Tells the deadline that the lease began with."""

    caught_by = ("HeldLeases",)

    def told(self, held: HeldLease) -> HeldLease:
        """Report the deadline without the touches."""
        if held.leased_at is None or not held.beats:
            return held
        left = held.leased_at + held.seconds - self.clock.wall()
        return msgspec.structs.replace(held, deadline_in=left, deadline=self.clock.wall() + left)

    def told_of_all(self, leases: Leases) -> Leases:
        """Sort by that deadline."""
        return msgspec.structs.replace(leases, leases=tuple(sorted(leases.leases, key=lambda held: held.deadline_in)))


class HidesOverdueLeases(_Telling):
    """Takes a lease whose deadline has passed for one that has ended."""

    caught_by = ("HeldLeases",)

    def told(self, held: HeldLease) -> HeldLease | None:
        """Leave out leases whose deadline has passed."""
        return held if held.deadline_in >= 0.0 else None


class ListsLeasesByArrival(_Telling):
    """Lists what came first first."""

    caught_by = ("HeldLeases",)

    def told_of_all(self, leases: Leases) -> Leases:
        """Sort by id, since the ids of the harness rise."""
        return msgspec.structs.replace(leases, leases=tuple(sorted(leases.leases, key=lambda held: held.id)))


class CutsInSilence(_Telling):
    """Does not say that there is more."""

    caught_by = ("HeldLeases",)

    def told_of_all(self, leases: Leases) -> Leases:
        """Report that the list is complete."""
        return msgspec.structs.replace(leases, is_cut=False)


class NextSweepIsDueNow(_Telling):
    """Does not know how often it is swept."""

    caught_by = ("HeldLeases",)

    def told_of_all(self, leases: Leases) -> Leases:
        """Report that the next sweep is due now."""
        return msgspec.structs.replace(leases, next_sweep_at=leases.last_sweep_at and leases.now)


class NobodyEverSweeps(_Telling):
    """Does not remember sweeps."""

    caught_by = ("HeldLeases",)

    def told_of_all(self, leases: Leases) -> Leases:
        """Report no sweep."""
        return msgspec.structs.replace(leases, last_sweep_at=None, next_sweep_at=None)


class TimeStandsStill(_Telling):
    """Tells the time at which it was opened."""

    caught_by = ("HeldLeases",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Opened now."""
        super().__init__(inner, clock)
        self.opened_at = clock.wall()

    def told_of_all(self, leases: Leases) -> Leases:
        """Report the time at which the store was opened."""
        return msgspec.structs.replace(leases, now=self.opened_at)


class AttemptsAreDeliveries(Remembering, _Telling):
    """Takes the number of deliveries for that of the run."""

    caught_by = ("HeldLeases",)

    def told(self, held: HeldLease) -> HeldLease:
        """Report deliveries as attempts."""
        return msgspec.structs.replace(held, attempt=self.latest[held.id].counters.deliveries)


class ListsLeasesOfEveryQueue(HonestBroker):
    """Does not look at which queues were asked for."""

    caught_by = ("HeldLeases",)

    async def leases(self, queues: Sequence[str] | None = None, *, limit: int = MOST_LEASES) -> Leases:
        """List the leases of every queue."""
        del queues
        return await self.inner.leases(limit=limit)


class ListsLeasesOfNamesOnly(HonestBroker):
    """Does not know patterns."""

    caught_by = ("HeldLeases",)

    async def leases(self, queues: Sequence[str] | None = None, *, limit: int = MOST_LEASES) -> Leases:
        """List the leases of named queues only."""
        names = None if queues is None else [queue for queue in queues if not is_pattern(queue)]
        return await self.inner.leases(names, limit=limit)


class NoLimitIsEverything(HonestBroker):
    """Takes a limit of 0 for none."""

    caught_by = ("HeldLeases",)

    async def leases(self, queues: Sequence[str] | None = None, *, limit: int = MOST_LEASES) -> Leases:
        """Treat a limit of 0 as none."""
        return await self.inner.leases(queues, limit=limit or MOST_LEASES)
