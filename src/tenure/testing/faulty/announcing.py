"""Brokers that announce too little, too much, too often, or not what happened."""

from collections.abc import Sequence

import msgspec

from tenure.announcement import READ_LIMIT, Announcement
from tenure.broker import Broker, Refused
from tenure.claim import ClaimAnswer, ClaimRequest, Seal
from tenure.envelope import decode
from tenure.lease import Lease, LeaseRequest
from tenure.message import MessageState
from tenure.settlement import Ack, DeadLetter, Settlement
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.honest_state import HonestLedger
from tenure.testing.virtual import VirtualClock

_changed = msgspec.structs.replace


class ForgetsWhatAClaimAsksFor(HonestLedger):
    """Claims without keeping what the message asks to be announced."""

    caught_by = ("Announcing",)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Claim for the work alone."""
        return await self.inner.claim([_changed(one, announce=None) for one in batch])


class AnnouncesNothing(HonestBroker):
    """Knows of no announcement."""

    caught_by = ("Announcing",)

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:  # noqa: ARG002
        """Answer with none."""
        return []


class AnnouncesOnlyCompletions(HonestBroker):
    """Is silent of what died or was cancelled."""

    caught_by = ("Announcing",)

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        """Leave the others out."""
        found = await self.inner.announcements(after, limit)
        return [one for one in found if one.ending is MessageState.COMPLETED]


class ForgetsAnnouncementsOnceRead(HonestBroker):
    """Forgets what it has told: a crash of the reader loses it."""

    caught_by = ("Announcing",)

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        """Read, and forget."""
        found = await self.inner.announcements(after, limit)
        await self.inner.announced(found)
        return found


class NeverForgetsAnnouncements(HonestBroker):
    """Keeps what was announced."""

    caught_by = ("Announcing",)

    async def announced(self, batch: Sequence[Announcement]) -> None:
        """Do nothing."""


class ForgetsAllAnnouncements(HonestBroker):
    """Forgets the others along with what was announced."""

    caught_by = ("Announcing",)

    async def announced(self, batch: Sequence[Announcement]) -> None:
        """Forget everything."""
        await self.inner.announced(await self.inner.announcements() if batch else [])


class AnnouncesFromTheStart(HonestBroker):
    """Begins at the start, whatever place is given."""

    caught_by = ("Announcing",)

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:  # noqa: ARG002
        """Read from the start."""
        return await self.inner.announcements("", limit)


class AnnouncesTheLastFirst(HonestBroker):
    """Turns the order round."""

    caught_by = ("Announcing",)

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        """Answer the newest first."""
        return list(reversed(await self.inner.announcements(after, limit)))


class AnnouncesWithoutTheResult(HonestBroker):
    """Tells that it is completed, and not with what."""

    caught_by = ("Announcing",)

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        """Drop results."""
        return [_changed(one, result=None) for one in await self.inner.announcements(after, limit)]


class AnnouncesOneTarget(HonestBroker):
    """Keeps the first target alone."""

    caught_by = ("Announcing",)

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        """Drop the other targets."""
        return [_changed(one, targets=one.targets[:1]) for one in await self.inner.announcements(after, limit)]


class AnnouncesWithoutTheClient(HonestBroker):
    """Forgets what only the envelope said."""

    caught_by = ("Announcing",)

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        """Drop client and correlation."""
        found = await self.inner.announcements(after, limit)
        return [_changed(one, client=None, correlation_id=None) for one in found]


class AnnouncesEveryGenerationAsTheFirst(HonestBroker):
    """Does not tell a redriven message's ends apart."""

    caught_by = ("Announcing",)

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        """Say generation 0."""
        return [_changed(one, generation=0) for one in await self.inner.announcements(after, limit)]


class CutsLargeResultsInAnnouncements(HonestBroker):
    """Answers part of a result as if it were all of it."""

    caught_by = ("Announcing",)

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        """Make up a result for a large one."""
        found = await self.inner.announcements(after, limit)
        return [_changed(one, result=b'"xx"', large_result=None) if one.large_result else one for one in found]


class AddsAnnouncements(HonestBroker):
    """Has announcements of its own beside the honest ones."""

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin with none."""
        super().__init__(inner, clock)
        self.own: list[Announcement] = []
        self.targets: dict[str, tuple[str, ...]] = {}

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease, and remember who asked."""
        leases = await self.inner.lease(request)
        for lease in leases:
            self.targets[lease.id] = decode(lease.envelope).announce
        return leases

    def add(self, lease: Lease, ending: MessageState) -> None:
        """Announce an ending of this lease's message."""
        self.own.append(Announcement(
            id=lease.id, queue=lease.queue, task="deliver", targets=self.targets.get(lease.id) or ("webhook:orders",),
            ending=ending, ended_at=self.clock.wall(), place=str(10_000 + len(self.own)),
        ))  # fmt: skip

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        """Answer with both."""
        return [*await self.inner.announcements(after, limit), *self.own][:limit]


class AnnouncesWhatDidNotAsk(AddsAnnouncements):
    """Announces every completion."""

    caught_by = ("Announcing",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Ack, and announce those that did not ask."""
        answers = await self.inner.ack(batch)
        for entry, answer in zip(batch, answers, strict=True):
            if answer.took_effect and not self.targets.get(entry.lease.id):
                self.add(entry.lease, MessageState.COMPLETED)
        return answers


class AnnouncesForStaleHolders(AddsAnnouncements):
    """Announces before it looks whether the lease stands."""

    caught_by = ("Announcing",)

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Announce what was not settled too."""
        answers = await self.inner.dead_letter(batch)
        for entry, answer in zip(batch, answers, strict=True):
            if not answer.took_effect and self.targets.get(entry.lease.id):
                self.add(entry.lease, MessageState.DEAD)
        return answers


class AnnouncesDuplicates(HonestBroker):
    """Announces work that an earlier run had done."""

    caught_by = ("Announcing",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Ack as if nothing were a duplicate."""
        return await self.inner.ack([_changed(one, is_duplicate=False) for one in batch])


class AnnouncesNoRefusedHandOffs(HonestBroker):
    """Puts refused hand-offs aside in silence."""

    caught_by = ("Announcing",)

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        """Forget that they asked."""
        await self.inner.put_aside([_changed(one, message=_changed(one.message, announce=())) for one in batch])


class AnnouncesAtTheAckAlone(HonestLedger):
    """Keeps no announcement with the seal: a crash before the ack loses it."""

    caught_by = ("Announcing",)

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Seal without what was asked for."""
        return await self.inner.seal([_changed(one, announce=None) for one in batch])
