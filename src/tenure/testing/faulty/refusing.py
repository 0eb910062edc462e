"""Brokers that refuse too late, or drop what they refused."""

from collections.abc import Sequence

import msgspec

from tenure.broker import Refused
from tenure.message import Outgoing
from tenure.testing.faulty.honest import HonestBroker
from tenure.verdict import Reason


class TellsNoRefusalBeforehand(HonestBroker):
    """Refuses at `send` alone, when the handler that handed on has ended."""

    caught_by = ("Refusing",)

    def refusal(self, outgoing: Outgoing) -> Reason | None:  # noqa: ARG002 - of the contract
        """Refuse nothing beforehand."""
        return None


class RefusesWhatItWouldTake(HonestBroker):
    """Refuses every delay beforehand, and takes it at `send`."""

    caught_by = ("Refusing",)

    def refusal(self, outgoing: Outgoing) -> Reason | None:
        """Refuse every delay beforehand."""
        return Reason("delay_too_long", "no delays") if outgoing.delay_seconds else self.inner.refusal(outgoing)


class DropsWhatWasRefused(HonestBroker):
    """Keeps nothing of a hand-off that was refused after its parent was done."""

    caught_by = ("Refusing",)

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        """Store nothing."""


class PutsAsideOneOfEach(HonestBroker):
    """Keeps the first of a batch."""

    caught_by = ("Refusing",)

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        """Store only the first of the batch."""
        await self.inner.put_aside(batch[:1])


class PutsAsideWithoutAReason(HonestBroker):
    """Keeps what was refused, and not why."""

    caught_by = ("Refusing",)

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        """Store an empty reason."""
        await self.inner.put_aside([msgspec.structs.replace(one, reason=Reason("dead", "")) for one in batch])


class PutsAsideWhatIsInItsQueue(HonestBroker):
    """Takes a message that waits in its queue for one that was never sent."""

    caught_by = ("Refusing",)

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        """Delete the messages from their queue first."""
        await self.inner.delete([one.message.id for one in batch])
        await self.inner.put_aside(batch)


class SendsWhatWasRefused(HonestBroker):
    """Puts what was refused into its queue anyway, where it cannot be run as it was meant."""

    caught_by = ("Refusing",)

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        """Send the messages."""
        await self.inner.send([Outgoing(one.message) for one in batch])
