"""The journal: events in one order, and samples of each task, as pages of the table."""

from collections.abc import Sequence

from tenure.adapters.aws.desk import Desk
from tenure.adapters.aws.pages import Pages
from tenure.event import Event, StoredEvent
from tenure.sample import Sample, StoredSample
from tenure.state import KEPT_SAMPLES

_EVENTS = "j"
#: Old samples are dropped once in so many appends.
_TIDY_EVERY = 50


class AwsJournal:
    """Events and samples."""

    def __init__(self, desk: Desk) -> None:
        """Stand on `desk`."""
        self._desk = desk
        self._events: Pages[Event] = Pages(desk, Event)
        self._samples: Pages[Sample] = Pages(desk, Sample)
        self._appended: dict[str, int] = {}

    async def append(self, events: Sequence[Event]) -> None:
        if events:
            await self._events.append(_EVENTS, events, max(event.at for event in events))

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        found = await self._events.read(_EVENTS, after, limit)
        return [StoredEvent(seq, event) for seq, event in found]

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        found: list[StoredEvent] = []
        after = 0
        while page := await self._events.read(_EVENTS, after, 1000, since):
            for seq, event in page:
                if event.message_id == message_id or message_id in event.data.get("ids", ()):
                    found.append(StoredEvent(seq, event))
            if len(found) >= limit:
                break
            after = page[-1][0]
        return found[:limit]

    async def last(self) -> int:
        return await self._events.last(_EVENTS)

    async def prune(self, older_than_seconds: float) -> int:
        oldest = self._desk.clock.wall() - older_than_seconds
        return await self._events.drop(_EVENTS, lambda event: event.at < oldest)

    async def sample(self, batch: Sequence[Sample]) -> None:
        by_part: dict[str, list[Sample]] = {}
        for one in batch:
            by_part.setdefault(_part(one.queue, one.task), []).append(one)
        for part, samples in by_part.items():
            await self._samples.append(part, samples, max(one.at for one in samples))
            count = self._appended.get(part, 0) + 1
            if count >= _TIDY_EVERY:
                await self._samples.drop(part, lambda _: True, keep=KEPT_SAMPLES)
                count = 0
            self._appended[part] = count

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = KEPT_SAMPLES) -> list[StoredSample]:
        part = _part(queue, task)
        after = max(after, await self._samples.last(part) - KEPT_SAMPLES)
        found = await self._samples.read(part, after, limit)
        return [StoredSample(seq, sample) for seq, sample in found]


def _part(queue: str, task: str) -> str:
    return f"s#{queue}#{task}"
