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
    """Not a fault yet: tells something else about each lease, or about all of them."""

    def told(self, held: HeldLease) -> HeldLease | None:
        """What is told of one. None: nothing."""
        return held

    def told_of_all(self, leases: Leases) -> Leases:
        """What is told of all."""
        return leases

    async def leases(self, queues: Sequence[str] | None = None, *, limit: int = MOST_LEASES) -> Leases:
        """As told."""
        leases = await self.inner.leases(queues, limit=limit)
        told = tuple(one for held in leases.leases if (one := self.told(held)) is not None)
        return self.told_of_all(msgspec.structs.replace(leases, leases=told))


class CountsNoBeats(_Telling):
    """Does not count touches."""

    caught_by = ("HeldLeases",)

    def told(self, held: HeldLease) -> HeldLease:
        """None."""
        return msgspec.structs.replace(held, beats=0)


class DoesNotDateBeats(_Telling):
    """Does not know when it was touched."""

    caught_by = ("HeldLeases",)

    def told(self, held: HeldLease) -> HeldLease:
        """At some time."""
        return msgspec.structs.replace(held, last_beat_at=held.last_beat_at and held.leased_at)


class _Counting(_Telling):
    """Not a fault yet: counts touches itself."""

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Nothing was touched yet."""
        super().__init__(inner, clock)
        self.beats: Counter[str] = Counter()

    def told(self, held: HeldLease) -> HeldLease:
        """By this count."""
        return msgspec.structs.replace(held, beats=self.beats[held.id])


class CountsBeatsInVain(_Counting):
    """Counts a touch by a holder who lost its lease."""

    caught_by = ("HeldLeases",)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Every one, until somebody else is the holder and touches."""
        answers = await self.inner.touch(leases)
        self.beats.update(lease.id for lease in leases)
        return answers


class BeatsAreOfTheMessage(_Counting):
    """Counts on with the next lease of the same message."""

    caught_by = ("HeldLeases",)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Those that took effect, of whatever lease."""
        answers = await self.inner.touch(leases)
        self.beats.update(answer.id for answer in answers if answer.state == "held")
        return answers


class ForgetsTheWork(HonestBroker):
    """Does not keep what the worker knows of the work."""

    caught_by = ("HeldLeases",)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Nothing but time."""
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
        """Somewhere."""
        return msgspec.structs.replace(held, progress=None)


class EveryHolderHasPresence(_Telling):
    """Takes every holder for a worker on the roster."""

    caught_by = ("HeldLeases",)

    def told(self, held: HeldLease) -> HeldLease:
        """Sure."""
        return msgspec.structs.replace(held, has_presence=True)


class LentJustNow(_Telling):
    """Says that everything was lent at this moment."""

    caught_by = ("HeldLeases",)

    def told(self, held: HeldLease) -> HeldLease:
        """Now."""
        return msgspec.structs.replace(held, leased_at=self.clock.wall())


class DeadlineForgetsTouches(_Telling):
    """Tells the deadline that the lease began with."""

    caught_by = ("HeldLeases",)

    def told(self, held: HeldLease) -> HeldLease:
        """As if nobody had touched it."""
        if held.leased_at is None or not held.beats:
            return held
        left = held.leased_at + held.seconds - self.clock.wall()
        return msgspec.structs.replace(held, deadline_in=left, deadline=self.clock.wall() + left)

    def told_of_all(self, leases: Leases) -> Leases:
        """In that order."""
        return msgspec.structs.replace(leases, leases=tuple(sorted(leases.leases, key=lambda held: held.deadline_in)))


class HidesOverdueLeases(_Telling):
    """Takes a lease whose deadline has passed for one that has ended."""

    caught_by = ("HeldLeases",)

    def told(self, held: HeldLease) -> HeldLease | None:
        """Only what has time left."""
        return held if held.deadline_in >= 0.0 else None


class ListsLeasesByArrival(_Telling):
    """Lists what came first first."""

    caught_by = ("HeldLeases",)

    def told_of_all(self, leases: Leases) -> Leases:
        """The ids of the harness rise."""
        return msgspec.structs.replace(leases, leases=tuple(sorted(leases.leases, key=lambda held: held.id)))


class CutsInSilence(_Telling):
    """Does not say that there is more."""

    caught_by = ("HeldLeases",)

    def told_of_all(self, leases: Leases) -> Leases:
        """That is all."""
        return msgspec.structs.replace(leases, is_cut=False)


class NextSweepIsDueNow(_Telling):
    """Does not know how often it is swept."""

    caught_by = ("HeldLeases",)

    def told_of_all(self, leases: Leases) -> Leases:
        """Any moment now."""
        return msgspec.structs.replace(leases, next_sweep_at=leases.last_sweep_at and leases.now)


class NobodyEverSweeps(_Telling):
    """Does not remember sweeps."""

    caught_by = ("HeldLeases",)

    def told_of_all(self, leases: Leases) -> Leases:
        """Who knows."""
        return msgspec.structs.replace(leases, last_sweep_at=None, next_sweep_at=None)


class TimeStandsStill(_Telling):
    """Tells the time at which it was opened."""

    caught_by = ("HeldLeases",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Opened now."""
        super().__init__(inner, clock)
        self.opened_at = clock.wall()

    def told_of_all(self, leases: Leases) -> Leases:
        """Then."""
        return msgspec.structs.replace(leases, now=self.opened_at)


class AttemptsAreDeliveries(Remembering, _Telling):
    """Takes the number of deliveries for that of the run."""

    caught_by = ("HeldLeases",)

    def told(self, held: HeldLease) -> HeldLease:
        """Every delivery."""
        return msgspec.structs.replace(held, attempt=self.latest[held.id].counters.deliveries)


class ListsLeasesOfEveryQueue(HonestBroker):
    """Does not look at which queues were asked for."""

    caught_by = ("HeldLeases",)

    async def leases(self, queues: Sequence[str] | None = None, *, limit: int = MOST_LEASES) -> Leases:
        """All of them."""
        del queues
        return await self.inner.leases(limit=limit)


class ListsLeasesOfNamesOnly(HonestBroker):
    """Does not know patterns."""

    caught_by = ("HeldLeases",)

    async def leases(self, queues: Sequence[str] | None = None, *, limit: int = MOST_LEASES) -> Leases:
        """Names."""
        names = None if queues is None else [queue for queue in queues if not is_pattern(queue)]
        return await self.inner.leases(names, limit=limit)


class NoLimitIsEverything(HonestBroker):
    """Takes a limit of 0 for none."""

    caught_by = ("HeldLeases",)

    async def leases(self, queues: Sequence[str] | None = None, *, limit: int = MOST_LEASES) -> Leases:
        """Nothing is everything."""
        return await self.inner.leases(queues, limit=limit or MOST_LEASES)
