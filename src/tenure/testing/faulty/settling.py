"""Brokers that settle for the wrong holder, or the wrong way."""

import asyncio
from collections.abc import Sequence

import msgspec

from tenure.broker import Broker, Browsed, Depth
from tenure.envelope import decode, encode
from tenure.lease import Lease, LeaseRequest
from tenure.message import Counters, MessageState
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.lending import Remembering
from tenure.testing.virtual import VirtualClock
from tenure.verdict import Reason


class AcksForAnyone(Remembering):
    """Deletes a message for whoever says that it is done, also while somebody else holds it."""

    caught_by = ("Fencing",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """As XACK does."""
        return await self.inner.ack([msgspec.structs.replace(one, lease=self.now_held(one.lease)) for one in batch])


class StaleAckDeletes(HonestBroker):
    """Deletes a message that was returned and that nobody holds."""

    caught_by = ("Fencing",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """By id alone."""
        return [await self._ack(one) for one in batch]

    async def _ack(self, ack: Ack) -> Settlement:
        (settlement,) = await self.inner.ack([ack])
        if settlement.outcome == Outcome.ALREADY_GONE and await self.inner.delete([ack.lease.id]):
            return Settlement(Outcome.DELETED)
        return settlement


class NacksForAnyone(Remembering):
    """Returns a message for whoever says that it failed."""

    caught_by = ("Fencing",)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """By id alone."""
        return await self.inner.nack([msgspec.structs.replace(one, lease=self.now_held(one.lease)) for one in batch])


class GivesBackForAnyone(Remembering):
    """Returns a message for whoever does not want it."""

    caught_by = ("Fencing",)

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """By id alone."""
        held = [msgspec.structs.replace(one, lease=self.now_held(one.lease)) for one in batch]
        return await self.inner.give_back(held)


class DeadLettersForAnyone(Remembering):
    """Puts a message aside for whoever gives it up."""

    caught_by = ("Fencing",)

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """By id alone."""
        held = [msgspec.structs.replace(one, lease=self.now_held(one.lease)) for one in batch]
        return await self.inner.dead_letter(held)


class SaysDeletedToEverybody(HonestBroker):
    """Answers every ack with success, as some queues do, while it says that its receipts fence."""

    caught_by = ("Fencing", "Settling")

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """200 OK."""
        await self.inner.ack(batch)
        return [Settlement(Outcome.DELETED) for _ in batch]


class SaysNothingIsTakenOver(HonestBroker):
    """Does not say that somebody else holds the message now."""

    caught_by = ("Fencing",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Gone is gone."""
        return [
            Settlement(Outcome.ALREADY_GONE) if one.outcome == Outcome.TAKEN_OVER else one
            for one in await self.inner.ack(batch)
        ]


class LosesResults(HonestBroker):
    """Acks, and forgets the result."""

    caught_by = ("Settling",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Without it."""
        return await self.inner.ack([msgspec.structs.replace(one, result=b"") for one in batch])


class CountsGiveBacks(HonestBroker):
    """Counts an attempt for a message that was not run."""

    caught_by = ("Settling",)

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """Every return is a failure."""
        reason = Reason("given_back", "it came back")
        return await self.inner.nack([Nack(one.lease, one.delay_seconds, reason) for one in batch])


class ForgetsAttempts(HonestBroker):
    """Returns a failed message without counting."""

    caught_by = ("Settling",)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Every failure is a return."""
        return await self.inner.give_back([GiveBack(one.lease, one.delay_seconds) for one in batch])


class IgnoresRetryDelays(HonestBroker):
    """Lends a failed message again at once."""

    caught_by = ("Delays",)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Now."""
        return await self.inner.nack([msgspec.structs.replace(one, delay_seconds=0.0) for one in batch])


class DropsHandOffs(HonestBroker):
    """Acks, and forgets what was to be handed on."""

    caught_by = ("Settling",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Without them."""
        return await self.inner.ack([msgspec.structs.replace(one, handoffs=()) for one in batch])


class HandsOffBeforeTheAck(HonestBroker):
    """Sends what is handed on first, and then finds that the holder was stale."""

    caught_by = ("Settling",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """In two steps, the wrong one first."""
        await self.inner.send([handoff for one in batch for handoff in one.handoffs])
        return await self.inner.ack(batch)


class ForgetsWhatDeadLettersCount(HonestBroker):
    """Puts a message aside that used its last attempt, and does not count it."""

    caught_by = ("DeadLetters",)

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Uncounted."""
        return await self.inner.dead_letter([msgspec.structs.replace(one, counted=False) for one in batch])


class NackByCopyLoses(HonestBroker):
    """Deletes the original before the copy is confirmed; a crash in between loses the message."""

    caught_by = ("Crashing",)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Delete, copy."""
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            await self.inner.ack([Ack(one.lease) for one in batch])
            raise
        return await self.inner.nack(batch)


class DeadLettersLoseTheirBytes(HonestBroker):
    """Keeps of a dead letter what it could decode."""

    caught_by = ("DeadLetters",)

    async def browse(self, queue: str, state: MessageState, *, limit: int = 100, after: int = 0) -> list[Browsed]:
        """Shortened."""
        browsed = await self.inner.browse(queue, state, limit=limit, after=after)
        if state != MessageState.DEAD:
            return browsed
        return [msgspec.structs.replace(one, envelope=one.envelope[:40]) for one in browsed]


class RedriveKeepsTheGeneration(HonestBroker):
    """Redrives a message under the scope in which it died."""

    caught_by = ("DeadLetters",)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """The same generation for ever."""
        return [self._first(lease) for lease in await self.inner.lease(request)]

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Nothing was redriven yet."""
        super().__init__(inner, clock)
        self.redriven: set[str] = set()

    async def redrive(self, ids: Sequence[str]) -> list[str]:
        """Remember which."""
        moved = await self.inner.redrive(ids)
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
        """Nothing died yet."""
        super().__init__(inner, clock)
        self.died: dict[str, Counters] = {}

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Remember what it had."""
        self.died |= {one.lease.id: one.lease.counters for one in batch}
        return await self.inner.dead_letter(batch)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """And add it."""
        return [
            msgspec.structs.replace(one, counters=_sum(one.counters, self.died.get(one.id, Counters())))
            for one in await self.inner.lease(request)
        ]


class RedrivesAnything(Remembering):
    """Takes a message away from its holder when it is redriven."""

    caught_by = ("DeadLetters",)

    async def redrive(self, ids: Sequence[str]) -> list[str]:
        """Whatever state it is in."""
        held = [self.latest[id] for id in ids if id in self.latest]
        await self.inner.give_back([GiveBack(lease) for lease in held])
        return await self.inner.redrive(ids)


class DeletesWhatIsHeld(Remembering):
    """Deletes a message under its holder's hands."""

    caught_by = ("DeadLetters",)

    async def delete(self, ids: Sequence[str]) -> list[str]:
        """Whoever holds it."""
        held = [self.latest[id] for id in ids if id in self.latest]
        await self.inner.give_back([GiveBack(lease) for lease in held])
        return await self.inner.delete(ids)


class BrowsingIsADelivery(HonestBroker):
    """Looks at messages by receiving them."""

    caught_by = ("Browsing",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Nothing was looked at yet."""
        super().__init__(inner, clock)
        self.looks: dict[str, int] = {}

    async def browse(self, queue: str, state: MessageState, *, limit: int = 100, after: int = 0) -> list[Browsed]:
        """Count."""
        browsed = await self.inner.browse(queue, state, limit=limit, after=after)
        for one in browsed:
            self.looks[one.id] = self.looks.get(one.id, 0) + 1
        return browsed

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """And tell."""
        return [
            msgspec.structs.replace(one, counters=_sum(one.counters, Counters(self.looks.get(one.id, 0))))
            for one in await self.inner.lease(request)
        ]


class PagesOverlap(HonestBroker):
    """Begins each page with the last message of the page before."""

    caught_by = ("Browsing",)

    async def browse(self, queue: str, state: MessageState, *, limit: int = 100, after: int = 0) -> list[Browsed]:
        """One too early."""
        if not after:
            return await self.inner.browse(queue, state, limit=limit)
        page = await self.inner.browse(queue, state, limit=limit, after=after - 1)
        return page if len(page) > 1 else []


class DepthGuesses(HonestBroker):
    """Counts what is held as ready, and says that it is exact."""

    caught_by = ("Browsing",)

    async def depth(self, queues: Sequence[str] | None = None) -> list[Depth]:
        """As an approximate count does."""
        return [
            msgspec.structs.replace(one, ready=(one.ready or 0) + (one.leased or 0), leased=0)
            for one in await self.inner.depth(queues)
        ]


def _sum(one: Counters, two: Counters) -> Counters:
    return Counters(
        deliveries=one.deliveries + two.deliveries,
        attempts=one.attempts + two.attempts,
        crashes=one.crashes + two.crashes,
        lost=one.lost + two.lost,
    )
