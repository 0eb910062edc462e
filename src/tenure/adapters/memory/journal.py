"""The journal in memory: events in one order, until they are pruned; samples of how long runs took; tallies."""

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from itertools import islice, takewhile
from operator import attrgetter

from tenure.adapters.memory.store import MemoryDatabase
from tenure.adapters.memory.waiting import wait_for_event
from tenure.broker import Erased
from tenure.event import Event, StoredEvent
from tenure.rules.erasing import erased, must_be_erased
from tenure.sample import Sample, StoredSample
from tenure.state import KEPT_SAMPLES
from tenure.tally import KEPT_SECONDS, Tally

#: In memory the newest this many are enough; twice as many before the old ones go, so that it is seldom done.
_MOST = 100_000


class MemoryJournal:
    """Events, each at its place; places begin at 1 and are never used again."""

    def __init__(self, store: MemoryDatabase) -> None:
        """Made by `MemoryState`."""
        self._store = store

    async def append(self, events: Sequence[Event]) -> None:
        """Keep events, in this order."""
        async with self._store.step():
            for event in events:
                self._store.last_event += 1
                self._store.events.append(StoredEvent(self._store.last_event, event))
                self._store.oldest_event = min(self._store.oldest_event, event.at)
            if len(self._store.events) > 2 * _MOST:
                del self._store.events[:-_MOST]
            for sleeper in self._store.readers if events else ():
                sleeper.wake()

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """The next events after place `after`."""
        async with self._store.step():
            start = bisect_right(self._store.events, after, key=attrgetter("seq"))
            return self._store.events[start : start + limit]

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        """The first `limit` events of one message since `since`."""
        async with self._store.step():
            found = (
                stored
                for stored in self._store.events
                if stored.event.at >= since and _is_about(stored.event, message_id)
            )
            return list(islice(found, limit))

    async def last(self) -> int:
        """The place of the newest event, pruned or not."""
        async with self._store.step():
            return self._store.last_event

    async def first(self) -> int:
        """The place of the oldest event that is kept."""
        async with self._store.step():
            return self._store.events[0].seq if self._store.events else 0

    async def wait(self, after: int, seconds: float) -> None:
        """Return when there is an event behind place `after`, or after `seconds`."""
        await wait_for_event(self._store, after, seconds)

    async def prune(self, older_than_seconds: float) -> int:
        """Forget old events; how many. Old by what each event says of itself."""
        async with self._store.step():
            store, oldest = self._store, self._store.clock.wall() - older_than_seconds
            self._prune_tallies(older_than_seconds)
            if store.oldest_event >= oldest:  # every worker asks again and again: mostly nothing is old enough
                return 0
            before = len(store.events)
            store.events = [stored for stored in store.events if stored.event.at >= oldest]
            store.oldest_event = min((stored.event.at for stored in store.events), default=math.inf)
            return before - len(store.events)

    async def erase(self, queue: str, after: str = "") -> Erased:  # noqa: ARG002 - one step is enough
        """Blank the events of a queue."""
        async with self._store.step():
            events = self._store.events
            places = [place for place, one in enumerate(events) if must_be_erased(one.event, queue)]
            for place in places:
                events[place] = StoredEvent(events[place].seq, erased(events[place].event))
            return Erased(len(places))

    def _prune_tallies(self, older_than_seconds: float) -> None:
        wall, tallies = self._store.clock.wall(), self._store.tallies
        for key in list(tallies):
            step, bucket = key[:2]
            if bucket < wall - KEPT_SECONDS.get(step, older_than_seconds):
                del tallies[key]

    async def tally(self, batch: Sequence[Tally]) -> None:
        """Keep rows; one with the same key is replaced."""
        async with self._store.step():
            for row in batch:
                self._store.tallies[row.step, row.bucket, row.nonce, row.number] = row

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """Rows of one step, in the order of bucket, nonce and number."""
        async with self._store.step():
            kept = self._store.tallies
            return [kept[key] for key in sorted(kept) if key[0] == step and since <= key[1] < until]

    async def sample(self, batch: Sequence[Sample]) -> None:
        """Keep the newest ones of each queue and task."""
        async with self._store.step():
            for sample in batch:
                self._store.last_sample += 1
                stored = StoredSample(self._store.last_sample, sample)
                self._store.samples[sample.queue, sample.task].append(stored)

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = KEPT_SAMPLES) -> list[StoredSample]:
        """The next samples of a task after place `after`."""
        async with self._store.step():
            kept = self._store.samples.get((queue, task), deque())
            newer = list(takewhile(lambda stored: stored.seq > after, reversed(kept)))  # mostly a few of a thousand
            return newer[::-1][:limit]


def _is_about(event: Event, message_id: str) -> bool:
    return event.message_id == message_id or message_id in event.data.get("ids", ())
