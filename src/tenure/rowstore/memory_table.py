"""A table in memory: for tests of what stands on a table, and for trying things out in one process.

Rows are forgotten when they say so, as a service does by its own clock: one that is set changes nothing.
"""

import asyncio
import itertools
from collections.abc import Sequence

from tenure.clock import Clock
from tenure.table import KEEP, Row, RowKey, Scanned, Write, split_mark


class MemoryTable:
    """Rows in a dictionary, for one event loop."""

    def __init__(self, clock: Clock, *, has_etags: bool = False) -> None:
        """Start empty. `has_etags`: the version of a row is a number, as on Azure, and not its text."""
        self._clock = clock
        self.has_etags = has_etags
        self._etags = itertools.count(1)
        self._rows: dict[RowKey, Row] = {}
        #: When rows are forgotten, on the monotonic clock.
        self._ends: dict[RowKey, float] = {}

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to let go of."""

    def now(self) -> float:
        return self._clock.monotonic()

    def wall(self) -> float:
        return self._clock.wall()

    async def get(self, places: Sequence[RowKey]) -> list[Row | None]:
        await asyncio.sleep(0)
        self._forget()
        return [self._rows.get(place) for place in places]

    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        await asyncio.sleep(0)
        self._forget()
        return [self._write(one) for one in batch]

    async def page(self, part: str, *, after: str = "", limit: int = 100, backwards: bool = False) -> list[Row]:
        await asyncio.sleep(0)
        self._forget()
        rows = sorted((row for row in self._rows.values() if row.place.part == part), key=lambda row: row.place.sort)
        if backwards:
            return [row for row in reversed(rows) if not after or row.place.sort < after][:limit]
        return [row for row in rows if row.place.sort > after][:limit]

    async def scan(self, beginning: str, sort: str, *, after: str = "", limit: int = 1000) -> Scanned:
        await asyncio.sleep(0)
        self._forget()
        start = split_mark(after) if after else RowKey("", "")
        places = sorted(place for place in self._rows if place.part.startswith(beginning) and place > start)
        some = places[:limit]
        rows = [(self._rows[place], "\n".join(place)) for place in some if place.sort == sort]
        return Scanned(rows, len(some), "\n".join(some[-1]) if len(places) > limit else "")

    def _write(self, one: Write) -> str | None:
        known = self._rows.get(one.place)
        if one.text is None and one.expected is None:
            self._rows.pop(one.place, None)
            self._ends.pop(one.place, None)
            return ""
        if (None if known is None else known.version) != one.expected:
            return None
        if one.text is None:
            del self._rows[one.place]
            self._ends.pop(one.place, None)
        else:
            etag = f"{next(self._etags)}" if self.has_etags else None
            row = self._rows[one.place] = Row(one.place, one.text, etag)
            if one.forget_at is None:
                self._ends.pop(one.place, None)
            elif one.forget_at != KEEP:
                self._ends[one.place] = self._clock.monotonic() + one.forget_at - self.wall()
            return row.version
        return ""

    def _forget(self) -> None:
        now = self._clock.monotonic()
        for place in [place for place, end in self._ends.items() if end < now]:
            del self._rows[place], self._ends[place]
