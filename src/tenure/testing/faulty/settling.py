"""Brokers that settle for the wrong holder, or the wrong way."""

import asyncio
from collections.abc import Sequence

import msgspec

from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.lending import Remembering
from tenure.verdict import Reason


class AcksForAnyone(Remembering):
    """Deletes a message for every caller that says that it is done, also while another owner holds it."""

    caught_by = ("Fencing",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Ack with the lease that is held now, as XACK does."""
        return await self.inner.ack([msgspec.structs.replace(one, lease=self.now_held(one.lease)) for one in batch])


class StaleAckDeletes(HonestBroker):
    """Deletes a message that was returned and is not leased."""

    caught_by = ("Fencing",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Delete the message by id if its lease is gone."""
        return [await self._ack(one) for one in batch]

    async def _ack(self, ack: Ack) -> Settlement:
        (settlement,) = await self.inner.ack([ack])
        if settlement.outcome == Outcome.ALREADY_GONE and await self.inner.delete([ack.lease.id]):
            return Settlement(Outcome.DELETED)
        return settlement


class NacksForAnyone(Remembering):
    """Returns a message for every caller that says that it failed."""

    caught_by = ("Fencing",)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Nack with the lease that is held now."""
        return await self.inner.nack([msgspec.structs.replace(one, lease=self.now_held(one.lease)) for one in batch])


class GivesBackForAnyone(Remembering):
    """Returns a message for every caller that gives it back."""

    caught_by = ("Fencing",)

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """Give back with the lease that is held now."""
        held = [msgspec.structs.replace(one, lease=self.now_held(one.lease)) for one in batch]
        return await self.inner.give_back(held)


class DeadLettersForAnyone(Remembering):
    """Makes a message a dead letter for every caller that gives it up."""

    caught_by = ("Fencing",)

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Put aside with the lease that is held now."""
        held = [msgspec.structs.replace(one, lease=self.now_held(one.lease)) for one in batch]
        return await self.inner.dead_letter(held)


class SaysDeletedToEverybody(HonestBroker):
    """Answers every ack with success, as some queues do, while it says that its receipts fence."""

    caught_by = ("Fencing", "Settling")

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Ack, and answer that every message was deleted."""
        await self.inner.ack(batch)
        return [Settlement(Outcome.DELETED) for _ in batch]


class SaysNothingIsTakenOver(HonestBroker):
    """Does not say that another holder has the message now."""

    caught_by = ("Fencing",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Answer that the message is gone instead of taken over."""
        return [
            Settlement(Outcome.ALREADY_GONE) if one.outcome == Outcome.TAKEN_OVER else one
            for one in await self.inner.ack(batch)
        ]


class LosesResults(HonestBroker):
    """Acks, and forgets the result."""

    caught_by = ("Settling",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Ack without the result."""
        return await self.inner.ack([msgspec.structs.replace(one, result=b"") for one in batch])


class CountsGiveBacks(HonestBroker):
    """Counts an attempt for a message that was not run."""

    caught_by = ("Settling",)

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """Nack instead of giving back."""
        reason = Reason("given_back", "it came back")
        return await self.inner.nack([Nack(one.lease, one.delay_seconds, reason) for one in batch])


class GiveBackLosesItsReason(HonestBroker):
    """Returns a message, and does not say why."""

    caught_by = ("Settling",)

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """Give back without the reason."""
        return await self.inner.give_back([msgspec.structs.replace(one, reason=None) for one in batch])


class GiveBackWithAReasonCounts(HonestBroker):
    """Takes a message that was not run for one that failed, if a reason is given."""

    caught_by = ("Settling",)

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """Nack if a reason is given."""
        return [await self._give_back(one) for one in batch]

    async def _give_back(self, word: GiveBack) -> Settlement:
        if word.reason is None:
            return (await self.inner.give_back([word]))[0]
        return (await self.inner.nack([Nack(word.lease, word.delay_seconds, word.reason)]))[0]


class ForgetsAttempts(HonestBroker):
    """Returns a failed message without counting."""

    caught_by = ("Settling",)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Give back instead of nacking."""
        return await self.inner.give_back([GiveBack(one.lease, one.delay_seconds) for one in batch])


class IgnoresRetryDelays(HonestBroker):
    """Lends a failed message again at once."""

    caught_by = ("Delays",)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Nack without the delay."""
        return await self.inner.nack([msgspec.structs.replace(one, delay_seconds=0.0) for one in batch])


class DropsHandOffs(HonestBroker):
    """Acks, and forgets what was to be handed on."""

    caught_by = ("Settling",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Ack without the hand-offs."""
        return await self.inner.ack([msgspec.structs.replace(one, handoffs=()) for one in batch])


class HandsOffBeforeTheAck(HonestBroker):
    """Sends what is handed on first, and then finds that the holder was stale."""

    caught_by = ("Settling",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Send the hand-offs, then ack."""
        await self.inner.send([handoff for one in batch for handoff in one.handoffs])
        return await self.inner.ack(batch)


class NackByCopyLoses(HonestBroker):
    """Deletes the original before the copy is confirmed; a crash in between loses the message."""

    caught_by = ("Crashing",)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Delete the original, then send the copy."""
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            await self.inner.ack([Ack(one.lease) for one in batch])
            raise
        return await self.inner.nack(batch)
