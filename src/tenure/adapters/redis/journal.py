"""The journal: events in one order, stored by the page.

A page is whatever one call appended, as one entry of a stream, numbered by the place of its last event. Old pages go
when there are too many events, and by `prune`. A page that is pruned in part is read from its middle. Beside the pages
lie fingerprints of their events (`fingerprint.py`), by which those of one message are found.

Samples of how long runs took are a list for each queue and task, which is forgotten when nothing was added for long.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from tenure.adapters.redis import erasing, faults, fingerprint, foreign_keys
from tenure.adapters.redis.script import ABOUT, JOURNAL, SAMPLE
from tenure.adapters.redis.store import RedisStore
from tenure.adapters.redis.tallies import RedisTallies
from tenure.broker import Erased
from tenure.event import Event, StoredEvent
from tenure.sample import Sample, StoredSample
from tenure.state import KEPT_SAMPLES
from tenure.tally import Tally

#: This many events are kept, and a few more.
MOST_EVENTS = 200_000
#: Pages in one exchange.
_PAGES = 100
#: Fingerprints that lie together: as in `lua/journal.lua`; and this many of those are removed at once.
_BLOCK, _MOST_BLOCKS = 16_384, 1_000

_encode = msgspec.json.Encoder().encode
_page = msgspec.json.Decoder(list[Event])
_decode_sample = msgspec.json.Decoder(Sample).decode


class RedisJournal:
    """The journal in Redis."""

    def __init__(self, store: RedisStore) -> None:
        """Take the store."""
        self._store = store
        self._key = f"{store.names.common}journal"
        self._tallies = RedisTallies(store)
        #: A page that may or may not have been kept.
        self._unsure = b""

    async def append(self, events: Sequence[Event]) -> None:
        """Keep events, in this order."""
        if not events:
            return
        times, page = [event.at for event in events], _encode(events)
        is_again = int(page == self._unsure)
        self._unsure = page  # until it was answered
        await self._store.run(
            JOURNAL,
            (),
            len(events),
            repr(max(times)),
            repr(min(times)),
            page,
            MOST_EVENTS,
            is_again,
            *fingerprint.marks_of(events),
        )
        self._unsure = b""

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """The next events after place `after`, oldest first."""
        events: list[StoredEvent] = []
        place = after = max(after, await self._pruned())
        while len(events) < limit:
            pages = await self._store.command("XRANGE", self._key, f"({place}-0", "+", "COUNT", _PAGES)
            for page in pages:
                place = int(page[0].partition(b"-")[0])
                events += [one for one in _events(page) if one.seq > after]
            if len(pages) < _PAGES:
                break
        return events[:limit]

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        """Events of one message, oldest first. The server looks for their fingerprints, so few pages travel."""
        # Without the quotes around it: those stand everywhere, and would slow the search down.
        written, mark = _encode(message_id)[1:-1], fingerprint.mark_bytes(message_id)
        found: list[StoredEvent] = []
        pruned = await self._pruned()
        place: Any = pruned
        while len(found) < limit and place != b"":
            place, pages = await self._store.run(ABOUT, (), place, mark, written, repr(since), writes=False)
            for id, count, raw in zip(pages[::3], pages[1::3], pages[2::3], strict=True):
                page = (id, [b"c", count, b"n", b"", b"o", b"", b"j", raw])
                found += [one for one in _events(page) if one.seq > pruned and _is_about(one.event, message_id)]
        return found[:limit]

    async def last(self) -> int:
        """The place of the newest event; 0 if there is none."""
        return foreign_keys.count(await self._store.command("GET", f"{self._key}:n"), "journal:n")

    async def first(self) -> int:
        """The place of the oldest event that is kept; 0 if there is none."""
        place = await self._pruned()
        while True:
            pages = await self._store.command("XRANGE", self._key, f"({place}-0", "+", "COUNT", 1)
            if not pages:
                return 0
            last = int(pages[0][0].partition(b"-")[0])
            events = [one for one in _events(pages[0]) if one.seq > place]
            if events:
                return events[0].seq
            place = last  # it is foreign

    async def wait(self, after: int, seconds: float) -> None:
        """Return when there may be an event behind place `after`, or after `seconds`: the server publishes it."""
        store = self._store
        deadline, channel = store.clock.monotonic() + seconds, f"{self._key}:wake"
        await store.listener.subscribe([channel])
        # First subscribe, then look: then no event after the look is missed.
        waiter = store.listener.enter([channel])
        try:
            left = deadline - store.clock.monotonic()
            if await self.last() > after or left <= 0:
                return
            await asyncio.wait((waiter,), timeout=left)
            if waiter.done() and not waiter.result():
                raise faults.away(store.options.place, None, sent=False)
        finally:
            store.listener.leave(waiter)

    async def tally(self, batch: Sequence[Tally]) -> None:
        """Keep rows of what was counted."""
        await self._tallies.keep(batch)

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """Rows of one step, in order."""
        return await self._tallies.read(step, since, until)

    async def prune(self, older_than_seconds: float) -> int:
        """Forget old events; how many. In steps: removing a week of pages in one command keeps the server busy."""
        horizon = self._store.clock.wall() - older_than_seconds
        pruned = start = await self._pruned()
        while True:
            pages = await self._store.command("XRANGE", self._key, f"({pruned}-0", "+", "COUNT", _PAGES)
            events = [one for page in pages for one in _events(page) if one.seq > pruned]
            old = next((place for place, one in enumerate(events) if one.event.at >= horizon), len(events))
            if old:
                pruned = events[old - 1].seq
                await self._store.command("SET", f"{self._key}:pruned", pruned)
                await self._store.command("XTRIM", self._key, "MINID", pruned + 1)
            if old < len(events) or len(pages) < _PAGES:
                break
        await self._forget_fingerprints(start, pruned)
        await self._tallies.forget(older_than_seconds)
        return pruned - start

    async def erase(self, queue: str, after: str = "") -> Erased:
        """Blank the events of a queue: the journal is written again (`erasing.py`)."""
        return await erasing.erase_events(self._store, queue, after)

    async def _forget_fingerprints(self, start: int, pruned: int) -> None:
        """Remove the fingerprints of blocks in which no event is left."""
        blocks = range(start // _BLOCK, pruned // _BLOCK)[-_MOST_BLOCKS:]
        names = [f"{self._key}:{kind}:{block}" for block in blocks for kind in "ik"]
        if names:
            await self._store.command("UNLINK", *names)

    async def sample(self, batch: Sequence[Sample]) -> None:
        """Keep the newest ones of each queue and task."""
        by_task: dict[str, list[bytes]] = {}
        for one in batch:
            by_task.setdefault(_sampled(one.queue, one.task), []).append(_encode(one))
        values = [value for task, raws in by_task.items() for value in (task, len(raws), *raws)]
        if values:
            await self._store.run(SAMPLE, (), "add", KEPT_SAMPLES, *values)

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = KEPT_SAMPLES) -> list[StoredSample]:
        """The next samples of a task after place `after`, oldest first."""
        first, raws = await self._store.run(SAMPLE, (), "read", _sampled(queue, task), after, limit, writes=False)
        return [StoredSample(place, _decode_sample(raw)) for place, raw in enumerate(raws, int(first))]

    async def _pruned(self) -> int:
        return foreign_keys.count(await self._store.command("GET", f"{self._key}:pruned"), "journal:pruned")


def _events(page: Sequence[Any]) -> list[StoredEvent]:
    """The events of a page; none, if it is foreign."""
    id, fields = page
    if len(fields) != 8 or fields[0] != b"c" or fields[6] != b"j":  # noqa: PLR2004 - as `lua/journal.lua` writes it
        return []
    last, count = int(id.partition(b"-")[0]), foreign_keys.count(fields[1], "journal")
    events = foreign_keys.read(_page, fields[7], "journal") or []
    return [StoredEvent(place, event) for place, event in enumerate(events, last - count + 1)]


def _sampled(queue: str, task: str) -> str:
    """Encode a queue and a task as one text that no other pair has."""
    return f"{len(queue)}:{queue}:{task}"


def _is_about(event: Event, message_id: str) -> bool:
    return event.message_id == message_id or message_id in event.data.get("ids", ())
