"""Brokers that are wrong about dead letters, or about their contents."""

from collections.abc import Sequence

import msgspec

from tenure.broker import Broker, Browsed, Depth, Page, Query
from tenure.envelope import decode, encode
from tenure.lease import Lease, LeaseRequest
from tenure.message import Counters, MessageState
from tenure.settlement import DeadLetter, GiveBack, Settlement
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.lending import Remembering
from tenure.testing.virtual import VirtualClock


class ForgetsWhatDeadLettersCount(HonestBroker):
    """Puts a message aside that used its last attempt, and does not count it."""

    caught_by = ("DeadLetters",)

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Put aside without counting the attempt."""
        return await self.inner.dead_letter([msgspec.structs.replace(one, counted=False) for one in batch])


class DeadLettersLoseTheirBytes(HonestBroker):
    """Keeps of a dead letter what it could decode."""

    caught_by = ("DeadLetters",)

    async def browse(self, query: Query) -> Page:
        """Return the envelopes shortened."""
        page = await self.inner.browse(query)
        shown = [
            msgspec.structs.replace(one, envelope=one.envelope[:40]) if one.state is MessageState.DEAD else one
            for one in page.messages
        ]
        return msgspec.structs.replace(page, messages=tuple(shown))


class RedriveKeepsTheGeneration(HonestBroker):
    """Redrives a message under the scope in which it died."""

    caught_by = ("DeadLetters",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend every message with generation 0 once it was redriven."""
        return [self._first(lease) for lease in await self.inner.lease(request)]

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin with an empty set of redriven ids."""
        super().__init__(inner, clock)
        self.redriven: set[str] = set()

    async def redrive(self, ids: Sequence[str], queue: str | None = None) -> list[str]:
        """Redrive, and remember which messages."""
        moved = await self.inner.redrive(ids, queue)
        self.redriven |= set(moved)
        return moved

    def _first(self, lease: Lease) -> Lease:
        if lease.id not in self.redriven:
            return lease
        first = msgspec.structs.replace(decode(lease.envelope), generation=0)
        return msgspec.structs.replace(lease, envelope=encode(first))


class RedriveKeepsTheCounters(HonestBroker):
    """A redriven message has its old attempts against it."""

    caught_by = ("DeadLetters",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without counters of dead letters."""
        super().__init__(inner, clock)
        self.died: dict[str, Counters] = {}

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Put aside, and remember the counters."""
        self.died |= {one.lease.id: one.lease.counters for one in batch}
        return await self.inner.dead_letter(batch)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend with the old counters added."""
        return [
            msgspec.structs.replace(one, counters=_sum(one.counters, self.died.get(one.id, Counters())))
            for one in await self.inner.lease(request)
        ]


class RedrivesAnything(Remembering):
    """Takes a message away from its holder when it is redriven."""

    caught_by = ("DeadLetters",)

    async def redrive(self, ids: Sequence[str], queue: str | None = None) -> list[str]:
        """Take messages from their holders, then redrive them."""
        held = [self.latest[id] for id in ids if id in self.latest]
        await self.inner.give_back([GiveBack(lease) for lease in held])
        return await self.inner.redrive(ids, queue)


class DeletesWhatIsHeld(Remembering):
    """Deletes a message under its holder's hands."""

    caught_by = ("DeadLetters",)

    async def delete(self, ids: Sequence[str], queue: str | None = None) -> list[str]:
        """Take messages from their holders, then delete them."""
        held = [self.latest[id] for id in ids if id in self.latest]
        await self.inner.give_back([GiveBack(lease) for lease in held])
        return await self.inner.delete(ids, queue)


class BrowsingIsADelivery(HonestBroker):
    """Looks at messages by receiving them."""

    caught_by = ("Browsing",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without looks counted."""
        super().__init__(inner, clock)
        self.looks: dict[str, int] = {}

    async def browse(self, query: Query) -> Page:
        """Browse, and count a look at each message."""
        page = await self.inner.browse(query)
        for one in page.messages:
            self.looks[one.id] = self.looks.get(one.id, 0) + 1
        return page

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend with the looks added as deliveries."""
        return [
            msgspec.structs.replace(one, counters=_sum(one.counters, Counters(self.looks.get(one.id, 0))))
            for one in await self.inner.lease(request)
        ]


class PagesOverlap(HonestBroker):
    """Begins each page with the last message of the page before."""

    caught_by = ("Browsing",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without a last message of any page."""
        super().__init__(inner, clock)
        self.last: dict[str, Browsed] = {}

    async def browse(self, query: Query) -> Page:
        """Begin the page with the last message of the page before."""
        page = await self.inner.browse(query)
        again = self.last.get(query.cursor)
        if page.cursor is not None and page.messages:
            self.last[page.cursor] = page.messages[-1]
        shown = page.messages if again is None else (again, *page.messages)
        return msgspec.structs.replace(page, messages=shown[: query.limit])


class DepthGuesses(HonestBroker):
    """Counts what is held as ready, and says that it is exact."""

    caught_by = ("Browsing",)

    async def depth(self, queues: Sequence[str] | None = None) -> list[Depth]:
        """Add the leased messages to the ready ones."""
        return [
            msgspec.structs.replace(one, ready=(one.ready or 0) + (one.leased or 0), leased=0)
            for one in await self.inner.depth(queues)
        ]


class CountsLeasesOfAllQueues(HonestBroker):
    """Counts what is held in one pass over all queues, and does not ask in which."""

    caught_by = ("Browsing",)

    async def depth(self, queues: Sequence[str] | None = None) -> list[Depth]:
        """Report the same number of leases for each queue."""
        depths = await self.inner.depth(queues)
        leased = {one.queue: one.leased or 0 for one in depths}
        return [msgspec.structs.replace(one, leased=sum(leased.values()) if one.leased else 0) for one in depths]


def _sum(one: Counters, two: Counters) -> Counters:
    return Counters(
        deliveries=one.deliveries + two.deliveries,
        attempts=one.attempts + two.attempts,
        crashes=one.crashes + two.crashes,
        lost=one.lost + two.lost,
    )
