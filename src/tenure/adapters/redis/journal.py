"""The journal: events in one order, stored by the page.

A page is whatever one call appended, as one entry of a stream, numbered by the place of its last event. Old pages go
when there are too many events, and by `prune`. A page that is pruned in part is read from its middle.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tenure.adapters.redis.script import JOURNAL
from tenure.adapters.redis.store import Store
from tenure.event import Event, StoredEvent

#: So many events are kept, and a few more.
_MOST_EVENTS = 200_000
#: Pages in one exchange.
_PAGES = 100

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[Event]).decode


class RedisJournal:
    """Events in the store."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store
        self._key = f"{store.names.common}journal"

    async def append(self, events: Sequence[Event]) -> None:
        """Keep events, in this order."""
        if events:
            times = [event.at for event in events]
            await self._store.run(
                JOURNAL, (), "append", len(events), repr(max(times)), repr(min(times)), _encode(events), _MOST_EVENTS
            )

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
        """Events of one message, oldest first. The server looks for its id, so few pages travel."""
        # Without the quotes around it: those stand everywhere, and would slow the search down.
        written = _encode(message_id)[1:-1]
        found: list[StoredEvent] = []
        pruned = await self._pruned()
        place = b"%d-0" % pruned
        while len(found) < limit:
            last, pages = await self._store.run(
                JOURNAL, (), "about", place, _PAGES, written, repr(since), writes=False
            )  # fmt: skip
            for id, count, raw in zip(pages[::3], pages[1::3], pages[2::3], strict=True):
                page = (id, [b"c", count, b"n", b"", b"o", b"", b"j", raw])
                found += [one for one in _events(page) if one.seq > pruned and _is_about(one.event, message_id)]
            if last == place:
                break
            place = last
        return found[:limit]

    async def last(self) -> int:
        """The place of the newest event; 0 if there is none."""
        return int(await self._store.command("GET", f"{self._key}:n") or 0)

    async def prune(self, older_than_seconds: float) -> int:
        """Forget old events; how many."""
        horizon = self._store.clock.wall() - older_than_seconds
        pruned = start = await self._pruned()
        while True:
            pages = await self._store.command("XRANGE", self._key, f"({pruned}-0", "+", "COUNT", _PAGES)
            events = [one for page in pages for one in _events(page) if one.seq > pruned]
            old = next((place for place, one in enumerate(events) if one.event.at >= horizon), len(events))
            if old:
                pruned = events[old - 1].seq
            if old < len(events) or len(pages) < _PAGES:
                break
        if pruned > start:
            await self._store.command("SET", f"{self._key}:pruned", pruned)
            await self._store.command("XTRIM", self._key, "MINID", pruned + 1)
        return pruned - start

    async def _pruned(self) -> int:
        return int(await self._store.command("GET", f"{self._key}:pruned") or 0)


def _events(page: Sequence[Any]) -> list[StoredEvent]:
    """What stands on a page; nothing, if it is none of ours."""
    id, fields = page
    if len(fields) != 8 or fields[0] != b"c" or fields[6] != b"j":  # noqa: PLR2004 - as `lua/journal.lua` writes it
        return []
    last, count = int(id.partition(b"-")[0]), int(fields[1])
    return [StoredEvent(place, event) for place, event in enumerate(_decode(fields[7]), last - count + 1)]


def _is_about(event: Event, message_id: str) -> bool:
    return event.message_id == message_id or message_id in event.data.get("ids", ())
