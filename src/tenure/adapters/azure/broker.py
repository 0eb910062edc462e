"""The broker port on an account: queues deliver, the table knows.

What a verb does is in the file named after the act: `sending`, `lending`, `touching`, `settling`, `returning`,
`operating`, `announcements`, `browsing`, `held_leases`, `looking`, `waiting`. `entry.py` says what the table knows of a
message, `known_queues.py` which queues there are. An id tells where its rows lie, so a hint at its queue is not used.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from tenure.adapters.azure import (
    announcements,
    browsing,
    examination,
    forgetting,
    held_leases,
    holding,
    looking,
    operating,
    promoting,
    putting_aside,
    returning,
    sending,
    settling,
    touching,
    waiting,
)
from tenure.adapters.azure.lending import Lending
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.traits import traits
from tenure.announcement import READ_LIMIT, Announcement
from tenure.broker import (
    MOST_LEASES,
    RETIRE_BATCH,
    BrokerTraits,
    Depth,
    Erased,
    Promoted,
    Refused,
    Sent,
    SweepRequest,
    Swept,
)
from tenure.client.limit_share import LimitShare
from tenure.client.waiting_estimate import WaitingEstimate
from tenure.examination import Examination
from tenure.finding import Finding
from tenure.lease import Lease, LeaseRequest
from tenure.limit import NO_LIMITS, Limit
from tenure.message import MessageState, Outgoing
from tenure.query import Leases, Page, Query
from tenure.rules.skew import examine_clock, find_skew
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Settlement
from tenure.verdict import Reason


class AzureBroker:
    """Lends messages of Azure Storage Queues."""

    def __init__(self, store: Store, share: LimitShare | None = None, estimate: WaitingEstimate | None = None) -> None:
        """Made by `connect`. `share`, `estimate`: of the same process."""
        self._store = store
        self._share = share or LimitShare(store.clock)
        self._estimate = estimate or WaitingEstimate(store.clock)
        self._traits = traits(store.options)
        self._lending = Lending(store, partial(returning.take_back, store))

    @property
    def traits(self) -> BrokerTraits:
        """What this broker can and cannot do."""
        return self._traits

    async def open(self) -> None:
        """Connect, and make what must exist where that was asked for."""
        await self._store.open()

    async def close(self) -> None:
        """Let go of every connection."""
        await self._store.close()

    def twin(self) -> "AzureBroker":
        """Connections of its own for another loop; what is remembered of messages is shared."""
        return AzureBroker(self._store.twin(), self._share, self._estimate)

    async def check(self, queues: Sequence[str]) -> list[Finding]:  # noqa: ARG002 - of the contract
        """Nothing can be set up wrongly there; our clock can."""
        store = self._store
        return find_skew(store.options.place, own=store.clock.wall(), store=store.wall())

    async def examine(self, queues: Sequence[str]) -> list[Examination]:
        """How the account and its queues are set up, and the time there."""
        store = self._store
        clocks = examine_clock(store.options.place, own=store.clock.wall(), store=store.wall())
        return [*await examination.examine(store, queues), clocks]

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Store messages, each once."""
        store = self._store
        return await self._estimate.send(
            batch, partial(sending.send, store), partial(looking.waiting, store), partial(sending.known, store)
        )

    def refusal(self, outgoing: Outgoing) -> Reason | None:
        """Why `send` would refuse it."""
        return sending.refusal(self._store, outgoing)

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        """Store refused hand-offs as dead letters."""
        await putting_aside.put_aside(self._store, batch)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend up to `want` messages."""
        return await self._share.lease(request, self._lending.lease)

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Return when something may have become leasable, or after `seconds`."""
        await self._share.wait(queues, seconds, excluded, limits, partial(waiting.wait, self._store))

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Set each deadline to now + `lease.seconds`."""
        return self._share.touched(await touching.touch(self._store, leases))

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """The work is done."""
        return self._share.settled(batch, await settling.ack(self._store, batch))

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """The attempt failed."""
        return self._share.settled(batch, await settling.nack(self._store, batch))

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """It was not run."""
        told = await settling.give_back(self._store, batch)
        return self._share.settled(batch, told, returns_tokens=True)

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Put aside, with raw bytes, counters and reason."""
        return self._share.settled(batch, await settling.dead_letter(self._store, batch))

    async def redrive(self, ids: Sequence[str], queue: str | None = None) -> list[str]:  # noqa: ARG002
        """Send dead letters back to their queue."""
        return await operating.redrive(self._store, ids)

    async def delete(self, ids: Sequence[str], queue: str | None = None) -> list[str]:  # noqa: ARG002
        """Cancel messages that nobody holds."""
        return await operating.delete(self._store, ids)

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:  # noqa: ARG002
        """Cancel messages, whoever holds them."""
        self._share.gone(ids)
        return await operating.cancel(self._store, ids)

    async def promote(self, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:  # noqa: ARG002
        """Make delayed messages ready now."""
        return await promoting.promote(self._store, ids)

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        """Endings that wait to be announced."""
        return await announcements.read(self._store, after, limit)

    async def announced(self, batch: Sequence[Announcement]) -> None:
        """Forget these announcements."""
        await announcements.forget(self._store, batch)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Return overdue leases."""
        return self._returned(await returning.sweep(self._store, request))

    async def held(self, owner: str, request_id: str | None = None) -> list[Lease]:
        """What `owner` holds."""
        return await holding.held(self._store, owner, request_id)

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:  # noqa: ARG002
        """The lease that `owner` has on message `id` under `fence`."""
        return await held_leases.find(self._store, id, owner, fence)

    async def leases(self, queues: Sequence[str] | None = None, *, limit: int = MOST_LEASES) -> Leases:
        """What is held now, soonest deadline first. The price: a query for each 1000 leases, and one look-up."""
        return await held_leases.leases(self._store, queues, limit)

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Ban the nonce of `owner`, and return what it holds."""
        return self._returned(await returning.retire(self._store, owner, limit, crashed=crashed))

    async def browse(self, query: Query) -> Page:
        """Look at messages: those that are leased or dead, and the others with `query.scan`.

        Rows lie in the order of their ids, so up to `look_at` of them are read and put in order for each page: a query
        for each 1000, and a look-up for each body that is shown. Where a state has more rows than that, each so many
        are in order. A page of 100 of 10 000 rows is 110 requests, 0.0004 cents (`scanning.py`).
        """
        return await browsing.browse(self._store, query)

    async def queues(self) -> list[str]:
        """The queues on Tenure's list: those that something was sent to, or leased from. One query for each 1000."""
        return await self._store.known_queues.listed()

    async def forget_queue(self, queue: str) -> bool:
        """Take a queue off Tenure's list if nothing is in it. The storage queue itself is never deleted."""
        return await forgetting.forget(self._store, queue)

    async def erase(self, queue: str, after: str = "") -> Erased:  # noqa: ARG002 - of the contract
        """Nothing: what has ended cannot be found by its queue (trait `erases`)."""
        return Erased(0)

    async def depth(self, queues: Sequence[str] | None = None) -> list[Depth]:
        """How much lies in each queue."""
        return await looking.depth(self._store, queues)

    def _returned(self, swept: Swept) -> Swept:
        """Note what was returned to its queue."""
        self._share.gone((*swept.returned, *swept.dead))
        return swept
