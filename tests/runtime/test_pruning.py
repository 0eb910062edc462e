"""The journal does not grow for ever."""

import asyncio
from collections.abc import Sequence

from tenure.errors import BrokerUnavailable
from tenure.event import Event, EventKind, StoredEvent
from tenure.runtime.pruning import PRUNE_SECONDS, Pruner
from tenure.sample import Sample, StoredSample
from tenure.testing.virtual import VirtualClock


class FakeJournal:
    """Notes how it is pruned; is away the first time."""

    def __init__(self) -> None:
        self.pruned: list[float] = []

    async def append(self, events: Sequence[Event]) -> None: ...

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        return [StoredEvent(1, Event(EventKind.COMPLETED, 0.0))]

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        return []

    async def last(self) -> int:
        return 1

    async def prune(self, older_than_seconds: float) -> int:
        self.pruned.append(older_than_seconds)
        if len(self.pruned) == 1:
            msg = "away"
            raise BrokerUnavailable(msg)
        return 1

    async def sample(self, batch: Sequence[Sample]) -> None: ...

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = 1000) -> list[StoredSample]:
        return []


async def test_it_prunes_by_its_window_and_survives_an_outage(virtual_clock: VirtualClock) -> None:
    journal = FakeJournal()
    task = asyncio.create_task(Pruner(journal, 3600.0).run())
    await asyncio.sleep(PRUNE_SECONDS * 2.5)
    task.cancel()
    assert journal.pruned == [3600.0, 3600.0]
