"""LogPages: a log in the table. Each append is one row or a few; what is appended has a number, without gaps.

The number of its first entry is a page's place, and a page is written only where none is: so of two who append at once
one is told, and goes on behind the other. A write that is refused is paid for too, so whoever meets others appends less
often, and more at once. Used by `journal.py` and `act_log.py`.
"""

import asyncio
import math
import random
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

from tenure.errors import BrokerUnavailable
from tenure.rowstore.row_changes import RowChanges
from tenure.table import KEEP, Row, RowKey, Write

T = TypeVar("T")

_PAGE_BYTES = 60_000
_PAGE_ENTRIES = 500
_TRIES = 100
#: LogPages that are read at once: all that there are, by whoever searches for few, or backwards.
_READ, _SEARCHED, _READ_BACK = 100, 10, 10
#: Seconds: the pause after a place was found taken, at first and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.5
#: Seconds between two appends while others append too, at first and at most; and when it is none again.
_FIRST_PACE, _SLOWEST, _NO_PACE = 0.05, 2.0, 0.02


class _Page(msgspec.Struct, omit_defaults=True):
    """`count` numbers from the page's place on; `entries` are the last of them, if some were forgotten."""

    count: int
    newest: float = 0.0
    entries: tuple[msgspec.Raw, ...] = ()


_encode = msgspec.json.Encoder().encode
_read = msgspec.json.Decoder(_Page).decode


class LogPages(Generic[T]):
    """A log under one part of the table."""

    def __init__(self, changes: RowChanges, type_: type[T]) -> None:
        """Of entries of that type."""
        self._rows = changes
        self._decoder = msgspec.json.Decoder(type_)
        #: Where the next entry of each part probably goes.
        self._next: dict[str, int] = {}
        #: The parts to which others append too: there it is asked where the next entry goes.
        self._shared: set[str] = set()
        #: How long to let entries gather before the next append, and when the last one was.
        self._pace: dict[str, float] = {}
        self._ended: dict[str, float] = {}
        #: What was to be appended when an error came, and where its pages were written, or perhaps were.
        self._broken: dict[str, tuple[list[str], list[int]]] = {}

    async def append(
        self, part: str, entries: Sequence[T], newest: float, *, forget_at: float | None = None, base: int = 0
    ) -> None:
        """Add entries, in this order. The same ones again, right after an error, are added once.

        `forget_at`: when the table may remove their pages by itself. So there may be none left, though there were some:
        then their numbers begin after `base`.
        """
        await self._wait(part)
        raws = [msgspec.Raw(_encode(entry)) for entry in entries]
        pages = [_Page(len(some), newest, some) for some in _split(raws)]
        texts = [_encode(page).decode() for page in pages]
        before, tried = self._broken.pop(part, ([], []))
        places = tried if before == texts else []
        try:
            for number, (page, text) in enumerate(zip(pages, texts, strict=True)):
                if number >= len(places) or not await self._is_there(part, places[number], text):
                    del places[number:]
                    await self._append(part, page.count, text, places, forget_at, base)
        except BaseException:
            self._broken[part] = (texts, places)
            raise

    async def _wait(self, part: str) -> None:
        """Leave the log to others for a while, if there are others."""
        pace = self._pace.get(part, 0.0)
        if pace:
            due = self._ended.get(part, 0.0) + pace * random.uniform(0.5, 1.5)  # noqa: S311 - no secret
            await asyncio.sleep(max(0.0, due - self._rows.clock.monotonic()))

    def _note_end(self, part: str, *, met_others: bool) -> None:
        self._ended[part] = self._rows.clock.monotonic()
        pace = self._pace.pop(part, 0.0)
        pace = min(_SLOWEST, max(_FIRST_PACE, 2 * pace)) if met_others else 0.8 * pace
        if pace > _NO_PACE:
            self._pace[part] = pace

    async def _is_there(self, part: str, place: int, text: str) -> bool:
        (row,) = await self._rows.table.get([RowKey(part, _sort(place))])
        return row is not None and row.text == text

    async def _append(
        self, part: str, count: int, text: str, places: list[int], forget_at: float | None, base: int
    ) -> None:
        for tried in range(_TRIES):
            place = await self._next_place(part, base)
            places.append(place)
            (done,) = await self._rows.table.write([Write(RowKey(part, _sort(place)), text, None, forget_at)])
            if done is not None:
                self._next[part] = place + count
                self._note_end(part, met_others=tried > 0)
                return
            places.pop()
            is_news = part not in self._shared
            self._shared.add(part)
            if not is_news:
                pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**tried)
                await asyncio.sleep(pause * random.random())  # noqa: S311 - no secret
        raise BrokerUnavailable(f"others append to {part} at the same time; nothing was written; retrying")

    async def _next_place(self, part: str, base: int) -> int:
        thought = self._next.get(part)
        if thought is not None and part not in self._shared:
            return thought
        place = (await self.last(part) or base) + 1
        if place == thought:
            self._shared.discard(part)
        return place

    async def last(self, part: str) -> int:
        """The number of the newest entry; 0 if there is none."""
        rows = await self._rows.table.page(part, limit=1, backwards=True)
        return _number(rows[0]) + _read(rows[0].text).count - 1 if rows else 0

    async def read(self, part: str, after: int, limit: int) -> list[tuple[int, T]]:
        """Entries after number `after`, oldest first."""
        return await self.search(part, after, limit, lambda _: True, at_once=_READ)

    async def search(
        self, part: str, after: int, limit: int, is_wanted: Callable[[T], bool], *,
        since: float = 0.0, until: float = math.inf, at_once: int = _SEARCHED,
    ) -> list[tuple[int, T]]:  # fmt: skip
        """Wanted entries after number `after`, oldest first; pages whose newest is older than `since` are left out.

        After a page whose newest is later than `until` it does not go on. Reads so many pages `at_once`.
        """
        table = self._rows.table
        found: list[tuple[int, T]] = []
        # The page that holds `after` may hold the next one too.
        start = await table.page(part, after=_sort(after + 1), limit=1, backwards=True) if after > 0 else []
        rows = start + await table.page(part, after=_sort(after), limit=at_once)
        seen: set[str] = set()
        while rows:
            for row in rows:
                if row.place.sort in seen:
                    continue
                seen.add(row.place.sort)
                page = _read(row.text)
                if page.newest < since:
                    continue
                first = _number(row) + page.count - len(page.entries)
                for number, raw in enumerate(page.entries, first):
                    if number > after and is_wanted(entry := self._decoder.decode(raw)):
                        found.append((number, entry))
                if len(found) >= limit or page.newest > until:
                    return found[:limit]
            rows = await table.page(part, after=rows[-1].place.sort, limit=at_once)
        return found

    async def read_back(self, part: str, before: int, limit: int) -> list[tuple[int, T]]:
        """The newest entries before number `before` (0: of all), newest first."""
        found: list[tuple[int, T]] = []
        after = _sort(before) if before > 0 else ""
        while len(found) < limit:
            rows = await self._rows.table.page(part, after=after, limit=_READ_BACK, backwards=True)
            for row in rows:
                page = _read(row.text)
                last = _number(row) + page.count - 1
                for number, raw in zip(range(last, -1, -1), reversed(page.entries), strict=False):
                    if not before or number < before:
                        found.append((number, self._decoder.decode(raw)))
            if len(rows) < _READ_BACK:
                break
            after = rows[-1].place.sort
        return found[:limit]

    async def first(self, part: str) -> int:
        """The number of the oldest entry that is kept; 0 if there is none."""
        after = ""
        while rows := await self._rows.table.page(part, after=after, limit=1):
            page = _read(rows[0].text)
            if page.entries:
                return _number(rows[0]) + page.count - len(page.entries)
            after = rows[0].place.sort  # the last page stays, so that the numbers go on
        return 0

    async def has_behind(self, part: str, after: int) -> bool:
        """Whether a page was appended behind number `after`: one read of nothing, mostly."""
        return bool(await self._rows.table.page(part, after=_sort(after), limit=1))

    async def before(self, part: str, since: float) -> int:
        """A number so that entries as new as `since` lie behind it; found in a few reads, whatever the log's length.

        LogPages lie in the order in which they were appended, and so nearly in the order of time.
        """
        low, high = 0, await self.last(part)
        first = await self._rows.table.page(part, limit=1)
        if not first or _read(first[0].text).newest >= since:
            return 0
        low = _number(first[0])
        while high - low > _PAGE_ENTRIES:
            middle = (low + high) // 2
            rows = await self._rows.table.page(part, after=_sort(middle), limit=1)
            if not rows or _number(rows[0]) >= high or _read(rows[0].text).newest >= since:
                high = middle
            else:
                low = _number(rows[0])
        return low - 1

    async def drop(self, part: str, is_old: Callable[[T], bool], keep: int = 0) -> int:
        """Forget entries from the beginning that are old, but the newest `keep`; how many. The numbers go on."""
        last = await self.last(part)
        dropped = 0
        after = ""
        while rows := await self._rows.table.page(part, after=after, limit=100):
            for row in rows:
                page = _read(row.text)
                first = _number(row) + page.count - len(page.entries)
                left = [
                    raw
                    for number, raw in enumerate(page.entries, first)
                    if number > last - keep or not is_old(self._decoder.decode(raw))
                ]
                gone = len(page.entries) - len(left)
                is_last = _number(row) + page.count - 1 == last
                if gone:
                    text = _encode(_Page(page.count, page.newest, tuple(left))).decode() if left or is_last else None
                    (done,) = await self._rows.table.write([Write(row.place, text, row.version, KEEP)])
                    dropped += gone if done is not None else 0
                if left:
                    return dropped
            after = rows[-1].place.sort
        return dropped

    async def rewrite(self, part: str, after: str, change: Callable[[T], T | None]) -> tuple[int, str | None]:
        """Replace the entries of the next pages for which `change` returns another; how many, and where to go on."""
        rows = await self._rows.table.page(part, after=after, limit=_SEARCHED)
        changed = 0
        for row in rows:
            changed += await self._rewrite_page(row, change)
        return changed, rows[-1].place.sort if len(rows) == _SEARCHED else None

    async def _rewrite_page(self, row: Row | None, change: Callable[[T], T | None]) -> int:
        while row is not None:
            page = _read(row.text)
            found = [change(self._decoder.decode(raw)) for raw in page.entries]
            if not any(one is not None for one in found):
                return 0
            entries = tuple(
                raw if one is None else msgspec.Raw(_encode(one)) for raw, one in zip(page.entries, found, strict=True)
            )
            text = _encode(_Page(page.count, page.newest, entries)).decode()
            (done,) = await self._rows.table.write([Write(row.place, text, row.version, KEEP)])
            if done is not None:
                return sum(one is not None for one in found)
            # It was pruned meanwhile.
            (row,) = await self._rows.table.get([row.place])
        return 0


def _split(raws: Sequence[msgspec.Raw]) -> list[tuple[msgspec.Raw, ...]]:
    pages: list[list[msgspec.Raw]] = []
    size = 0
    for raw in raws:
        length = len(bytes(raw))
        if not pages or size + length > _PAGE_BYTES or len(pages[-1]) >= _PAGE_ENTRIES:
            pages.append([])
            size = 0
        pages[-1].append(raw)
        size += length
    return [tuple(page) for page in pages]


def _sort(number: int) -> str:
    return f"{number:020}"


def _number(row: Row) -> int:
    return int(row.place.sort)
