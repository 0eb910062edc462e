"""The broker port on an account: queues deliver, the table knows.

What a verb does is in the file named after the act: `sending`, `lending`, `touching`, `settling`, `returning`,
`operating`, `browsing`, `looking`, `waiting`. `entry.py` says what the table knows of a message.
"""

from collections.abc import Sequence
from functools import partial

from tenure.adapters.azure import browsing, looking, operating, returning, sending, settling, touching, waiting
from tenure.adapters.azure.lending import Lending
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.traits import traits
from tenure.broker import RETIRE_BATCH, BrokerTraits, Browsed, Depth, Sent, SweepRequest, Swept
from tenure.finding import Finding
from tenure.lease import Lease, LeaseRequest
from tenure.message import MessageState, Outgoing
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Settlement


class AzureBroker:
    """Lends messages of Azure Storage Queues."""

    def __init__(self, store: Store) -> None:
        """Made by `connect`."""
        self._store = store
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
        return AzureBroker(self._store.twin())

    async def check(self, queues: Sequence[str]) -> list[Finding]:  # noqa: ARG002 - of the contract
        """Nothing can be set up wrongly."""
        return []

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Store messages, each once."""
        return await sending.send(self._store, batch)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend up to `want` messages."""
        return await self._lending.lease(request)

    async def wait(self, queues: Sequence[str], seconds: float) -> None:
        """Return when something may have become leasable, or after `seconds`."""
        await waiting.wait(self._store, queues, seconds)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Set each deadline to now + `lease.seconds`."""
        return await touching.touch(self._store, leases)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """The work is done."""
        return await settling.ack(self._store, batch)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """The attempt failed."""
        return await settling.nack(self._store, batch)

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """It was not run."""
        return await settling.give_back(self._store, batch)

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Put aside, with raw bytes, counters and reason."""
        return await settling.dead_letter(self._store, batch)

    async def redrive(self, ids: Sequence[str]) -> list[str]:
        """Send dead letters back to their queue."""
        return await operating.redrive(self._store, ids)

    async def delete(self, ids: Sequence[str]) -> list[str]:
        """Cancel messages that nobody holds."""
        return await operating.delete(self._store, ids)

    async def cancel(self, ids: Sequence[str]) -> list[MessageState | None]:
        """Cancel messages, whoever holds them."""
        return await operating.cancel(self._store, ids)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Return overdue leases."""
        return await returning.sweep(self._store, request)

    async def held(self, owner: str, request_id: str | None = None) -> list[Lease]:
        """What `owner` holds."""
        return await self._lending.held(owner, request_id)

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Ban the nonce of `owner`, and return what it holds."""
        return await returning.retire(self._store, owner, limit, crashed=crashed)

    async def browse(self, queue: str, state: MessageState, *, limit: int = 100, after: int = 0) -> list[Browsed]:
        """Look at messages in the order in which they came."""
        return await browsing.browse(self._store, queue, state, limit=limit, after=after)

    async def depth(self, queues: Sequence[str] | None = None) -> list[Depth]:
        """How much lies in each queue."""
        return await looking.depth(self._store, queues)
