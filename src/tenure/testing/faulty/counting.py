"""Journals that wake, count or forget in the wrong way, and audit logs that lose acts."""

import asyncio
from collections.abc import Sequence

import msgspec

from tenure.act import Act, StoredAct
from tenure.state import State
from tenure.tally import HOUR, TEN_SECONDS, Tally
from tenure.testing.faulty.honest_state import HonestActLog, HonestJournal
from tenure.testing.virtual import VirtualClock


class FirstIsAlwaysOne(HonestJournal):
    """Does not notice that old events are gone."""

    caught_by = ("Following",)

    async def first(self) -> int:
        """Return the place of the first event ever."""
        return min(1, await self.inner.last())


class FirstIsWhatComesNext(HonestJournal):
    """Tells the next place where there is no event."""

    caught_by = ("Following",)

    async def first(self) -> int:
        """Return the next place if there is no event."""
        return await self.inner.first() or await self.inner.last() + 1


class ReadersNeverWake(HonestJournal):
    """Sleeps for as long as it may."""

    caught_by = ("Following",)

    async def wait(self, after: int, seconds: float) -> None:
        """Sleep through everything that is reported meanwhile."""
        if await self.inner.last() <= after:
            await asyncio.sleep(seconds)


class ReadersNeverSleep(HonestJournal):
    """Returns at once, so that a reader spins."""

    caught_by = ("Following",)

    async def wait(self, after: int, seconds: float) -> None:
        """Return at once."""
        await self.inner.wait(after, min(seconds, 0.01))


class ReadersMissWhatIsThere(HonestJournal):
    """Wakes for what comes, not for what is there."""

    caught_by = ("Following",)

    async def wait(self, after: int, seconds: float) -> None:
        """Wait only for later events."""
        del after
        await self.inner.wait(await self.inner.last(), seconds)


class AddsTallies(HonestJournal):
    """Stores a row that is repeated a second time."""

    caught_by = ("Tallies",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Begin with an empty list of rows."""
        super().__init__(inner, clock)
        self.rows: list[Tally] = []

    async def tally(self, batch: Sequence[Tally]) -> None:
        """Add every row, also one that is known."""
        self.rows += batch

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """Return all rows that were added."""
        found = [row for row in self.rows if row.step == step and since <= row.bucket < until]
        return sorted(found, key=lambda row: (row.bucket, row.nonce, row.number))


class KeepsTheFirstTally(HonestJournal):
    """Does not replace a row."""

    caught_by = ("Tallies",)

    async def tally(self, batch: Sequence[Tally]) -> None:
        """Store only rows that are new."""
        for row in batch:
            there = await self.inner.tallies(row.step, row.bucket, row.bucket + 1)
            if (row.nonce, row.number) not in {(one.nonce, one.number) for one in there}:
                await self.inner.tally([row])


class TalliesOfOneProcess(HonestJournal):
    """Keeps one row of a process in a bucket."""

    caught_by = ("Tallies",)

    async def tally(self, batch: Sequence[Tally]) -> None:
        """Store every row under number 1."""
        await self.inner.tally([msgspec.structs.replace(row, number=1) for row in batch])


class TalliesInAnyOrder(HonestJournal):
    """Reads rows in an order of its own."""

    caught_by = ("Tallies",)

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """Return the rows in reverse."""
        return (await self.inner.tallies(step, since, until))[::-1]


class TalliesSortNumbersAsText(HonestJournal):
    """Puts 10 before 2."""

    caught_by = ("Tallies",)

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """Sort the numbers as text."""
        rows = await self.inner.tallies(step, since, until)
        return sorted(rows, key=lambda row: (row.bucket, row.nonce, str(row.number)))


class TalliesIncludeTheEnd(HonestJournal):
    """Reads the bucket at which a range ends."""

    caught_by = ("Tallies",)

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """Read one second more."""
        return await self.inner.tallies(step, since, until + 1)


class MixesSteps(HonestJournal):
    """Does not tell seconds from hours."""

    caught_by = ("Tallies",)

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """Return the rows of every step."""
        rows = [row for one in (TEN_SECONDS, 60, HOUR) for row in await self.inner.tallies(one, since, until)]
        return [row for row in rows if row.step >= step]


class ReadsOnePageOfTallies(HonestJournal):
    """Reads as many rows as fit into one answer."""

    caught_by = ("Tallies",)

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """Return only the first hundred rows."""
        return (await self.inner.tallies(step, since, until))[:100]


class TalliesAreKeptForEver(HonestJournal):
    """Prunes events alone."""

    caught_by = ("Tallies",)

    async def prune(self, older_than_seconds: float) -> int:
        """Prune, then put the rows back."""
        wall = self.clock.wall()
        kept = [row for step in (TEN_SECONDS, 60, HOUR) for row in await self.inner.tallies(step, 0.0, wall)]
        gone = await self.inner.prune(older_than_seconds)
        await self.inner.tally(kept)
        return gone


class TalliesAreKeptAsEvents(TalliesAreKeptForEver):
    """Keeps short steps as long as events."""

    caught_by = ("Tallies",)

    async def prune(self, older_than_seconds: float) -> int:
        """Prune rows of short steps by the age of events."""
        wall = self.clock.wall()
        old = wall - older_than_seconds
        kept = [row for step in (TEN_SECONDS, 60, HOUR) for row in await self.inner.tallies(step, old, wall)]
        gone = await self.inner.prune(older_than_seconds)
        await self.inner.tally(kept)
        return gone


class PruneCountsTallies(HonestJournal):
    """Counts rows among the events that it forgot."""

    caught_by = ("Tallies",)

    async def prune(self, older_than_seconds: float) -> int:
        """Return the sum of pruned events and rows."""
        before = len(await self.inner.tallies(TEN_SECONDS, 0.0, self.clock.wall()))
        gone = await self.inner.prune(older_than_seconds)
        return gone + before - len(await self.inner.tallies(TEN_SECONDS, 0.0, self.clock.wall()))


class EventsTakeActsAlong(HonestJournal):
    """Prunes the audit log with the journal."""

    caught_by = ("Acts",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Know the log too."""
        super().__init__(inner, clock)
        self.log = inner.acts

    async def prune(self, older_than_seconds: float) -> int:
        """Prune the journal and the audit log."""
        await self.log.prune(older_than_seconds)
        return await self.inner.prune(older_than_seconds)


class OldestActFirst(HonestActLog):
    """Reads the log from its beginning."""

    caught_by = ("Acts",)

    async def read(self, before: int = 0, limit: int = 100) -> list[StoredAct]:
        """Return the acts in reverse."""
        return (await self.inner.read(before, limit))[::-1]


class ReadsTheSameActsAgain(HonestActLog):
    """Begins each page with the last act of the page before."""

    caught_by = ("Acts",)

    async def read(self, before: int = 0, limit: int = 100) -> list[StoredAct]:
        """Read from one act too early."""
        page = await self.inner.read(before and before + 1, limit)
        return page if len(page) > 1 or not before else []


class ActsLoseTheirDetails(HonestActLog):
    """Keeps who and what, not where."""

    caught_by = ("Acts",)

    async def record(self, acts: Sequence[Act]) -> None:
        """Record the acts without source and data."""
        await self.inner.record([msgspec.structs.replace(act, source="", data={}) for act in acts])


class ActsOfOneCallAreOne(HonestActLog):
    """Keeps the last act of a call."""

    caught_by = ("Acts",)

    async def record(self, acts: Sequence[Act]) -> None:
        """Record only the last act."""
        await self.inner.record(acts[-1:])


class ActsAreForgottenEarly(HonestActLog):
    """Keeps acts for a year."""

    caught_by = ("Acts",)

    async def prune(self, older_than_seconds: float) -> int:
        """Prune acts older than 365 days."""
        return await self.inner.prune(min(older_than_seconds, 365 * 86_400.0))


class ActsAreKeptForEver(HonestActLog):
    """Forgets nothing."""

    caught_by = ("Acts",)

    async def prune(self, older_than_seconds: float) -> int:
        """Prune nothing."""
        del older_than_seconds
        return 0


class ActPlacesBeginAnew(HonestActLog):
    """Counts places from the oldest act that is kept."""

    caught_by = ("Acts",)

    async def read(self, before: int = 0, limit: int = 100) -> list[StoredAct]:
        """Number the acts from one."""
        kept = (await self.inner.read(0, 10**6))[::-1]
        numbered = [StoredAct(number, stored.act) for number, stored in enumerate(kept, 1)]
        return [stored for stored in numbered[::-1] if not before or stored.seq < before][:limit]
