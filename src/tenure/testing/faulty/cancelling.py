"""Brokers that cancel too little, too much, or without telling. The ledgers and records that do so are here too."""

from collections.abc import Sequence

import msgspec

from tenure.broker import Broker, Sent
from tenure.claim import Seal, Token
from tenure.lease import Lease, LeaseState
from tenure.message import Message, MessageState, Outgoing
from tenure.record import Record
from tenure.settlement import Ack, GiveBack, Outcome, Settlement
from tenure.state import State
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.honest_state import HonestLedger, HonestRecords
from tenure.testing.faulty.lending import Remembering
from tenure.testing.virtual import VirtualClock


class _RememberingCancels(HonestBroker):
    """Base of faults: knows which held messages were cancelled."""

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin with an empty set of cancelled ids."""
        super().__init__(inner, clock)
        self.cancelled: set[str] = set()

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:
        """Cancel, and remember which held messages were cancelled."""
        answers = await self.inner.cancel(ids, queue)
        self.cancelled |= {id for id, met in zip(ids, answers, strict=True) if met == MessageState.LEASED}
        return answers


class CancelSparesTheHeld(Remembering):
    """Says that a held message is cancelled, and leaves it to its holder."""

    caught_by = ("Cancelling",)

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:
        """Cancel only messages that no worker holds."""
        return [await self._cancel(id, queue) for id in ids]

    async def _cancel(self, id: str, queue: str | None) -> MessageState | None:
        lease = self.latest.get(id)
        if lease is not None and id in {one.id for one in await self.inner.held(lease.owner)}:
            return MessageState.LEASED
        return (await self.inner.cancel([id], queue))[0]


class AcksWhatWasCancelled(_RememberingCancels):
    """Tells the holder that its late ack took effect."""

    caught_by = ("Cancelling",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Answer a late ack with success."""
        settlements = await self.inner.ack(batch)
        pairs = zip(batch, settlements, strict=True)
        return [Settlement(Outcome.DELETED) if ack.lease.id in self.cancelled else one for ack, one in pairs]


class TouchesWhatWasCancelled(_RememberingCancels):
    """Lets the holder believe that it still holds."""

    caught_by = ("Cancelling",)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Answer that a cancelled lease is still held."""
        touched = await self.inner.touch(leases)
        return [
            msgspec.structs.replace(one, state=LeaseState.HELD) if one.id in self.cancelled else one for one in touched
        ]


class CancelIsNotCounted(Remembering):
    """Takes a held message back in two steps, of which no worker hears."""

    caught_by = ("Cancelling",)

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:
        """Give it back for the holder, then delete it."""
        return [await self._cancel(id, queue) for id in ids]

    async def _cancel(self, id: str, queue: str | None) -> MessageState | None:
        held = self.latest.get(id)
        if held is None or not (await self.inner.give_back([GiveBack(held)]))[0].took_effect:
            return (await self.inner.cancel([id], queue))[0]
        await self.inner.delete([id])
        return MessageState.LEASED


class CancelKeepsTheKey(HonestBroker):
    """A key that was cancelled once is never taken again."""

    caught_by = ("Cancelling",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Remember which key belongs to which message."""
        super().__init__(inner, clock)
        self.sent: dict[str, Message] = {}
        self.taken: dict[str | None, str] = {}

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Treat a message with a cancelled key as a duplicate."""
        self.sent |= {one.message.id: one.message for one in batch}
        answers = []
        for outgoing in batch:
            taken = self.taken.get(outgoing.message.key)
            answers += await self.inner.send([outgoing]) if taken is None else [Sent(taken, duplicate=True)]
        return answers

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:
        """Cancel, and remember the keys."""
        answers = await self.inner.cancel(ids, queue)
        met = [self.sent[id] for id, state in zip(ids, answers, strict=True) if state is not None]
        self.taken |= {message.key: message.id for message in met if message.key is not None}
        return answers


class CancelsTheDead(HonestBroker):
    """Removes dead letters along with the living."""

    caught_by = ("Cancelling",)

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:
        """Cancel, and delete dead letters too."""
        answers = await self.inner.cancel(ids, queue)
        dead = set(await self.inner.delete(ids, queue))
        return [MessageState.DEAD if id in dead else met for id, met in zip(ids, answers, strict=True)]


class CancelAnswersById(HonestBroker):
    """Answers for the second of two equal ids as for the first."""

    caught_by = ("Cancelling",)

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:
        """Answer from one table by id."""
        unique = list(dict.fromkeys(ids))
        met = dict(zip(unique, await self.inner.cancel(unique, queue), strict=True))
        return [met[id] for id in ids]


class CancelLooksFirst(Remembering):
    """Answers with what it saw before it acted, and of many at once each sees the same."""

    caught_by = ("Cancelling",)

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:
        """Look at the state first, then cancel, and answer with the look."""
        seen = {id for id in ids if id in self.latest and await self._is_held(self.latest[id])}
        answers = await self.inner.cancel(ids, queue)
        first = dict(zip(reversed(ids), range(len(ids) - 1, -1, -1), strict=True))
        return [
            MessageState.LEASED if ids[place] in seen and first[ids[place]] == place else met
            for place, met in enumerate(answers)
        ]

    async def _is_held(self, lease: Lease) -> bool:
        return lease.id in {one.id for one in await self.inner.held(lease.owner)}


class _KnowingRecords(HonestLedger):
    """Base of faults: can tell which messages were cancelled."""

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Look into the records, too."""
        super().__init__(inner, clock)
        self.records = inner.records

    async def was_cancelled(self, token: Token) -> bool:
        """Whether the message of this claim is cancelled."""
        record = await self.records.get(token.id)
        return record is not None and record.state == MessageState.CANCELLED


class RenewsWhatWasCancelled(_KnowingRecords):
    """Keeps the claim of a cancelled message alive."""

    caught_by = ("Cancelling",)

    async def renew(self, tokens: Sequence[Token]) -> list[bool]:
        """Answer that the claim of a cancelled message goes on."""
        pairs = zip(tokens, await self.inner.renew(tokens), strict=True)
        return [ok or await self.was_cancelled(token) for token, ok in pairs]


class ReleasesWhatWasCancelled(_KnowingRecords):
    """Takes the release of a cancelled message for one that was repeated."""

    caught_by = ("Cancelling",)

    async def release(self, tokens: Sequence[Token]) -> list[bool]:
        """Answer that the release of a cancelled message worked."""
        pairs = zip(tokens, await self.inner.release(tokens), strict=True)
        return [ok or await self.was_cancelled(token) for token, ok in pairs]


class SealsWhatWasCancelled(_KnowingRecords):
    """Tells the holder of a cancelled message that it is done."""

    caught_by = ("Cancelling",)

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Answer that the seal of a cancelled message worked."""
        pairs = zip(batch, await self.inner.seal(batch), strict=True)
        return [ok or await self.was_cancelled(one.token) for one, ok in pairs]


class ForgetsWhoHeldIt(HonestRecords):
    """Records that it was cancelled, and not under whose hands."""

    caught_by = ("Cancelling",)

    async def get(self, id: str, queue: str | None = None) -> Record | None:
        """Return the record without the holder of a cancelled message."""
        record = await self.inner.get(id, queue)
        if record is None or record.state != MessageState.CANCELLED:
            return record
        last = msgspec.structs.replace(record.history[-1], owner=None)
        return msgspec.structs.replace(record, history=(*record.history[:-1], last))


class RemovesWithoutATrace(HonestRecords):
    """Does not record that a message was deleted."""

    caught_by = ("DeadLetters",)

    async def get(self, id: str, queue: str | None = None) -> Record | None:
        """Return the record without its deletes."""
        record = await self.inner.get(id, queue)
        if record is None:
            return None
        history = tuple(one for one in record.history if one.how != "cancelled")
        return msgspec.structs.replace(record, history=history)
