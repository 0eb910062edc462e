"""The table of a row store in Azure Tables: each row an entity, its etag the version.

A part is mapped to one of a few partitions (`partitions=`), so that up to a hundred rows of many parts are changed in
one transaction; the part stands in front of the row's key. `rows.py` does the calls: batches, refusals, texts that are
cut up.

    m%23<id>!m                      a row: part, `!`, sort
    j$99999999999999999994          the mirror of row j!00000000000000000005

The service reads keys in rising order only. So a row whose sort is a number of twenty digits (pages of logs, the index
of dead letters) has a mirror: an empty entity, made and removed in the same transaction, under the number that falls
as the other rises. Two queries read such a part backwards, however long it is. Used by `rowstore/`.
"""

import hashlib
import re
import zlib
from collections.abc import Sequence
from typing import Any

import msgspec

from tenure.adapters.azure import faults
from tenure.adapters.azure.rows import Change, Rows
from tenure.adapters.azure.rows import Row as Entity
from tenure.adapters.azure.session import Session
from tenure.adapters.azure.where import LT
from tenure.table import KEEP, Row, RowKey, Scanned, Write

#: What a key must not hold, what sets part and sort apart, and what has no UTF-8.
_ESCAPED = {ord(mark): f"%{ord(mark):02X}" for mark in '/\\#?%!"$'} | {
    code: f"%{code:02X}" for code in [*range(0x20), *range(0x7F, 0xA0)]
} | {code: f"%u{code:04X}" for code in range(0xD800, 0xE000)}  # fmt: skip
_ESCAPE = re.compile("%(?:u([0-9A-F]{4})|([0-9A-F]{2}))")
_APART, _BEYOND, _MIRROR, _BEYOND_MIRROR = "!", '"', "$", "%"
_NUMBER = re.compile(r"\d{20}\Z")
_FALLING = str.maketrans("0123456789", "9876543210")
#: A key has room for 512 characters; what is longer is told by its digest, and written beside.
_LONGEST, _KEPT = 240, 150
#: UTF-8; and how much of it counts, because a shorter text that is merged leaves pieces of the longer one.
_TEXT, _LENGTH = "T", "N"
#: When the row may be forgotten; and what its key only tells by a digest.
_FORGET, _PART, _SORT = "F", "P", "S"
_ETAG = re.compile(r'(W/)?"[^"]*"\Z')
_LAYOUT = ("layout", "layout")
_PAGE = 1000
#: One call of `prune` makes so many queries in a partition at most, and the next call goes on there.
_QUERIES = 100
#: From the end of one look at all rows to the begin of the next.
_PRUNE_SECONDS = 3600.0


class AzureTable:
    """Rows in one table of the account."""

    has_etags = True
    #: `prune` removes what is over.
    forgets = True
    #: A row costs the same whatever its size. So much is left free of the mebibyte that it may have.
    row_room = 500_000

    def __init__(self, session: Session) -> None:
        """Stand on `session`, which opens and closes with it."""
        self._session = session
        self._rows = Rows(session, lambda: session.clients.table, None)
        self._partitions = [f"{number:02d}" for number in range(session.options.partitions)]
        #: Where `prune` goes on in each partition, and when it begins anew there.
        self._tokens: dict[str, Any] = {}
        self._prune_at: dict[str, float] = {}

    async def open(self) -> None:
        """Connect; make the table where that was asked for, and look whether it has as many partitions as we think."""
        await self._session.open()
        try:
            await self._prepare()
        except BaseException:
            await self._session.close()
            raise

    async def _prepare(self) -> None:
        session, asked = self._session, len(self._partitions)
        if session.may_create:
            await session.create(session.clients.table.create_table)
        known = await self._rows.get(*_LAYOUT)
        if known is None and not session.must_exist:
            layout = Entity(*_LAYOUT, {"Version": 2, "Partitions": asked})
            await self._rows.commit_one(Change("insert", layout))
        elif known is not None and int(known.fields["Partitions"]) != asked:
            raise faults.other_partitions(session.options.place, int(known.fields["Partitions"]), asked)

    async def close(self) -> None:
        await self._session.close()

    def now(self) -> float:
        return self._session.timeline.now()

    def latest(self) -> float:
        """The moment, if it is as late as it may be: for the deadlines of leases."""
        return self._session.timeline.latest()

    def wall(self) -> float:
        return self._session.wall()

    # -- read ----------------------------------------------------------------------------------------

    async def get(self, places: Sequence[RowKey]) -> list[Row | None]:
        asked = list(dict.fromkeys(places))
        found = await self._rows.get_all([self._key(place) for place in asked])
        rows = dict(zip(asked, found, strict=True))
        return [None if (entity := rows[place]) is None else _row(entity) for place in places]

    async def page(self, part: str, *, after: str = "", limit: int = 100, backwards: bool = False) -> list[Row]:
        if backwards:
            return await self._page_back(part, after, limit)
        begin = _written(part)
        low = f"{begin}{_APART}{_written(after)}\x20" if after else f"{begin}{_APART}"
        return await self._between(part, low, f"{begin}{_BEYOND}", limit)

    async def _between(self, part: str, low: str, high: str, limit: int) -> list[Row]:
        rows: list[Row] = []
        async for entity in self._rows.between(self._partition(part), low, high, limit=min(limit, _PAGE)):
            rows.append(_row(entity))
            if len(rows) == limit:
                break
        return rows

    async def _page_back(self, part: str, after: str, limit: int) -> list[Row]:
        rows: list[Row] = []
        while len(rows) < limit:
            sorts = await self._sorts_back(part, after, limit - len(rows))
            if not sorts:
                break
            if len(sorts) == 1:
                rows += [row for row in await self.get([RowKey(part, sorts[0])]) if row is not None]
            else:
                begin = f"{_written(part)}{_APART}"
                low, high = f"{begin}{_written(sorts[-1])}", f"{begin}{_written(sorts[0])}\x20"
                rows += reversed(await self._between(part, low, high, len(sorts)))
            after = sorts[-1]
        return rows

    async def _sorts_back(self, part: str, before: str, limit: int) -> list[str]:
        """The last sorts of a part that are less than `before`, the greatest first."""
        begin = _written(part)
        low = f"{begin}{_MIRROR}{before.translate(_FALLING)}\x20" if before else f"{begin}{_MIRROR}"
        high, size = f"{begin}{_BEYOND_MIRROR}", min(limit, _PAGE)
        sorts: list[str] = []
        if not before or _NUMBER.match(before):
            mirrored = self._rows.between(self._partition(part), low, high, limit=size, only=())
            async for mirror in mirrored:
                sorts.append(mirror.key.rpartition(_MIRROR)[2].translate(_FALLING))
                if len(sorts) == limit:
                    return sorts
        if sorts or _NUMBER.match(before):
            return sorts
        # Its sorts are no numbers: nothing of Tenure's own is read backwards then, so it need not be quick.
        end = f"{begin}{_APART}{_written(before)}" if before else f"{begin}{_BEYOND}"
        keys = self._rows.between(self._partition(part), f"{begin}{_APART}", end, only=(_SORT,))
        return [_sort_of(entity) async for entity in keys][::-1][:limit]

    async def scan(self, beginning: str, sort: str, *, after: str = "", limit: int = 1000) -> Scanned:
        """Partition by partition, by key. A query for each 1000 rows that are looked at."""
        number, _, key = after.partition("\n")
        if after and (number not in self._partitions or not key):
            msg = f"{after!r} is no mark"
            raise ValueError(msg)
        rows: list[tuple[Row, str]] = []
        looked_at = 0
        begin = _written(beginning)
        for partition in self._partitions[self._partitions.index(number) if after else 0 :]:
            low = f"{key}\x20" if partition == number else begin
            found = self._rows.between(partition, low, f"{begin}\uffff", limit=min(limit - looked_at, _PAGE))
            async for entity in found:
                looked_at += 1
                mark = f"{partition}\n{entity.key}"
                if entity.key.endswith(f"{_APART}{_written(sort)}"):
                    rows.append((_row(entity), mark))
                if looked_at >= limit:
                    return Scanned(rows, looked_at, mark)
        return Scanned(rows, looked_at, "")

    # -- change --------------------------------------------------------------------------------------

    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        # What is no version at all is that of no row; the service would refuse the whole batch for it.
        numbers = [number for number, one in enumerate(batch) if one.expected is None or _ETAG.match(one.expected)]
        done = await self._rows.commit([self._group(batch[number]) for number in numbers]) if numbers else []
        told = dict(zip(numbers, done, strict=True))
        return [_answer(one, told.get(number)) for number, one in enumerate(batch)]

    async def prune(self) -> int:
        """Remove rows whose time is over; how many. Those that are left over, the next call removes."""
        return sum([await self._prune(partition) for partition in self._partitions])

    async def _prune(self, partition: str) -> int:
        gone, now = 0, self._session.clock.monotonic()
        if now < self._prune_at.get(partition, 0.0):
            return 0
        where = LT(_FORGET, self.wall())
        for _ in range(_QUERIES):
            old, token = await self._rows.look(partition, where, self._tokens.get(partition), only=(_FORGET,))
            # Each as it was read: one that was written anew stays.
            done = await self._rows.commit([self._removal(one) for one in old]) if old else []
            gone += sum(one is not None for one in done)
            self._tokens[partition] = token
            if token is None:
                self._prune_at[partition] = now + _PRUNE_SECONDS
                break
        return gone

    def _group(self, one: Write) -> list[Change]:
        part, key = self._key(one.place)
        if one.text is None:
            return self._removal(Entity(part, key, {}, one.expected or ""))
        data = one.text.encode("utf-8", "surrogatepass")
        fields: dict[str, object] = {_TEXT: data, _LENGTH: len(data)} | _beside(one.place)
        if one.forget_at is not None and one.forget_at != KEEP:
            fields[_FORGET] = float(one.forget_at)
        act = "insert" if one.expected is None else "merge" if one.forget_at == KEEP else "replace"
        row = Change(act, Entity(part, key, fields, one.expected or ""))
        mirror = _mirror(key) if act == "insert" else None
        return [row] if mirror is None else [row, Change("insert", Entity(part, mirror, {}))]

    def _removal(self, entity: Entity) -> list[Change]:
        row = Change("delete", msgspec.structs.replace(entity, fields={}))
        mirror = _mirror(entity.key)
        return [row] if mirror is None else [row, Change("delete", Entity(entity.part, mirror, {}))]

    def _key(self, place: RowKey) -> tuple[str, str]:
        return self._partition(place.part), f"{_written(place.part)}{_APART}{_written(place.sort)}"

    def _partition(self, part: str) -> str:
        return f"{zlib.crc32(part.encode('utf-8', 'surrogatepass')) % len(self._partitions):02d}"


def _row(entity: Entity) -> Row:
    data: bytes = entity.fields[_TEXT]
    text = data[: entity.fields[_LENGTH]].decode("utf-8", "surrogatepass")
    part = entity.fields.get(_PART) or _read(entity.key.partition(_APART)[0])
    return Row(RowKey(part, _sort_of(entity)), text, entity.etag)


def _sort_of(entity: Entity) -> str:
    return str(entity.fields.get(_SORT) or _read(entity.key.partition(_APART)[2]))


def _answer(one: Write, rows: list[Entity] | None) -> str | None:
    if one.text is None:
        return "" if rows is not None or one.expected is None else None
    return None if rows is None else rows[0].etag


def _mirror(key: str) -> str | None:
    """The key of a row's mirror. None: it has none."""
    part, _, sort = key.partition(_APART)
    return f"{part}{_MIRROR}{sort.translate(_FALLING)}" if _NUMBER.match(sort) else None


def _beside(place: RowKey) -> dict[str, object]:
    """What its key does not say in full."""
    named = {_PART: place.part, _SORT: place.sort}
    return {name: word for name, word in named.items() if len(word.translate(_ESCAPED)) > _LONGEST}


def _written(word: str) -> str:
    """As it stands in a key."""
    written = word.translate(_ESCAPED)
    if len(written) <= _LONGEST:
        return written
    return f"{written[:_KEPT]}~{hashlib.sha256(word.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _read(written: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), written)
