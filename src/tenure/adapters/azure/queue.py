"""The delivery queue of a row store in Azure Storage Queues.

One message at a time is sent, hidden and deleted; side by side, because there is no batch. Each hide answers a new
receipt. A receive never waits, so the core looks again with pauses. Texts are those of `wire.py`, so other programs
and the other core read them. Used by `rowstore/`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from tenure.adapters.azure import posting, wire
from tenure.adapters.azure.posting import LONGEST, Stale
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.traits import TRAITS
from tenure.delivery_queue import (
    CopyReceipt,
    DeliveryTraits,
    OutgoingCopy,
    PhysicalQueue,
    QueueCount,
    QueueFacts,
    ReceivedCopy,
)
from tenure.errors import BrokerError, BrokerUnavailable, ConfigurationError, StoreMissing
from tenure.message import Message

DELIVERY = DeliveryTraits(
    service="Azure",
    logger="tenure.azure",
    id_prefix="azure-",
    batch=TRAITS.batch_limit,
    max_hidden_seconds=LONGEST,
    max_delay_seconds=LONGEST,
    poll_seconds=0,
    max_total_delay_seconds=None,
    renews_receipts=True,
)
#: Messages never expire.
_ALWAYS = 10**9


class AzureQueue:
    """Storage Queues, with Tenure's names."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`, which opens and closes with it."""
        self._store = store

    @property
    def traits(self) -> DeliveryTraits:
        return DELIVERY

    async def open(self) -> None:
        await self._store.open()

    async def close(self) -> None:
        await self._store.close()

    def physical(self, queue: str) -> list[PhysicalQueue]:
        return [PhysicalQueue(queue, 0)]

    def level_of(self, message: Message) -> int:  # noqa: ARG002 - there is one
        return 0

    def keeps_order(self, queue: str) -> bool:  # noqa: ARG002 - none does
        return False

    async def facts(self, physical: PhysicalQueue) -> QueueFacts:
        return self.remembered(physical)

    def remembered(self, physical: PhysicalQueue) -> QueueFacts:
        self._store.queue(physical.queue)  # raises where the service takes no such name
        return QueueFacts(TRAITS.body_limit, _ALWAYS)

    async def names(self) -> list[str]:
        prefix = f"{self._store.options.prefix}-" if self._store.options.prefix else ""

        async def act() -> list[str]:
            pages = self._store.clients.queue_service.list_queues(name_starts_with=prefix or None)
            return sorted([str(one.name).removeprefix(prefix) async for one in pages])

        return await self._store.call("listing the queues", act)

    async def send(self, copies: Sequence[OutgoingCopy]) -> list[str]:
        return await self._each([partial(self._send, copy) for copy in copies])

    async def _send(self, copy: OutgoingCopy) -> str:
        try:
            await posting.put(self._store, copy.physical.queue, self._text(copy), copy.delay)
        except (BrokerUnavailable, ConfigurationError):
            raise
        except BrokerError as error:
            return str(error)
        return ""

    def _text(self, copy: OutgoingCopy) -> str:
        raw = copy.body.encode("utf-8", "surrogatepass")
        if wire.read(copy.body).is_foreign:
            return wire.tagged(raw, copy.id)
        return wire.write(raw, self._store.options.wire, self._store.options.encoding)

    async def receive(
        self,
        physical: PhysicalQueue,
        want: int,
        visibility: int,
        wait: float = 0.0,  # noqa: ARG002 - it cannot wait
    ) -> list[ReceivedCopy]:
        until = self._store.clock.monotonic() + visibility
        want = min(want, DELIVERY.batch)
        found = await posting.receive(self._store, physical.queue, want, visibility)
        return [_copy(physical, one, until) for one in found]

    async def delete(self, receipts: Sequence[CopyReceipt]) -> list[bool]:
        return await self._each([partial(self._delete, one) for one in receipts])

    async def _delete(self, one: CopyReceipt) -> bool:
        id, _, receipt = one.receipt.partition(" ")
        try:
            await posting.remove(self._store, one.physical.queue, id, receipt)
        except Stale:
            return False
        return True

    async def hide(self, receipts: Sequence[CopyReceipt]) -> list[str | None]:
        return await self._each([partial(self._hide, one) for one in receipts])

    async def _hide(self, one: CopyReceipt) -> str | None:
        id, _, receipt = one.receipt.partition(" ")
        try:
            return f"{id} {await posting.hide(self._store, one.physical.queue, id, receipt, one.seconds)}"
        except Stale:
            return None

    async def count(self, physical: PhysicalQueue) -> QueueCount:
        client = self._store.queue(physical.queue)
        try:
            told: Any = await self._store.call("counting", client.get_queue_properties)
        except StoreMissing:
            return QueueCount(0, 0, 0)
        return QueueCount(0, int(told.approximate_message_count or 0), 0)

    async def _each(self, acts: Sequence[Any]) -> list[Any]:
        """Side by side; what one raises, all raise, when all have ended."""
        told = await self._store.each(acts)
        for one in told:
            if isinstance(one, BaseException):
                raise one
        return told


def _copy(physical: PhysicalQueue, message: Any, hidden_until: float) -> ReceivedCopy:
    said = wire.read(message.content)
    raw = said.raw if said.raw is not None else b""
    return ReceivedCopy(
        physical=physical,
        id=said.id,
        copy_id=str(message.id),
        receipt=f"{message.id} {message.pop_receipt}",
        body=raw.decode("utf-8", "surrogatepass"),
        group=None,
        receives=int(message.dequeue_count or 1),
        hidden_until=hidden_until,
        sent_at=message.inserted_on.timestamp() if message.inserted_on is not None else None,
    )
