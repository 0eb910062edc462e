"""Brokers that promote too little, too much, or more than once."""

from collections.abc import Sequence

import msgspec

from tenure.broker import Broker, Promoted, Sent
from tenure.envelope import decode, encode
from tenure.lease import Lease, LeaseRequest
from tenure.message import MessageState, Outgoing
from tenure.settlement import GiveBack
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.lending import Remembering
from tenure.testing.virtual import VirtualClock


class PromoteDoesNothing(HonestBroker):
    """Says that it is ready, and lets it wait for its time."""

    caught_by = ("Promoting",)

    async def promote(self, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:  # noqa: ARG002 - of the port
        """Answer as if delayed messages were ready now, but promote none."""
        return [Promoted(MessageState.DELAYED) for _ in ids]


class PromoteTakesFromTheHolder(Remembering):
    """Makes what is held ready, too."""

    caught_by = ("Promoting",)

    async def promote(self, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:
        """Promote, and take messages from their holders."""
        answers = await self.inner.promote(ids, queue)
        held = [self.latest[id] for id, one in zip(ids, answers, strict=True) if one.was is MessageState.LEASED]
        await self.inner.give_back([GiveBack(lease) for lease in held])
        return answers


class PromoteRedrives(HonestBroker):
    """Sends dead letters back along with the delayed."""

    caught_by = ("Promoting",)

    async def promote(self, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:
        """Promote, and redrive dead letters."""
        answers = await self.inner.promote(ids, queue)
        await self.inner.redrive(ids, queue)
        return answers


class PromoteForgetsRetries(HonestBroker):
    """Makes ready only what was sent for later."""

    caught_by = ("Promoting",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin with an empty set of lent ids."""
        super().__init__(inner, clock)
        self.lent: set[str] = set()

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease, and remember the ids."""
        leases = await self.inner.lease(request)
        self.lent |= {one.id for one in leases}
        return leases

    async def promote(self, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:
        """Promote only messages that were never lent."""
        fresh = [id for id in ids if id not in self.lent]
        met = dict(zip(fresh, await self.inner.promote(fresh, queue), strict=True))
        return [met.get(id, Promoted(MessageState.DELAYED)) for id in ids]


class PromoteSendsACopy(HonestBroker):
    """Sends a second message instead, so that both run."""

    caught_by = ("Promoting",)

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without delayed messages."""
        super().__init__(inner, clock)
        self.delayed: dict[str, bytes] = {}
        self.first: dict[str, str] = {}

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Send, and remember the delayed messages."""
        self.delayed |= {one.message.id: encode(one.message) for one in batch if one.delay_seconds > 0}
        return await self.inner.send(batch)

    async def promote(self, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:
        """Send a copy without a delay."""
        known = [id for id in ids if id in self.delayed]
        copies = [msgspec.structs.replace(decode(self.delayed.pop(id)), id=f"{id[:-1]}c") for id in known]
        self.first |= {copy.id: id for copy, id in zip(copies, known, strict=True)}
        await self.inner.send([Outgoing(copy) for copy in copies])
        others = await self.inner.promote([id for id in ids if id not in known], queue)
        rest = iter(others)
        return [Promoted(MessageState.DELAYED) if id in known else next(rest) for id in ids]

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend a copy under the first id."""
        return [
            msgspec.structs.replace(one, id=self.first.get(one.id, one.id)) for one in await self.inner.lease(request)
        ]


class PromoteAnswersById(HonestBroker):
    """Answers for the second of two equal ids as for the first."""

    caught_by = ("Promoting",)

    async def promote(self, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:
        """Answer from one table by id."""
        once = list(dict.fromkeys(ids))
        met = dict(zip(once, await self.inner.promote(once, queue), strict=True))
        return [met[id] for id in ids]
