"""Stores that trust the hint: a message that is not in that queue is not found."""

from collections.abc import Sequence

from tenure.broker import Broker, Promoted, Sent
from tenure.message import MessageState, Outgoing
from tenure.record import Record
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.honest_state import HonestRecords
from tenure.testing.virtual import VirtualClock


class _KnowingQueues(HonestBroker):
    """Base of faults: knows where each message was sent."""

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Begin without known queues of messages."""
        super().__init__(inner, clock)
        self.queue_of: dict[str, str] = {}

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Send, and remember the queue of each message."""
        self.queue_of |= {one.message.id: one.message.queue for one in batch}
        return await self.inner.send(batch)

    def there(self, ids: Sequence[str], queue: str | None) -> list[str]:
        """Return the ids that are where the hint says."""
        return [id for id in ids if queue in {None, self.queue_of.get(id)}]


class CancelBelievesTheHint(_KnowingQueues):
    """Cancels in the queue that was named only."""

    caught_by = ("Hints",)

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:
        """Cancel only messages in the named queue."""
        there = self.there(ids, queue)
        met = dict(zip(there, await self.inner.cancel(there), strict=True))
        return [met.get(id) for id in ids]


class CancelAnswersForTheHintFirst(_KnowingQueues):
    """Answers for those in the queue that was named before the others."""

    caught_by = ("Hints",)

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:
        """Cancel those in the named queue first, and answer in that order."""
        there = self.there(ids, queue)
        return await self.inner.cancel([*there, *(id for id in ids if id not in there)])


class DeleteBelievesTheHint(_KnowingQueues):
    """Deletes in the queue that was named only."""

    caught_by = ("Hints",)

    async def delete(self, ids: Sequence[str], queue: str | None = None) -> list[str]:
        """Delete only messages in the named queue."""
        return await self.inner.delete(self.there(ids, queue))


class RedriveBelievesTheHint(_KnowingQueues):
    """Redrives in the queue that was named only."""

    caught_by = ("Hints",)

    async def redrive(self, ids: Sequence[str], queue: str | None = None) -> list[str]:
        """Redrive only messages in the named queue."""
        return await self.inner.redrive(self.there(ids, queue))


class RecordsBelieveTheHint(HonestRecords):
    """Reads only the named queue."""

    caught_by = ("Hints",)

    async def get(self, id: str, queue: str | None = None) -> Record | None:
        """Return no record of another queue."""
        record = await self.inner.get(id)
        return record if record is None or queue in {None, record.queue} else None


class RecordsOfTheDoneNeedTheirQueue(HonestRecords):
    """Finds what is completed only where the hint says."""

    caught_by = ("Hints",)

    async def get(self, id: str, queue: str | None = None) -> Record | None:
        """Return no completed record of another queue."""
        record = await self.inner.get(id)
        if record is None or record.state is not MessageState.COMPLETED:
            return record
        return record if queue in {None, record.queue} else None


class PromoteBelievesTheHint(_KnowingQueues):
    """Promotes in the queue that was named only."""

    caught_by = ("Promoting",)

    async def promote(self, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:
        """Promote only messages in the named queue."""
        there = self.there(ids, queue)
        met = dict(zip(there, await self.inner.promote(there), strict=True))
        return [met.get(id, Promoted(None)) for id in ids]
