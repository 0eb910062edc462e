"""Brokers that are wrong about what waits, and so about what is to be unique."""

import math
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from tenure.broker import Broker, Query, Sent
from tenure.claim import Scope, digest
from tenure.client.browse_all import browse_all
from tenure.envelope import decode
from tenure.message import Message, MessageState, Outgoing
from tenure.settlement import Ack, Settlement
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.lending import Remembering
from tenure.testing.faulty.sending import Rewriting
from tenure.testing.virtual import VirtualClock

_WAITING = (MessageState.READY, MessageState.DELAYED)


class _LookingAround(HonestBroker):
    """Base of faults: can find messages by their word."""

    async def find_alike(
        self, like: Message, states: Sequence[MessageState], same: Callable[[Message], object]
    ) -> list[str]:
        """Messages in `states` with the `unique` value of `like`, and the same in another way; by arrival."""
        browsed = [one async for one in browse_all(self.inner, Query(states=tuple(states)))]
        # The harness numbers its messages.
        messages = [decode(one.envelope) for one in sorted(browsed, key=lambda one: one.id)]
        return [one.id for one in messages if one.unique == like.unique and same(one) == same(like)]


class _SendingSingly(_LookingAround):
    """Base of faults: sends one after the other, those that are to be unique in its own way."""

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Send one message after the other."""
        return [await self._send(one) for one in batch]

    async def _send(self, outgoing: Outgoing) -> Sent:
        if outgoing.message.unique is not None:
            return await self.unique(outgoing)
        return (await self.inner.send([outgoing]))[0]

    async def unique(self, outgoing: Outgoing) -> Sent:
        """Send one message with `unique`."""
        return (await self.inner.send([outgoing]))[0]


class IgnoresUnique(Rewriting):
    """Stores every message, whatever waits."""

    caught_by = ("Uniqueness",)

    def rewritten(self, outgoing: Outgoing) -> Outgoing:
        """Store without `unique`."""
        return _plain(outgoing)


class UniqueIgnoresTheWindow(HonestBroker):
    """Takes a waiting message for the new one, however old it is."""

    caught_by = ("Uniqueness",)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Send without the window."""
        return await self.inner.send([msgspec.structs.replace(one, unique_seconds=None) for one in batch])


class UniqueIgnoresExpiry(_SendingSingly):
    """Takes a waiting message for the new one though it expires earlier: then perhaps neither is run."""

    caught_by = ("Uniqueness",)

    async def unique(self, outgoing: Outgoing) -> Sent:
        """Accept any waiting message within the window, even one that expires earlier."""
        message, seconds = outgoing.message, outgoing.unique_seconds
        oldest = -math.inf if seconds is None else message.sent_at - seconds
        same = lambda one: (one.queue, one.task, one.sent_at >= oldest)  # noqa: E731
        if not await self.find_alike(message, _WAITING, same):
            return await super().unique(outgoing)
        # Whatever waits lasts longer than one that has expired long ago; that one is not stored.
        short = msgspec.structs.replace(message, expires_at=0.0)
        return await super().unique(msgspec.structs.replace(outgoing, message=short))


class UniqueNeedsTheSamePayload(Rewriting):
    """Stores a second message because it says something else."""

    caught_by = ("Uniqueness",)

    def rewritten(self, outgoing: Outgoing) -> Outgoing:
        """Make the payload a part of `unique`."""
        message = outgoing.message
        if message.unique is None:
            return outgoing
        word = f"{message.unique} {digest(message)}"
        return msgspec.structs.replace(outgoing, message=msgspec.structs.replace(message, unique=word))


class UniqueCountsTheHeld(_SendingSingly):
    """Takes a message that is being run for the new one, which is then never run."""

    caught_by = ("Uniqueness",)

    async def unique(self, outgoing: Outgoing) -> Sent:
        """Accept a leased message as a duplicate."""
        held = await self.find_alike(outgoing.message, [MessageState.LEASED], lambda one: (one.queue, one.task))
        return Sent(held[0], duplicate=True) if held else await super().unique(outgoing)


class UniqueAcrossQueues(_SendingSingly):
    """Takes a message of another queue for the new one."""

    caught_by = ("Uniqueness",)

    async def unique(self, outgoing: Outgoing) -> Sent:
        """Accept a message of the same task in any queue."""
        others = await self.find_alike(outgoing.message, _WAITING, lambda one: one.task)
        same = await self.find_alike(outgoing.message, _WAITING, lambda one: (one.queue, one.task))
        if others and not same:
            return Sent(others[0], duplicate=True)
        return await super().unique(outgoing)


class UniqueAcrossTasks(_SendingSingly):
    """Takes a message of another task for the new one."""

    caught_by = ("Uniqueness",)

    async def unique(self, outgoing: Outgoing) -> Sent:
        """Accept a message of the same queue with any task."""
        others = await self.find_alike(outgoing.message, _WAITING, lambda one: one.queue)
        same = await self.find_alike(outgoing.message, _WAITING, lambda one: (one.queue, one.task))
        if others and not same:
            return Sent(others[0], duplicate=True)
        return await super().unique(outgoing)


class UniqueLooksThenStores(_SendingSingly):
    """Looks whether one waits, and stores: of two at once, both saw nothing."""

    caught_by = ("Uniqueness",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without sends under way."""
        super().__init__(inner, clock)
        self.storing: Counter[tuple[str, str, str | None]] = Counter()

    async def unique(self, outgoing: Outgoing) -> Sent:
        """Look and store in two steps."""
        message = outgoing.message
        if await self.find_alike(message, _WAITING, lambda one: (one.queue, one.task)):
            return await super().unique(outgoing)
        word = (message.queue, message.task, message.unique)
        self.storing[word] += 1
        try:
            # Another send that looked before the first one had stored does not look again.
            return await super().unique(outgoing if self.storing[word] == 1 else _plain(outgoing))
        finally:
            self.storing[word] -= 1


class UniqueForgetsWhatComesBack(Remembering):
    """Counts what never ran, and not what waits for its retry."""

    caught_by = ("Uniqueness",)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Ignore waiting messages that were lent before."""
        answers = await self.inner.send(batch)
        for place, one in enumerate(batch):
            if answers[place].id != one.message.id and answers[place].id in self.latest:
                answers[place : place + 1] = await self.inner.send([_plain(one)])
        return answers


class HandOffsIgnoreUnique(HonestBroker):
    """Stores what is handed on, whatever waits."""

    caught_by = ("Uniqueness",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Ack with hand-offs without `unique`."""
        return await self.inner.ack(
            [msgspec.structs.replace(one, handoffs=tuple(map(_plain, one.handoffs))) for one in batch]
        )


class UniqueAnswersWithItsOwnId(_SendingSingly):
    """Says that the message is known, and names one that is not there."""

    caught_by = ("Uniqueness",)

    async def unique(self, outgoing: Outgoing) -> Sent:
        """Answer with the new message's own id."""
        answer = await super().unique(outgoing)
        return msgspec.structs.replace(answer, id=outgoing.message.id)


class UniqueAnswersWithTheNewest(_SendingSingly):
    """Answers with the newest of several waiting messages."""

    caught_by = ("Uniqueness",)

    async def unique(self, outgoing: Outgoing) -> Sent:
        """Answer with the newest waiting message."""
        answer = await super().unique(outgoing)
        waiting = await self.find_alike(outgoing.message, _WAITING, lambda one: (one.queue, one.task))
        return Sent(waiting[-1], duplicate=True) if answer.duplicate and answer.id in waiting else answer


class UniqueTakesTheKey(_SendingSingly):
    """Registers the key of a message that it did not store."""

    caught_by = ("Uniqueness",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without taken keys."""
        super().__init__(inner, clock)
        self.taken: dict[Scope, str] = {}

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """A key that was taken so belongs to a message that was never stored."""
        keys = [self.taken.get(Scope.of(one.message)) for one in batch]
        answers = await super().send([one for one, taken in zip(batch, keys, strict=True) if taken is None])
        stored = iter(answers)
        return [next(stored) if taken is None else Sent(taken, duplicate=True) for taken in keys]

    async def unique(self, outgoing: Outgoing) -> Sent:
        """Find a waiting message, and register the key of one that was not stored."""
        answer = await super().unique(outgoing)
        if answer.duplicate and outgoing.message.key is not None:
            self.taken[Scope.of(outgoing.message)] = answer.id
        return answer


def _plain(outgoing: Outgoing) -> Outgoing:
    """The same message, with nothing that is to be unique."""
    return msgspec.structs.replace(outgoing, message=msgspec.structs.replace(outgoing.message, unique=None))
