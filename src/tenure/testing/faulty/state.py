"""Records, rosters and journals with one fault each."""

import contextlib
import fnmatch
from collections.abc import Sequence

import msgspec

from tenure.errors import OwnerRetired
from tenure.event import Event, StoredEvent
from tenure.lease import Lease
from tenure.message import NO_COUNTERS, MessageState
from tenure.owner import Member, Owner
from tenure.record import Progress, Record
from tenure.state import State
from tenure.testing.faulty.honest_state import HonestJournal, HonestRecords, HonestRoster
from tenure.testing.virtual import VirtualClock

_ONE_STEP = 100


class KeepsCheckpointsOfAnyone(HonestRecords):
    """Lets a stale holder write over the checkpoint."""

    caught_by = ("Records",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Begin without checkpoints."""
        super().__init__(inner, clock)
        self.kept: dict[str, bytes] = {}

    async def checkpoint(self, lease: Lease, data: bytes) -> bool:
        """Store the checkpoint by id, whatever the lease."""
        self.kept[lease.id] = data
        return True

    async def load_checkpoint(self, id: str) -> bytes | None:
        """Return the checkpoint of any writer."""
        return self.kept.get(id)


class TakesProgressFromAnyone(HonestRecords):
    """Lets a stale holder say how far it is."""

    caught_by = ("Records",)

    async def progress(self, batch: Sequence[tuple[Lease, Progress]]) -> list[bool]:
        """Answer that every report was stored."""
        await self.inner.progress(batch)
        return [True for _ in batch]


class ReadsABeginningAsAPattern(HonestRecords):
    """Finds ids that only look like what was asked for."""

    caught_by = ("Records",)

    async def find_ids(self, beginning: str, limit: int) -> list[str] | None:
        """Match wildcards, as a server's own search does."""
        fixed = beginning.partition("*")[0].partition("?")[0]
        found = await self.inner.find_ids(fixed, 10_000)
        pattern = f"{beginning}*"
        return None if found is None else [id for id in found if fnmatch.fnmatchcase(id, pattern)][:limit]


class ForgetsCheckpointsOnFailure(HonestRecords):
    """Starts a message from the beginning after each failure."""

    caught_by = ("Records",)

    async def load_checkpoint(self, id: str) -> bytes | None:
        """Return no checkpoint after a failure."""
        record = await self.inner.get(id)
        return None if record is None or record.counters.attempts else await self.inner.load_checkpoint(id)


class ForgetsTheHistoryOnRedrive(HonestRecords):
    """Starts a new history with each redrive."""

    caught_by = ("DeadLetters",)

    async def get(self, id: str, queue: str | None = None) -> Record | None:
        """Return the history from the last redrive on."""
        record = await self.inner.get(id, queue)
        if record is None:
            return None
        last = max((place for place, ending in enumerate(record.history) if ending.how == "redriven"), default=0)
        return msgspec.structs.replace(record, history=record.history[last:])


class ForgetsTheCountersOfTheCompleted(HonestRecords):
    """Shows zeros for a message once it is completed."""

    caught_by = ("Records",)

    async def get(self, id: str, queue: str | None = None) -> Record | None:
        """Return zero counters for a completed message."""
        record = await self.inner.get(id, queue)
        if record is None or record.state is not MessageState.COMPLETED:
            return record
        return msgspec.structs.replace(record, counters=NO_COUNTERS)


class LeavesOutTheUnknownAmongMany(HonestRecords):
    """Answers for the messages that it knows, and so for the wrong ones."""

    caught_by = ("Records",)

    async def get_many(self, wanted: Sequence[tuple[str, str | None]]) -> list[Record | None]:
        """Return the records that there are first."""
        found = await self.inner.get_many(wanted)
        return sorted(found, key=lambda record: record is None)


class ManyBelieveTheHint(HonestRecords):
    """Reads each of many in the queue of its hint only."""

    caught_by = ("Records",)

    async def get_many(self, wanted: Sequence[tuple[str, str | None]]) -> list[Record | None]:
        """Return no record of another queue."""
        found = await self.inner.get_many(wanted)
        return [
            one if one is None or queue in {None, one.queue} else None
            for one, (_, queue) in zip(found, wanted, strict=True)
        ]


class DiesOfALapseInSilence(HonestRecords):
    """Writes the last failed attempt into the history, and not that the message is dead."""

    caught_by = ("Lapsing",)

    async def get(self, id: str, queue: str | None = None) -> Record | None:
        """Return the history without the last entry of a lapse."""
        record = await self.inner.get(id, queue)
        if record is None or [ending.how for ending in record.history[-2:]] != ["failed", "dead"]:
            return record
        return msgspec.structs.replace(record, history=record.history[:-1])


class TellsALapseInItsOwnWords(HonestRecords):
    """Has another text than every other store for the same lapse."""

    caught_by = ("Lapsing",)

    async def get(self, id: str, queue: str | None = None) -> Record | None:
        """Return a lapse's reason in other words."""
        record = await self.inner.get(id, queue)
        if record is None or record.reason is None or record.reason.code != "max_attempts":
            return record
        return msgspec.structs.replace(record, reason=msgspec.structs.replace(record.reason, text="too many attempts"))


class CallsTheSilentDead(HonestRoster):
    """Takes an owner for dead that was not heard of for 15 seconds."""

    caught_by = ("Roster",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Begin without known owners."""
        super().__init__(inner, clock)
        self.heard: dict[str, float] = {}

    async def join(self, owner: Owner) -> None:
        """Join, and remember when."""
        self.heard[owner.id] = self.clock.monotonic()
        await self.inner.join(owner)

    async def beat(self, owner: Owner) -> None:
        """Beat, and remember when."""
        self.heard[owner.id] = self.clock.monotonic()
        await self.inner.beat(owner)

    async def members(self) -> list[Member]:
        """Report silent owners as dead."""
        now = self.clock.monotonic()
        members = await self.inner.members()
        silent = {one.owner.id for one in members if now - self.heard.get(one.owner.id, now) > 15.0}
        return [msgspec.structs.replace(one, lock=False if one.owner.id in silent else one.lock) for one in members]


class NamesAreSlots(HonestRoster):
    """Takes a new boot under the same name for the proof that the old one is dead."""

    caught_by = ("Roster",)

    async def members(self) -> list[Member]:
        """Report the name of an owner as its slot."""
        return [
            msgspec.structs.replace(
                one, owner=msgspec.structs.replace(one.owner, slot=one.owner.slot or one.owner.name, boot_id="")
            )
            for one in await self.inner.members()
        ]


class ForgetsWhoCameFirst(HonestRoster):
    """Does not keep the order in which owners joined, so no owner in a slot is newer."""

    caught_by = ("Roster",)

    async def members(self) -> list[Member]:
        """Report the same moment of joining for all."""
        return [msgspec.structs.replace(one, joined=1.0) for one in await self.inner.members()]


class LateBeatsJoinAnew(HonestRoster):
    """Takes an owner that was removed and speaks for one that has just joined: it would take its slot back."""

    caught_by = ("Roster",)

    async def beat(self, owner: Owner) -> None:
        """Join again if the owner was removed."""
        if owner.id not in {one.owner.id for one in await self.inner.members()}:
            with contextlib.suppress(OwnerRetired):
                await self.inner.join(owner)
        await self.inner.beat(owner)


class SeesNoDead(HonestRoster):
    """Lists no owner of which something could be proven."""

    caught_by = ("Roster",)

    async def members(self) -> list[Member]:
        """Report every owner as alive."""
        return [
            msgspec.structs.replace(one, lock=True, left=False, is_retired=False) for one in await self.inner.members()
        ]


class ForgetsWhatOwnersKnow(HonestRoster):
    """Lists the owners, but not their tasks: no worker leaves a message to another one that knows its task."""

    caught_by = ("Roster",)

    async def members(self) -> list[Member]:
        """Report owners without their tasks."""
        return [
            msgspec.structs.replace(one, owner=msgspec.structs.replace(one.owner, tasks=()))
            for one in await self.inner.members()
        ]


class ForgetsWhoIsBeingRetired(HonestRoster):
    """Does not list an owner whose retirement has begun: if the worker that began it dies, no other one goes on."""

    caught_by = ("Retiring",)

    async def members(self) -> list[Member]:
        """Leave out owners that are being retired."""
        return [one for one in await self.inner.members() if not one.is_retired]


class LeaversAreDead(HonestRoster):
    """Does not remember who said goodbye."""

    caught_by = ("Roster",)

    async def members(self) -> list[Member]:
        """Report owners that left as dead."""
        return [
            msgspec.structs.replace(one, left=False, lock=False if one.left else one.lock)
            for one in await self.inner.members()
        ]


class RemovesWhoHolds(HonestRoster):
    """Takes the silent off the roster whatever they hold."""

    caught_by = ("Roster",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Begin with an empty set of removed owners."""
        super().__init__(inner, clock)
        self.removed: set[str] = set()

    async def remove(self, owner: str, silent_seconds: float) -> bool:
        """Remove a silent owner even if it holds messages."""
        silent = {one.owner.id for one in await self.inner.members() if one.silent_seconds >= silent_seconds}
        if owner in self.removed or owner not in silent:
            return False
        self.removed.add(owner)
        return True

    async def beat(self, owner: Owner) -> None:
        """Beat, and put a removed owner back."""
        self.removed.discard(owner.id)
        await self.inner.beat(owner)

    async def members(self) -> list[Member]:
        """Leave out removed owners."""
        return [one for one in await self.inner.members() if one.owner.id not in self.removed]


class RemovesWhoWasHeard(HonestRoster):
    """Does not look again whether an owner is still silent."""

    caught_by = ("Roster",)

    async def remove(self, owner: str, silent_seconds: float) -> bool:
        """Remove the owner without a second look."""
        del silent_seconds
        return await self.inner.remove(owner, 0.0)


class RemovalIsForGood(HonestRoster):
    """An owner that was removed is not put back when it speaks."""

    caught_by = ("Roster",)

    async def beat(self, owner: Owner) -> None:
        """Ignore the beat of a removed owner."""
        if owner.id in {one.owner.id for one in await self.inner.members()}:
            await self.inner.beat(owner)


class Reorders(HonestJournal):
    """Writes a batch from its end."""

    caught_by = ("Journal",)

    async def append(self, events: Sequence[Event]) -> None:
        """Append the events in reverse."""
        await self.inner.append(list(reversed(events)))


class LosesEvents(HonestJournal):
    """Keeps one event of a kind and moment."""

    caught_by = ("Journal",)

    async def append(self, events: Sequence[Event]) -> None:
        """Append only the last event of each kind and moment."""
        await self.inner.append(list({(one.kind, one.at): one for one in events}.values()))


class ReplaysTooMuch(HonestJournal):
    """Repeats the event from which it was to go on."""

    caught_by = ("Journal",)

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """Read from that event on, not after it."""
        return await self.inner.read(max(0, after - 1), limit)


class PrunesEverything(HonestJournal):
    """Forgets all events when it is to forget the old ones."""

    caught_by = ("Journal",)

    async def prune(self, older_than_seconds: float) -> int:
        """Prune all events."""
        del older_than_seconds
        return await self.inner.prune(-1.0)


class PrunesOnlyALittle(HonestJournal):
    """Takes fright where there is more to forget than fits into one step."""

    caught_by = ("Journal",)

    async def prune(self, older_than_seconds: float) -> int:
        """Prune a hundred events at most."""
        horizon = self.clock.wall() - older_than_seconds
        old = [one for one in await self.inner.read(limit=100_000) if one.event.at < horizon]
        return await self.inner.prune(older_than_seconds) if len(old) <= _ONE_STEP else 0


class AboutMissesTheOthers(HonestJournal):
    """Finds the events of a message, and not those in which it is one of many."""

    caught_by = ("Journal",)

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        """Return events with this id in their own field only."""
        found = await self.inner.about(message_id, since=since, limit=100_000)
        return [one for one in found if one.event.message_id == message_id][:limit]


class AboutTellsTheLatest(HonestJournal):
    """Returns the last events where there are too many."""

    caught_by = ("Journal",)

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        """Return the last events instead of the first."""
        return (await self.inner.about(message_id, since=since, limit=100_000))[-limit:]


class AboutFindsWhatLooksAlike(HonestJournal):
    """Searches the text of events for the id."""

    caught_by = ("Journal",)

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        """Return every event whose text contains the id."""
        del since
        text = message_id.encode()
        return [one for one in await self.inner.read(limit=100_000) if text in msgspec.json.encode(one.event)][:limit]


class AboutLooksAtOnePage(HonestJournal):
    """Finds what is among the newest thousand events."""

    caught_by = ("Journal",)

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        """Search only the newest thousand events."""
        newest = await self.inner.last() - 1000
        found = await self.inner.about(message_id, since=since, limit=100_000)
        return [one for one in found if one.seq > newest][:limit]
