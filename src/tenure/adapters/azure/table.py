"""The table of a row store in Azure Tables: each row an entity, its etag the version.

A part is mapped to one of a few partitions, so that up to a hundred rows of many parts are changed in one transaction;
the part stands in front of the row's key. `rows.py` does the calls: batches, refusals, texts that are cut up. Used by
`rowstore/`.
"""

import zlib
from collections.abc import Sequence

from tenure.adapters.azure.rows import Change
from tenure.adapters.azure.rows import Row as Entity
from tenure.adapters.azure.store import Store
from tenure.table import KEEP, Row, RowKey, Write

#: What a key must not hold, and what sets part and sort apart.
_ESCAPED = {ord(mark): f"%{ord(mark):02X}" for mark in "/\\#?%!"} | {
    code: f"%{code:02X}" for code in [*range(0x20), *range(0x7F, 0xA0)]
}
_APART, _BEYOND = "!", '"'
#: UTF-8; and how much of it counts, because a shorter text that is merged leaves pieces of the longer one.
_TEXT, _LENGTH, _FORGET = "T", "N", "F"


class AzureTable:
    """Rows in one table of the account."""

    has_etags = True

    def __init__(self, store: Store) -> None:
        """Stand on `store`, which opens and closes with it."""
        self._store = store

    async def open(self) -> None:
        await self._store.open()

    async def close(self) -> None:
        await self._store.close()

    def now(self) -> float:
        return self._store.timeline.now()

    def latest(self) -> float:
        """The moment, if it is as late as it may be: for the deadlines of leases."""
        return self._store.timeline.latest()

    def wall(self) -> float:
        return self._store.wall()

    async def get(self, places: Sequence[RowKey]) -> list[Row | None]:
        asked = list(dict.fromkeys(places))
        found = await self._store.rows.get_all([self._key(place) for place in asked])
        rows = dict(zip(asked, found, strict=True))
        return [None if (entity := rows[place]) is None else _row(place, entity) for place in places]

    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        if not batch:
            return []
        done = await self._store.rows.commit([[self._change(one)] for one in batch])
        return [_answer(one, rows) for one, rows in zip(batch, done, strict=True)]

    async def page(self, part: str, *, after: str = "", limit: int = 100, backwards: bool = False) -> list[Row]:
        begin = f"{part.translate(_ESCAPED)}{_APART}"
        low, high = begin, f"{part.translate(_ESCAPED)}{_BEYOND}"
        if after and backwards:
            high = f"{begin}{after.translate(_ESCAPED)}"
        elif after:
            low = f"{begin}{after.translate(_ESCAPED)}\x20"
        rows: list[Row] = []
        entities = self._store.rows.between(self._partition(part), low, high, limit=None if backwards else limit)
        async for entity in entities:
            rows.append(_row(RowKey(part, _unescaped(entity.key.removeprefix(begin))), entity))
            if not backwards and len(rows) == limit:
                break
        return rows[::-1][:limit] if backwards else rows

    def _change(self, one: Write) -> Change:
        part, key = self._key(one.place)
        if one.text is None:
            return Change("delete", Entity(part, key, {}, one.expected or ""))
        data = one.text.encode()
        fields = {_TEXT: data, _LENGTH: len(data)}
        if one.forget_at is not None and one.forget_at != KEEP:
            fields[_FORGET] = int(one.forget_at)
        act = "insert" if one.expected is None else "merge" if one.forget_at == KEEP else "replace"
        return Change(act, Entity(part, key, fields, one.expected or ""))

    def _key(self, place: RowKey) -> tuple[str, str]:
        key = f"{place.part.translate(_ESCAPED)}{_APART}{place.sort.translate(_ESCAPED)}"
        return self._partition(place.part), key

    def _partition(self, part: str) -> str:
        return f"{zlib.crc32(part.encode()) % self._store.partitions:02d}"


def _row(place: RowKey, entity: Entity) -> Row:
    data: bytes = entity.fields[_TEXT]
    return Row(place, data[: entity.fields[_LENGTH]].decode(), entity.etag)


def _answer(one: Write, rows: list[Entity] | None) -> str | None:
    if one.text is None:
        return "" if rows is not None or one.expected is None else None
    return None if rows is None else rows[0].etag


def _unescaped(text: str) -> str:
    for code, mark in _ESCAPED.items():
        if code != ord("%"):
            text = text.replace(mark, chr(code))
    return text.replace("%25", "%")
