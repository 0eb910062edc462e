"""Pages: a log in the table. Each append is one row or a few; what is appended has a number, without gaps.

The number of its first entry is a page's place, and a page is written only where none is: so of two who append at once
one is told, and goes on behind the other. Used by `journal.py`.
"""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

from tenure.adapters.aws.desk import Desk
from tenure.adapters.aws.table import KEEP, Place, Row, Write
from tenure.errors import BrokerUnavailable

T = TypeVar("T")

_PAGE_BYTES = 60_000
_PAGE_ENTRIES = 500
_TRIES = 100


class _Page(msgspec.Struct, omit_defaults=True):
    """`count` numbers from the page's place on; `entries` are the last of them, if some were forgotten."""

    count: int
    newest: float = 0.0
    entries: tuple[msgspec.Raw, ...] = ()


_encode = msgspec.json.Encoder().encode
_read = msgspec.json.Decoder(_Page).decode


class Pages(Generic[T]):
    """A log under one part of the table."""

    def __init__(self, desk: Desk, type_: type[T]) -> None:
        """Of entries of that type."""
        self._desk = desk
        self._decoder = msgspec.json.Decoder(type_)
        #: Where the next entry of each part probably goes.
        self._next: dict[str, int] = {}
        #: What was to be appended when an error came, and where its pages were written, or perhaps were.
        self._broken: dict[str, tuple[list[str], list[int]]] = {}

    async def append(self, part: str, entries: Sequence[T], newest: float) -> None:
        """Add entries, in this order. The same ones again, right after an error, are added once."""
        raws = [msgspec.Raw(_encode(entry)) for entry in entries]
        pages = [_Page(len(some), newest, some) for some in _split(raws)]
        texts = [_encode(page).decode() for page in pages]
        before, tried = self._broken.pop(part, ([], []))
        places = tried if before == texts else []
        try:
            for number, (page, text) in enumerate(zip(pages, texts, strict=True)):
                if number >= len(places) or not await self._is_there(part, places[number], text):
                    del places[number:]
                    await self._append(part, page.count, text, places)
        except BaseException:
            self._broken[part] = (texts, places)
            raise

    async def _is_there(self, part: str, place: int, text: str) -> bool:
        (row,) = await self._desk.table.get([Place(part, _sort(place))])
        return row is not None and row.text == text

    async def _append(self, part: str, count: int, text: str, places: list[int]) -> None:
        for _ in range(_TRIES):
            place = self._next.get(part) or await self.last(part) + 1
            places.append(place)
            (done,) = await self._desk.table.write([Write(Place(part, _sort(place)), text, None)])
            if done:
                self._next[part] = place + count
                return
            places.pop()
            self._next.pop(part, None)
        raise BrokerUnavailable(f"others append to {part} all the time; nothing was written, and it is tried again")

    async def last(self, part: str) -> int:
        """The number of the newest entry; 0 if there is none."""
        rows = await self._desk.table.page(part, limit=1, backwards=True)
        return _number(rows[0]) + _read(rows[0].text).count - 1 if rows else 0

    async def read(self, part: str, after: int, limit: int, since: float = 0.0) -> list[tuple[int, T]]:
        """Entries after number `after`, oldest first; pages whose newest is older than `since` may be left out."""
        found: list[tuple[int, T]] = []
        # The page that holds `after` may hold the next one too.
        start = await self._desk.table.page(part, after=_sort(after + 1), limit=1, backwards=True) if after > 0 else []
        rows = start + await self._desk.table.page(part, after=_sort(after), limit=100)
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
                    if number > after:
                        found.append((number, self._decoder.decode(raw)))
                if len(found) >= limit:
                    return found[:limit]
            rows = await self._desk.table.page(part, after=rows[-1].place.sort, limit=100)
        return found

    async def drop(self, part: str, is_old: Callable[[T], bool], keep: int = 0) -> int:
        """Forget entries from the beginning that are old, but the newest `keep`; how many. The numbers go on."""
        last = await self.last(part)
        dropped = 0
        after = ""
        while rows := await self._desk.table.page(part, after=after, limit=100):
            for row in rows:
                page = _read(row.text)
                first = _number(row) + page.count - len(page.entries)
                left = [
                    raw for number, raw in enumerate(page.entries, first)
                    if number > last - keep or not is_old(self._decoder.decode(raw))
                ]  # fmt: skip
                gone = len(page.entries) - len(left)
                is_last = _number(row) + page.count - 1 == last
                if gone:
                    text = _encode(_Page(page.count, page.newest, tuple(left))).decode() if left or is_last else None
                    (done,) = await self._desk.table.write([Write(row.place, text, row.text, KEEP)])
                    dropped += gone if done else 0
                if left:
                    return dropped
            after = rows[-1].place.sort
        return dropped


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
