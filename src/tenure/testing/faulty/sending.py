"""Brokers that are wrong about what they were sent."""

from collections.abc import Sequence

import msgspec

from tenure.broker import Broker, Sent
from tenure.envelope import decode, encode
from tenure.errors import BodyUndecodable
from tenure.lease import Lease, LeaseRequest
from tenure.message import NO_OVERRIDES, Message, Outgoing
from tenure.rules.sendable import unsendable
from tenure.settlement import DeadLetter, Settlement
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.virtual import VirtualClock


class LosesOnRepeatedSend(HonestBroker):
    """Takes a repeated send for a correction, removes the first copy and does not store the second."""

    caught_by = ("Sending",)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Delete messages that were known."""
        answers = await self.inner.send(batch)
        await self.inner.delete([answer.id for answer in answers if answer.duplicate])
        return answers


class StoresRepeatedSends(HonestBroker):
    """Makes a second copy, with a delivery count of its own, when a send is repeated."""

    caught_by = ("Sending",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Copies are kept under made-up ids."""
        super().__init__(inner, clock)
        self.copies: dict[str, str] = {}

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Store a known message once more."""
        answers = await self.inner.send(batch)
        for outgoing, answer in zip(batch, answers, strict=True):
            if answer.duplicate:
                copy = f"{len(self.copies):032d}"
                self.copies[copy] = outgoing.message.id
                message = msgspec.structs.replace(outgoing.message, id=copy, key=None, unique=None)
                await self.inner.send([_with(outgoing, message)])
        return [Sent(answer.id, refusal=answer.refusal) for answer in answers]

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend the copies under the id of the first."""
        leases = await self.inner.lease(request)
        return [msgspec.structs.replace(one, id=self.copies.get(one.id, one.id)) for one in leases]


class DatesByTheLastRepeat(HonestBroker):
    """Lends a message with the moment of the last repeat of its send."""

    caught_by = ("Sending",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without repeated sends."""
        super().__init__(inner, clock)
        self.moments: dict[str, float] = {}

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Send, and remember the moment."""
        self.moments |= {one.message.id: one.message.sent_at for one in batch}
        return await self.inner.send(batch)

    def twin(self) -> "DatesByTheLastRepeat":
        """Return itself, so that all connections know the same."""
        return self

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend with the remembered moment."""
        return [self._dated(lease) for lease in await self.inner.lease(request)]

    def _dated(self, lease: Lease) -> Lease:
        try:
            message = decode(lease.envelope)
        except BodyUndecodable:
            return lease
        message = msgspec.structs.replace(message, sent_at=self.moments.get(lease.id, message.sent_at))
        return msgspec.structs.replace(lease, envelope=encode(message))


class KnowsIdsByQueue(StoresRepeatedSends):
    """Makes a second copy when an id is sent to another queue."""

    caught_by = ("Sending",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without known queues of ids."""
        super().__init__(inner, clock)
        self.first_queues: dict[str, str] = {}

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Store messages that only another queue knows."""
        answers = []
        for outgoing in batch:
            message = outgoing.message
            is_elsewhere = self.first_queues.setdefault(message.id, message.queue) != message.queue
            answers += await (super().send if is_elsewhere else self.inner.send)([outgoing])
        return answers


class AnswersOutOfOrder(HonestBroker):
    """Answers a batch in an order of its own."""

    caught_by = ("Sending",)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Answer with new messages first."""
        return sorted(await self.inner.send(batch), key=lambda sent: sent.duplicate)


class RefusesWholeBatches(HonestBroker):
    """Stores nothing of a batch in which one message is too large."""

    caught_by = ("Sending",)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Refuse the whole batch if one message is too large."""
        limit = self.traits.body_limit
        large = [one.message for one in batch if len(encode(one.message)) > limit]
        if not large:
            return await self.inner.send(batch)
        (refused,) = await self.inner.send([Outgoing(large[0])])
        return [Sent(one.message.id, refusal=refused.refusal) for one in batch]


class TruncatesLargeBodies(HonestBroker):
    """Makes a body that is too large fit."""

    caught_by = ("Sending",)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Cut bodies that are too large."""
        return await self.inner.send([self._cut(one) for one in batch])

    def _cut(self, outgoing: Outgoing) -> Outgoing:
        if len(encode(outgoing.message)) <= self.traits.body_limit:
            return outgoing
        return _with(outgoing, msgspec.structs.replace(outgoing.message, body=msgspec.Raw(b'"cut"')))


class TakesWhatItCannotKeep(HonestBroker):
    """Takes a message that no worker could read for sent."""

    caught_by = ("Sendable",)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Refuse only messages that are too large."""
        taken = ("bad_argument", "body_undecodable", "body_too_deep")
        return [
            Sent(sent.id) if sent.refusal is not None and sent.refusal.code in taken else sent
            for sent in await self.inner.send(batch)
        ]


class RefusesNeighbours(HonestBroker):
    """Stores nothing of a batch in which one message cannot be sent."""

    caught_by = ("Sendable",)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Refuse the whole batch if one message is refused."""
        refusals = [unsendable(one) for one in batch]
        if not any(refusals):
            return await self.inner.send(batch)
        first = next(refusal for refusal in refusals if refusal is not None)
        return [Sent(one.message.id, refusal=first) for one in batch]


class Rewriting(HonestBroker):
    """Base of faults: stores another message than was sent, and lends the envelope that was sent."""

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Remember what was really sent, by what was stored instead."""
        super().__init__(inner, clock)
        self.envelopes: dict[bytes, bytes] = {}

    def rewritten(self, outgoing: Outgoing) -> Outgoing:
        """Return the message that is stored instead."""
        return outgoing

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Send the changed messages."""
        rewritten = [self.rewritten(one) for one in batch]
        pairs = zip(rewritten, batch, strict=True)
        self.envelopes |= {encode(new.message): encode(old.message) for new, old in pairs}
        return await self.inner.send(rewritten)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend the envelopes that were sent."""
        return [
            msgspec.structs.replace(one, envelope=self.envelopes.get(one.envelope, one.envelope))
            for one in await self.inner.lease(request)
        ]


class IgnoresPriority(Rewriting):
    """First come, first served, whatever the priority."""

    caught_by = ("Priority",)

    def rewritten(self, outgoing: Outgoing) -> Outgoing:
        """Store every message with the same priority."""
        return _with(outgoing, msgspec.structs.replace(outgoing.message, priority=5))


class IgnoresOverrides(Rewriting):
    """Lends every message for the same time, and gives every message the same number of attempts."""

    caught_by = ("Lending", "Returning")

    def rewritten(self, outgoing: Outgoing) -> Outgoing:
        """Store every message without overrides."""
        return _with(outgoing, msgspec.structs.replace(outgoing.message, overrides=NO_OVERRIDES))


class IgnoresKeys(Rewriting):
    """Stores the same work as often as it is sent."""

    caught_by = ("Keys",)

    def rewritten(self, outgoing: Outgoing) -> Outgoing:
        """Store without the key."""
        return _with(outgoing, msgspec.structs.replace(outgoing.message, key=None))


class DeadKeepTheirKeys(HonestBroker):
    """A key that died once is never taken again."""

    caught_by = ("Keys",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Remember which key belongs to which message."""
        super().__init__(inner, clock)
        self.sent: dict[str, Message] = {}
        self.dead: dict[str | None, str] = {}

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Treat a message with a dead key as a duplicate."""
        self.sent |= {one.message.id: one.message for one in batch}
        answers = []
        for outgoing in batch:
            dead = self.dead.get(outgoing.message.key)
            answers += await self.inner.send([outgoing]) if dead is None else [Sent(dead, duplicate=True)]
        return answers

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Put aside, and remember the key."""
        for one in batch:
            message = self.sent[one.lease.id]
            if message.key is not None:
                self.dead[message.key] = message.id
        return await self.inner.dead_letter(batch)


class PromotesEarly(HonestBroker):
    """Makes a delayed message ready when nine tenths of its delay have passed."""

    caught_by = ("Delays",)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Shorten the delay by a tenth."""
        return await self.inner.send([_delayed(one, one.delay_seconds * 0.9) for one in batch])


class PromotesLate(HonestBroker):
    """Looks for due messages every now and then only."""

    caught_by = ("Delays",)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Lengthen the delay by some seconds."""
        return await self.inner.send([self._later(one) for one in batch])

    def _later(self, outgoing: Outgoing) -> Outgoing:
        return _delayed(outgoing, outgoing.delay_seconds + 5.0 if outgoing.delay_seconds else 0.0)


class NeverPromotes(HonestBroker):
    """Keeps what is delayed."""

    caught_by = ("Delays",)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Lengthen the delay a million times."""
        return await self.inner.send([_delayed(one, one.delay_seconds * 1e6) for one in batch])


def _with(outgoing: Outgoing, message: Message) -> Outgoing:
    return msgspec.structs.replace(outgoing, message=message)


def _delayed(outgoing: Outgoing, seconds: float) -> Outgoing:
    return msgspec.structs.replace(outgoing, delay_seconds=seconds)
