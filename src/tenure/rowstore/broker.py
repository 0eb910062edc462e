"""The broker port over rows: each verb is an act on entries, and then a word to the queue.

What a verb does is in the file named after the act: `sending`, `lending`, `holding`, `settling`, `returning`,
`operating`, `promoting`, `announcements`, `looking`, `counting`, `queue_list`; the truth about a message is its entry
(`entry.py`). An act that has begun goes on to its end, even if whoever asked for it is cancelled: it takes several
calls, and half of one helps nobody.
"""

from collections.abc import Mapping, Sequence

from tenure.announcement import READ_LIMIT, Announcement
from tenure.broker import (
    MOST_LEASES,
    RETIRE_BATCH,
    BrokerTraits,
    Depth,
    Erased,
    Examinable,
    Promoted,
    Refused,
    Sent,
    SweepRequest,
    Swept,
)
from tenure.client.limit_share import LimitShare
from tenure.client.waiting_estimate import WaitingEstimate
from tenure.examination import Area, Examination
from tenure.finding import Finding
from tenure.lease import Lease, LeaseRequest
from tenure.limit import NO_LIMITS, Limit
from tenure.message import MessageState, Outgoing
from tenure.query import Leases, Page, Query
from tenure.rowstore import (
    announcements,
    browsing,
    depths,
    held_leases,
    lending,
    operating,
    promoting,
    putting_aside,
    queue_list,
    receiving,
    returning,
    sending,
    settling,
    touch,
)
from tenure.rowstore.store import Store
from tenure.rowstore.traits import broker_traits
from tenure.rules.skew import examine_clock, find_skew
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Settlement
from tenure.table import ScanTable
from tenure.verdict import Reason


class RowStoreBroker:
    """Lends messages that a delivery queue brings."""

    def __init__(self, store: Store, share: LimitShare | None = None, estimate: WaitingEstimate | None = None) -> None:
        """Made by `connect`. `share`, `estimate`: of the same process."""
        self._store = store
        self._share = share or LimitShare(store.clock)
        self._estimate = estimate or WaitingEstimate(store.clock)
        self._traits = broker_traits(store.settings, store.queue.traits, can_scan=isinstance(store.table, ScanTable))

    @property
    def traits(self) -> BrokerTraits:
        return self._traits

    async def open(self) -> None:
        await self._store.open()

    async def close(self) -> None:
        await self._store.close()

    def twin(self) -> "RowStoreBroker":
        return RowStoreBroker(self._store.twin(), self._share, self._estimate)

    async def check(self, queues: Sequence[str]) -> list[Finding]:
        findings = await self._findings(queues)
        own, store = self._store.clock.wall(), self._store.table.wall()
        return [*findings, *find_skew(self._store.settings.state_place, own=own, store=store)]

    async def examine(self, queues: Sequence[str]) -> list[Examination]:
        store = self._store
        if isinstance(store.queue, Examinable):
            found = await store.queue.examine(queues)
        else:
            findings = tuple(await self._findings(queues))
            found = [Examination(id="store", area=Area.STORE, title="store", seen="it answers", findings=findings)]
        if isinstance(store.table, Examinable):  # the state is elsewhere
            found += await store.table.examine(queues)
        clocks = examine_clock(store.settings.state_place, own=store.clock.wall(), store=store.table.wall())
        return [*found, clocks]

    async def _findings(self, queues: Sequence[str]) -> list[Finding]:
        """What is unwise about how these queues are set up."""
        names = await queue_list.resolve(self._store, queues)
        physicals = [physical for queue in names for physical in self._store.queue.physical(queue)]
        return [one for physical in physicals for one in (await self._store.queue.facts(physical)).findings]

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        if not batch:
            return []
        store = self._store
        return await self._estimate.send(
            batch,
            lambda some: store.act(sending.send(store, some)),
            lambda queue: depths.waiting(store, queue),
            lambda ids: sending.known(store, ids),
        )

    def refusal(self, outgoing: Outgoing) -> Reason | None:
        return sending.refusal(self._store, outgoing)

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        await self._store.act(putting_aside.put_aside(self._store, batch))

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        return await self._share.lease(request, self._lease)

    async def _lease(self, request: LeaseRequest) -> list[Lease]:
        return await self._store.act(lending.lease(self._store, request))

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        await self._share.wait(queues, seconds, excluded, limits, self._wait)

    async def _wait(self, queues: Sequence[str], seconds: float, excluded: Sequence[str]) -> None:
        store = self._store
        if receiving.is_many(store, queues):
            store.listen()
            await store.prefetch.wait_among(lambda: receiving.served(store, queues, excluded), seconds)
            return
        names = [name for name in queues if name not in excluded]
        await store.prefetch.wait([physical for name in names for physical in store.queue.physical(name)], seconds)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        return self._share.touched(await self._store.act(touch.touch(self._store, leases))) if leases else []

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        told = await self._store.act(settling.ack(self._store, batch)) if batch else []
        return self._share.settled(batch, told)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        told = await self._store.act(settling.nack(self._store, batch)) if batch else []
        return self._share.settled(batch, told)

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        told = await self._store.act(settling.give_back(self._store, batch)) if batch else []
        return self._share.settled(batch, told, returns_tokens=True)

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        told = await self._store.act(settling.dead_letter(self._store, batch)) if batch else []
        return self._share.settled(batch, told)

    # A message is found by its id alone, in one look: the queue is no hint here.

    async def redrive(self, ids: Sequence[str], queue: str | None = None) -> list[str]:  # noqa: ARG002
        return await self._store.act(operating.redrive(self._store, ids)) if ids else []

    async def delete(self, ids: Sequence[str], queue: str | None = None) -> list[str]:  # noqa: ARG002
        return await self._store.act(operating.delete(self._store, ids)) if ids else []

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:  # noqa: ARG002
        self._share.gone(ids)
        return await self._store.act(operating.cancel(self._store, ids)) if ids else []

    async def promote(self, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:  # noqa: ARG002
        return await self._store.act(promoting.promote(self._store, ids)) if ids else []

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        return await self._store.act(announcements.read(self._store.rows, after, limit))

    async def announced(self, batch: Sequence[Announcement]) -> None:
        if batch:
            await self._store.act(announcements.forget(self._store.rows, batch))

    async def sweep(self, request: SweepRequest) -> Swept:
        return self._returned(await self._store.act(returning.sweep(self._store, request)))

    async def held(self, owner: str, request_id: str | None = None) -> list[Lease]:
        return await touch.held(self._store, owner, request_id)

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        return self._returned(await self._store.act(returning.retire(self._store, owner, limit, crashed=crashed)))

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:  # noqa: ARG002
        return await touch.find(self._store, id, owner, fence)

    async def leases(self, queues: Sequence[str] | None = None, *, limit: int = MOST_LEASES) -> Leases:
        return await held_leases.leases(self._store, queues, limit)

    async def browse(self, query: Query) -> Page:
        return await browsing.browse(self._store, query, self._traits)

    async def queues(self) -> list[str]:
        return await queue_list.queues(self._store)

    async def forget_queue(self, queue: str) -> bool:
        """Take a queue off Tenure's list. The physical queue is never deleted: it may be somebody else's too."""
        return await self._store.act(queue_list.forget(self._store, queue))

    async def erase(self, queue: str, after: str = "") -> Erased:  # noqa: ARG002 - of the contract
        return Erased(0)

    async def depth(self, queues: Sequence[str] | None = None) -> list[Depth]:
        return await depths.depth(self._store, queues)

    def _returned(self, swept: Swept) -> Swept:
        self._share.gone((*swept.returned, *swept.dead))
        return swept
