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
        """The first that ever was."""
        return min(1, await self.inner.last())


class FirstIsWhatComesNext(HonestJournal):
    """Tells the next place where there is no event."""

    caught_by = ("Following",)

    async def first(self) -> int:
        """It will be."""
        return await self.inner.first() or await self.inner.last() + 1


class ReadersNeverWake(HonestJournal):
    """Sleeps for as long as it may."""

    caught_by = ("Following",)

    async def wait(self, after: int, seconds: float) -> None:
        """Whatever is told meanwhile."""
        if await self.inner.last() <= after:
            await asyncio.sleep(seconds)


class ReadersNeverSleep(HonestJournal):
    """Returns at once, so that a reader spins."""

    caught_by = ("Following",)

    async def wait(self, after: int, seconds: float) -> None:
        """No."""
        await self.inner.wait(after, min(seconds, 0.01))


class ReadersMissWhatIsThere(HonestJournal):
    """Wakes for what comes, not for what is there."""

    caught_by = ("Following",)

    async def wait(self, after: int, seconds: float) -> None:
        """From now on."""
        del after
        await self.inner.wait(await self.inner.last(), seconds)


class AddsTallies(HonestJournal):
    """Stores a row that is repeated a second time."""

    caught_by = ("Tallies",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Nothing was stored yet."""
        super().__init__(inner, clock)
        self.rows: list[Tally] = []

    async def tally(self, batch: Sequence[Tally]) -> None:
        """Each."""
        self.rows += batch

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """All of them."""
        found = [row for row in self.rows if row.step == step and since <= row.bucket < until]
        return sorted(found, key=lambda row: (row.bucket, row.nonce, row.number))


class KeepsTheFirstTally(HonestJournal):
    """Does not replace a row."""

    caught_by = ("Tallies",)

    async def tally(self, batch: Sequence[Tally]) -> None:
        """Only what is new."""
        for row in batch:
            there = await self.inner.tallies(row.step, row.bucket, row.bucket + 1)
            if (row.nonce, row.number) not in {(one.nonce, one.number) for one in there}:
                await self.inner.tally([row])


class TalliesOfOneProcess(HonestJournal):
    """Keeps one row of a process in a bucket."""

    caught_by = ("Tallies",)

    async def tally(self, batch: Sequence[Tally]) -> None:
        """Whatever its number."""
        await self.inner.tally([msgspec.structs.replace(row, number=1) for row in batch])


class TalliesInAnyOrder(HonestJournal):
    """Reads rows in an order of its own."""

    caught_by = ("Tallies",)

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """The other way round."""
        return (await self.inner.tallies(step, since, until))[::-1]


class TalliesSortNumbersAsText(HonestJournal):
    """Puts 10 before 2."""

    caught_by = ("Tallies",)

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """As text."""
        rows = await self.inner.tallies(step, since, until)
        return sorted(rows, key=lambda row: (row.bucket, row.nonce, str(row.number)))


class TalliesIncludeTheEnd(HonestJournal):
    """Reads the bucket at which a range ends."""

    caught_by = ("Tallies",)

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """A little longer."""
        return await self.inner.tallies(step, since, until + 1)


class MixesSteps(HonestJournal):
    """Does not tell seconds from hours."""

    caught_by = ("Tallies",)

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """Whatever is there."""
        rows = [row for one in (TEN_SECONDS, 60, HOUR) for row in await self.inner.tallies(one, since, until)]
        return [row for row in rows if row.step >= step]


class ReadsOnePageOfTallies(HonestJournal):
    """Reads as many rows as fit into one answer."""

    caught_by = ("Tallies",)

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """A hundred."""
        return (await self.inner.tallies(step, since, until))[:100]


class TalliesAreKeptForEver(HonestJournal):
    """Prunes events alone."""

    caught_by = ("Tallies",)

    async def prune(self, older_than_seconds: float) -> int:
        """And puts the rows back."""
        wall = self.clock.wall()
        kept = [row for step in (TEN_SECONDS, 60, HOUR) for row in await self.inner.tallies(step, 0.0, wall)]
        gone = await self.inner.prune(older_than_seconds)
        await self.inner.tally(kept)
        return gone


class TalliesAreKeptAsEvents(TalliesAreKeptForEver):
    """Keeps short steps as long as events."""

    caught_by = ("Tallies",)

    async def prune(self, older_than_seconds: float) -> int:
        """By one age."""
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
        """Together."""
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
        """Both."""
        await self.log.prune(older_than_seconds)
        return await self.inner.prune(older_than_seconds)


class OldestActFirst(HonestActLog):
    """Reads the log from its beginning."""

    caught_by = ("Acts",)

    async def read(self, before: int = 0, limit: int = 100) -> list[StoredAct]:
        """The other way round."""
        return (await self.inner.read(before, limit))[::-1]


class ReadsTheSameActsAgain(HonestActLog):
    """Begins each page with the last act of the page before."""

    caught_by = ("Acts",)

    async def read(self, before: int = 0, limit: int = 100) -> list[StoredAct]:
        """One too early."""
        page = await self.inner.read(before and before + 1, limit)
        return page if len(page) > 1 or not before else []


class ActsLoseTheirDetails(HonestActLog):
    """Keeps who and what, not where."""

    caught_by = ("Acts",)

    async def record(self, acts: Sequence[Act]) -> None:
        """Shortened."""
        await self.inner.record([msgspec.structs.replace(act, source="", data={}) for act in acts])


class ActsOfOneCallAreOne(HonestActLog):
    """Keeps the last act of a call."""

    caught_by = ("Acts",)

    async def record(self, acts: Sequence[Act]) -> None:
        """That will do."""
        await self.inner.record(acts[-1:])


class ActsAreForgottenEarly(HonestActLog):
    """Keeps acts for a year."""

    caught_by = ("Acts",)

    async def prune(self, older_than_seconds: float) -> int:
        """365 days."""
        return await self.inner.prune(min(older_than_seconds, 365 * 86_400.0))


class ActsAreKeptForEver(HonestActLog):
    """Forgets nothing."""

    caught_by = ("Acts",)

    async def prune(self, older_than_seconds: float) -> int:
        """Never."""
        del older_than_seconds
        return 0


class ActPlacesBeginAnew(HonestActLog):
    """Counts places from the oldest act that is kept."""

    caught_by = ("Acts",)

    async def read(self, before: int = 0, limit: int = 100) -> list[StoredAct]:
        """From one."""
        kept = (await self.inner.read(0, 10**6))[::-1]
        numbered = [StoredAct(number, stored.act) for number, stored in enumerate(kept, 1)]
        return [stored for stored in numbered[::-1] if not before or stored.seq < before][:limit]
