"""A delivery queue in memory: for tests of what stands on a queue, and for trying things out in one process.

`MemoryQueues` is the service; each `MemoryQueue` is a connection to it. An old receipt is refused. With
`renews_receipts`, hiding a copy gives it a new one and a copy brings the version of its row, as on Storage Queues.
"""

import asyncio
import itertools
from collections.abc import Sequence

import msgspec

from tenure.clock import Clock
from tenure.delivery_queue import (
    CopyReceipt,
    DeliveryTraits,
    OutgoingCopy,
    PhysicalQueue,
    QueueCount,
    QueueFacts,
    ReceivedCopy,
)
from tenure.message import MAX_PRIORITY, Message

_DAY = 86_400
#: A receive that waits looks so often.
_LOOK_SECONDS = 0.02
BODY_LIMIT = 64 * 1024


class _Stored(msgspec.Struct):
    """A copy in its queue."""

    sent: OutgoingCopy
    copy_id: str
    sent_at: float
    visible_at: float
    receipt: str = ""
    receives: int = 0

    def spoil(self, body: str) -> None:
        """Put another body in the place of its own: for tests."""
        self.sent = msgspec.structs.replace(self.sent, body=body)


class MemoryQueues:
    """All queues of the service."""

    def __init__(self) -> None:
        """None is there yet."""
        self.copies: dict[PhysicalQueue, list[_Stored]] = {}
        self.numbers = itertools.count(1)

    def find(self, one: CopyReceipt) -> _Stored | None:
        """The copy that a receipt is the latest of."""
        return next((copy for copy in self.copies.get(one.physical, ()) if copy.receipt == one.receipt), None)


class MemoryQueue:
    """Copies in lists, for one event loop."""

    def __init__(
        self,
        service: MemoryQueues,
        clock: Clock,
        *,
        priorities: int = 1,
        batch: int = 10,
        renews_receipts: bool = False,
        poll_seconds: int = 20,
    ) -> None:
        """Speak to `service`."""
        self._service = service
        self._clock = clock
        self._renews_receipts = renews_receipts
        self._traits = DeliveryTraits(
            service="The queue in memory",
            logger="tenure.rowstore",
            id_prefix="memory-",
            batch=batch,
            max_hidden_seconds=_DAY // 2,
            max_delay_seconds=900,
            poll_seconds=poll_seconds,
            max_total_delay_seconds=13.0 * _DAY,
            priority_levels=priorities,
            renews_receipts=renews_receipts,
            carries_versions=renews_receipts,
        )

    @property
    def traits(self) -> DeliveryTraits:
        return self._traits

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to let go of."""

    def physical(self, queue: str) -> list[PhysicalQueue]:
        return [PhysicalQueue(queue, level) for level in reversed(range(self._traits.priority_levels))]

    def level_of(self, message: Message) -> int:
        return message.priority * self._traits.priority_levels // (MAX_PRIORITY + 1)

    def keeps_order(self, queue: str) -> bool:  # noqa: ARG002 - of the port
        return False

    async def facts(self, physical: PhysicalQueue) -> QueueFacts:
        return self.remembered(physical)

    def remembered(self, physical: PhysicalQueue) -> QueueFacts:  # noqa: ARG002 - all are alike
        return QueueFacts(BODY_LIMIT, 14 * _DAY)

    async def names(self) -> list[str]:
        return sorted({physical.queue for physical in self._service.copies})

    async def send(self, copies: Sequence[OutgoingCopy]) -> list[str]:
        await asyncio.sleep(0)
        now, wall = self._clock.monotonic(), self._clock.wall()
        for copy in copies:
            stored = _Stored(copy, f"c{next(self._service.numbers)}", wall, now + copy.delay)
            self._service.copies.setdefault(copy.physical, []).append(stored)
        return [""] * len(copies)

    async def receive(
        self, physical: PhysicalQueue, want: int, visibility: int, wait: float = 0.0
    ) -> list[ReceivedCopy]:
        await asyncio.sleep(0)
        until = self._clock.monotonic() + wait
        while not (copies := self._receive(physical, min(want, self._traits.batch), visibility)):
            left = until - self._clock.monotonic()
            if left <= 0:
                break
            await asyncio.sleep(min(_LOOK_SECONDS, left))
        return copies

    def _receive(self, physical: PhysicalQueue, want: int, visibility: int) -> list[ReceivedCopy]:
        now = self._clock.monotonic()
        visible = [copy for copy in self._service.copies.get(physical, ()) if copy.visible_at <= now]
        for copy in visible[:want]:
            copy.visible_at, copy.receipt = now + visibility, self._new_receipt()
            copy.receives += 1
        return [
            ReceivedCopy(
                physical, copy.sent.id or None, copy.copy_id, copy.receipt, copy.sent.body, None, copy.receives,
                copy.visible_at, copy.sent.head, copy.sent.attributes, copy.sent_at, copy.sent.version,
            )
            for copy in visible[:want]
        ]  # fmt: skip

    async def delete(self, receipts: Sequence[CopyReceipt]) -> list[bool]:
        await asyncio.sleep(0)
        found = [self._service.find(one) for one in receipts]
        for one, copy in zip(receipts, found, strict=True):
            if copy is not None:
                self._service.copies[one.physical].remove(copy)
        return [copy is not None for copy in found]

    async def hide(self, receipts: Sequence[CopyReceipt]) -> list[str | None]:
        await asyncio.sleep(0)
        return [self._hide(one) for one in receipts]

    def _hide(self, one: CopyReceipt) -> str | None:
        copy = self._service.find(one)
        if copy is None:
            return None
        copy.visible_at = self._clock.monotonic() + one.seconds
        if self._renews_receipts:
            copy.receipt = self._new_receipt()
        return copy.receipt

    async def count(self, physical: PhysicalQueue) -> QueueCount:
        now, copies = self._clock.monotonic(), self._service.copies.get(physical, ())
        visible = sum(copy.visible_at <= now for copy in copies)
        delayed = sum(copy.visible_at > now and not copy.receives for copy in copies)
        return QueueCount(visible, len(copies) - visible - delayed, delayed)

    def _new_receipt(self) -> str:
        return f"r{next(self._service.numbers)}"
