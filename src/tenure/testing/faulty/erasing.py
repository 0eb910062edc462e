"""Brokers and journals that erase too little, too much, or without an end."""

from tenure.broker import Erased
from tenure.event import StoredEvent
from tenure.message import MessageState
from tenure.query import Query
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.honest_state import HonestJournal


class ErasesNothing(HonestBroker):
    """Says that all is done, and keeps everything."""

    caught_by = ("Erasing",)

    async def erase(self, queue: str, after: str = "") -> Erased:  # noqa: ARG002 - of the contract
        """Do nothing."""
        return Erased(1_000 if not after else 0)


class ErasesWhatWaits(HonestBroker):
    """Removes what waits, too."""

    caught_by = ("Erasing",)

    async def erase(self, queue: str, after: str = "") -> Erased:
        """Delete first what is ready and delayed."""
        for state in (MessageState.READY, MessageState.DELAYED):
            page = await self.inner.browse(Query(states=(state,), queues=(queue,), bodies=False))
            await self.inner.delete([one.id for one in page.messages])
        return await self.inner.erase(queue, after)


class ErasesDeadLetters(HonestBroker):
    """Takes dead letters for messages that have ended."""

    caught_by = ("Erasing",)

    async def erase(self, queue: str, after: str = "") -> Erased:
        """Delete first what is dead."""
        page = await self.inner.browse(Query(states=(MessageState.DEAD,), queues=(queue,), bodies=False))
        await self.inner.delete([one.id for one in page.messages])
        return await self.inner.erase(queue, after)


class ErasesEveryQueue(HonestBroker):
    """Erases whatever has ended, whoever had sent it."""

    caught_by = ("Erasing",)

    async def erase(self, queue: str, after: str = "") -> Erased:
        """Erase all queues."""
        for one in {queue, *await self.inner.queues()} - {queue}:
            place: str | None = ""
            while place is not None:
                place = (await self.inner.erase(one, place)).after
        return await self.inner.erase(queue, after)


class ErasesWithoutEnd(HonestBroker):
    """Always says that there is more."""

    caught_by = ("Erasing",)

    async def erase(self, queue: str, after: str = "") -> Erased:
        """Begin anew for ever."""
        return Erased((await self.inner.erase(queue, after)).count, "")


class EventsAreNotErased(HonestJournal):
    """Keeps what events say."""

    caught_by = ("Erasing",)

    async def erase(self, queue: str, after: str = "") -> Erased:  # noqa: ARG002 - of the contract
        """Do nothing."""
        return Erased(0)


class ErasedEventsAreLeftOut(HonestJournal):
    """Hides blank events, so that places are missing and counts are wrong."""

    caught_by = ("Erasing",)

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """Read without blank ones."""
        found = await self.inner.read(after, limit)
        return [one for one in found if one.event.queue is not None or one.event.owner is not None]
