"""The broker port on SQS: each verb is an act on entries, and then a word to the queue.

What a verb does is in the file named after the act: `sending`, `lending`, `holding`, `settling`, `returning`,
`operating`, `looking`; the truth about a message is its entry (`entry.py`). An act that has begun goes on to its end,
even if whoever asked for it is cancelled: it takes several calls, and half of one helps nobody.
"""

from collections.abc import Sequence

from tenure.adapters.aws import holding, lending, looking, operating, returning, sending, settling
from tenure.adapters.aws.store import Store
from tenure.adapters.aws.traits import traits
from tenure.broker import RETIRE_BATCH, BrokerTraits, Browsed, Depth, Sent, SweepRequest, Swept
from tenure.finding import Finding
from tenure.lease import Lease, LeaseRequest
from tenure.message import MessageState, Outgoing
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Settlement


class SqsBroker:
    """Lends messages from SQS."""

    def __init__(self, store: Store) -> None:
        """Made by `connect`."""
        self._store = store
        self._traits = traits(store.options)

    @property
    def traits(self) -> BrokerTraits:
        return self._traits

    async def open(self) -> None:
        await self._store.open()

    async def close(self) -> None:
        await self._store.close()

    def twin(self) -> "SqsBroker":
        return SqsBroker(self._store.twin())

    async def check(self, queues: Sequence[str]) -> list[Finding]:
        spots = [spot for queue in queues for spot in self._store.spots.of(queue)]
        return [one for spot in spots for one in (await self._store.spots.known(spot)).findings]

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        return await self._store.act(sending.send(self._store, batch)) if batch else []

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        return await self._store.act(lending.lease(self._store, request))

    async def wait(self, queues: Sequence[str], seconds: float) -> None:
        spots = [spot for queue in queues for spot in self._store.spots.of(queue)]
        await self._store.stash.wait(spots, seconds)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        return await self._store.act(holding.touch(self._store, leases)) if leases else []

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        return await self._store.act(settling.ack(self._store, batch)) if batch else []

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        return await self._store.act(settling.nack(self._store, batch)) if batch else []

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        return await self._store.act(settling.give_back(self._store, batch)) if batch else []

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        return await self._store.act(settling.dead_letter(self._store, batch)) if batch else []

    async def redrive(self, ids: Sequence[str]) -> list[str]:
        return await self._store.act(operating.redrive(self._store, ids)) if ids else []

    async def delete(self, ids: Sequence[str]) -> list[str]:
        return await self._store.act(operating.delete(self._store, ids)) if ids else []

    async def cancel(self, ids: Sequence[str]) -> list[MessageState | None]:
        return await self._store.act(operating.cancel(self._store, ids)) if ids else []

    async def sweep(self, request: SweepRequest) -> Swept:
        return await self._store.act(returning.sweep(self._store, request))

    async def held(self, owner: str, request_id: str | None = None) -> list[Lease]:
        return await holding.held(self._store, owner, request_id)

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        return await self._store.act(returning.retire(self._store, owner, limit, crashed=crashed))

    async def browse(self, queue: str, state: MessageState, *, limit: int = 100, after: int = 0) -> list[Browsed]:
        return await looking.browse(self._store, queue, state, limit=limit, after=after)

    async def depth(self, queues: Sequence[str] | None = None) -> list[Depth]:
        return await looking.depth(self._store, queues)
