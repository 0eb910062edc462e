"""Faulty on purpose: delivery queues with one fault each. The suite `DeliveryQueues` must catch every one of them.

The table decides about messages, so a queue may do much wrong without harm. What it may not do is here: lose a copy,
show it too early or too late, or answer with a receipt that is worth nothing. Each fault wraps a queue that works.
"""

from collections.abc import Sequence

import msgspec

from tenure.delivery_queue import (
    CopyReceipt,
    DeliveryQueue,
    DeliveryTraits,
    OutgoingCopy,
    PhysicalQueue,
    QueueCount,
    QueueFacts,
    ReceivedCopy,
)
from tenure.message import Message


class HonestQueue:
    """Passes everything on to a queue that works."""

    def __init__(self, inner: DeliveryQueue) -> None:
        """Wrap `inner`."""
        self._inner = inner

    @property
    def traits(self) -> DeliveryTraits:
        return self._inner.traits

    async def open(self) -> None:
        await self._inner.open()

    async def close(self) -> None:
        await self._inner.close()

    def physical(self, queue: str) -> list[PhysicalQueue]:
        return self._inner.physical(queue)

    def level_of(self, message: Message) -> int:
        return self._inner.level_of(message)

    def keeps_order(self, queue: str) -> bool:
        return self._inner.keeps_order(queue)

    async def facts(self, physical: PhysicalQueue) -> QueueFacts:
        return await self._inner.facts(physical)

    def remembered(self, physical: PhysicalQueue) -> QueueFacts:
        return self._inner.remembered(physical)

    async def names(self) -> list[str]:
        return await self._inner.names()

    async def send(self, copies: Sequence[OutgoingCopy]) -> list[str]:
        return await self._inner.send(copies)

    async def receive(
        self, physical: PhysicalQueue, want: int, visibility: int, wait: float = 0.0
    ) -> list[ReceivedCopy]:
        return await self._inner.receive(physical, want, visibility, wait)

    async def delete(self, receipts: Sequence[CopyReceipt]) -> list[bool]:
        return await self._inner.delete(receipts)

    async def hide(self, receipts: Sequence[CopyReceipt]) -> list[str | None]:
        return await self._inner.hide(receipts)

    async def count(self, physical: PhysicalQueue) -> QueueCount:
        return await self._inner.count(physical)


class ForgetsToHide(HonestQueue):
    async def receive(
        self,
        physical: PhysicalQueue,
        want: int,
        visibility: int,  # noqa: ARG002
        wait: float = 0.0,
    ) -> list[ReceivedCopy]:
        return await self._inner.receive(physical, want, 0, wait)


class LosesWhatIsReceived(HonestQueue):
    async def receive(
        self, physical: PhysicalQueue, want: int, visibility: int, wait: float = 0.0
    ) -> list[ReceivedCopy]:
        copies = await self._inner.receive(physical, want, visibility, wait)
        await self._inner.delete([CopyReceipt(physical, copy.receipt) for copy in copies])
        return copies


class HidesForHalfTheTime(HonestQueue):
    async def receive(
        self, physical: PhysicalQueue, want: int, visibility: int, wait: float = 0.0
    ) -> list[ReceivedCopy]:
        return await self._inner.receive(physical, want, visibility // 2, wait)


class HidesForTooLong(HonestQueue):
    async def receive(
        self, physical: PhysicalQueue, want: int, visibility: int, wait: float = 0.0
    ) -> list[ReceivedCopy]:
        return await self._inner.receive(physical, want, 3 * visibility, wait)


class BringsOneTooMany(HonestQueue):
    async def receive(
        self, physical: PhysicalQueue, want: int, visibility: int, wait: float = 0.0
    ) -> list[ReceivedCopy]:
        return await self._inner.receive(physical, want + 1, visibility, wait)


class BringsTheReceiptOfAnother(HonestQueue):
    async def receive(
        self, physical: PhysicalQueue, want: int, visibility: int, wait: float = 0.0
    ) -> list[ReceivedCopy]:
        copies = await self._inner.receive(physical, want, visibility, wait)
        receipts = [copy.receipt for copy in copies]
        return [
            msgspec.structs.replace(copy, receipt=receipt)
            for copy, receipt in zip(copies, [*receipts[1:], *receipts[:1]], strict=True)
        ]


class ForgetsTheDelay(HonestQueue):
    async def send(self, copies: Sequence[OutgoingCopy]) -> list[str]:
        return await self._inner.send([msgspec.structs.replace(copy, delay=0) for copy in copies])


class SendsOnlyOneBatch(HonestQueue):
    async def send(self, copies: Sequence[OutgoingCopy]) -> list[str]:
        batch = self.traits.batch
        return [*await self._inner.send(copies[:batch]), *("" for _ in copies[batch:])]


class DropsWhatStandsBesideTheBody(HonestQueue):
    async def send(self, copies: Sequence[OutgoingCopy]) -> list[str]:
        return await self._inner.send([msgspec.structs.replace(copy, head="") for copy in copies])


class DropsAttributes(HonestQueue):
    async def send(self, copies: Sequence[OutgoingCopy]) -> list[str]:
        return await self._inner.send([msgspec.structs.replace(copy, attributes={}) for copy in copies])


class ChangesBodies(HonestQueue):
    async def send(self, copies: Sequence[OutgoingCopy]) -> list[str]:
        return await self._inner.send([msgspec.structs.replace(copy, body=copy.body.strip('"')) for copy in copies])


class MixesQueues(HonestQueue):
    def physical(self, queue: str) -> list[PhysicalQueue]:  # noqa: ARG002
        return self._inner.physical("mail")


class MixesLevels(HonestQueue):
    async def send(self, copies: Sequence[OutgoingCopy]) -> list[str]:
        lowest = [PhysicalQueue(copy.physical.queue, 0) for copy in copies]
        return await self._inner.send(
            [msgspec.structs.replace(copy, physical=one) for copy, one in zip(copies, lowest, strict=True)]
        )


class ForgetsToDelete(HonestQueue):
    async def delete(self, receipts: Sequence[CopyReceipt]) -> list[bool]:
        return [True] * len(receipts)


class DeletesOnlyOneBatch(HonestQueue):
    async def delete(self, receipts: Sequence[CopyReceipt]) -> list[bool]:
        batch = self.traits.batch
        return [*await self._inner.delete(receipts[:batch]), *(True for _ in receipts[batch:])]


class ForgetsToShow(HonestQueue):
    async def hide(self, receipts: Sequence[CopyReceipt]) -> list[str | None]:
        later = [one for one in receipts if one.seconds]
        told = iter(await self._inner.hide(later))
        return [next(told) if one.seconds else one.receipt for one in receipts]


class AddsToTheTimeThatIsLeft(HonestQueue):
    async def hide(self, receipts: Sequence[CopyReceipt]) -> list[str | None]:
        return await self._inner.hide(
            [msgspec.structs.replace(one, seconds=one.seconds and one.seconds + 10.0) for one in receipts]
        )


class AnswersTheOldReceipt(HonestQueue):
    async def hide(self, receipts: Sequence[CopyReceipt]) -> list[str | None]:
        return [told and one.receipt for one, told in zip(receipts, await self._inner.hide(receipts), strict=True)]


class ListsNothing(HonestQueue):
    async def names(self) -> list[str]:
        return []


class DropsVersions(HonestQueue):
    async def send(self, copies: Sequence[OutgoingCopy]) -> list[str]:
        return await self._inner.send([msgspec.structs.replace(copy, version="") for copy in copies])


class CountsOnlyWhatIsHidden(HonestQueue):
    async def count(self, physical: PhysicalQueue) -> QueueCount:
        return QueueCount(0, (await self._inner.count(physical)).hidden, 0)


#: All of them.
QUEUE_FAULTS: tuple[type[HonestQueue], ...] = (
    ForgetsToHide,
    LosesWhatIsReceived,
    HidesForHalfTheTime,
    HidesForTooLong,
    BringsOneTooMany,
    BringsTheReceiptOfAnother,
    ForgetsTheDelay,
    SendsOnlyOneBatch,
    DropsWhatStandsBesideTheBody,
    DropsAttributes,
    ChangesBodies,
    MixesQueues,
    MixesLevels,
    ForgetsToDelete,
    DeletesOnlyOneBatch,
    ForgetsToShow,
    AddsToTheTimeThatIsLeft,
    AnswersTheOldReceipt,
    ListsNothing,
    DropsVersions,
    CountsOnlyWhatIsHidden,
)
