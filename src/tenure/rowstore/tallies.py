"""Tallies: rows of counts by step and bucket, in parts that hold 360 buckets each.

    y#<step>#<chunk>   <bucket>#<nonce>#<number>

So a look reads the rows it is asked for and no others. Each row carries when the table may forget it (DynamoDB does,
for nothing). What is too old is not shown any more, forgotten or not; where the table does not forget by itself,
`prune` removes it. Used by `journal.py`.
"""

import base64
from collections.abc import Sequence
from math import ceil, isfinite

import msgspec

from tenure.rowstore.row_changes import Change, Kind, RowChanges
from tenure.table import Row, RowKey, Write
from tenure.tally import KEPT_SECONDS, Tally

#: Buckets in one part.
_CHUNK = 360
#: The table may forget a row so much later than it is shown.
_SPARE_SECONDS = 3600.0
_PAGE = 1000
#: So many rows at most are removed in one call of `prune`, for each step.
_REMOVED = 10_000
#: How far back the first call of all looks, in chunks.
_UNPRUNED = 48
_TEXT = Kind(str)


class _Pruned(msgspec.Struct):
    """The first chunk of each step that may still have rows."""

    chunks: dict[int, int] = {}


_PRUNED, _POINTER = Kind(_Pruned), RowKey("yk", "pruned")


class Tallies:
    """Rows of counts."""

    def __init__(self, changes: RowChanges) -> None:
        """Stand on `changes`."""
        self._rows = changes

    async def put(self, batch: Sequence[Tally], hours_kept: float | None) -> None:
        """Keep rows; one of the same step, bucket, nonce and number is replaced. `hours_kept`: None is for ever."""
        last = {_place(one): one for one in batch}
        places = list(last)
        texts = [base64.b64encode(last[place].data).decode() for place in places]
        wall = self._rows.table.wall()

        def decide(number: int, known: str | None) -> Change[None]:
            if known == texts[number]:
                return Change(None)
            one = last[places[number]]
            kept = _kept(one.step, hours_kept)
            forget_at = None if kept is None or known is not None else max(wall, one.bucket) + kept + _SPARE_SECONDS
            return Change(None, texts[number], forget_at=forget_at)

        await self._rows.change(_TEXT, places, decide, are_new=True)

    async def read(self, step: int, since: float, until: float, hours_kept: float | None) -> list[Tally]:
        """Rows of one step with `since <= bucket < until`, in the order of bucket, nonce and number."""
        kept = _kept(step, hours_kept)
        if kept is not None:
            since = max(since, self._rows.table.wall() - kept)
        since, until = max(0.0, since), min(until, self._rows.table.wall() + _CHUNK * step)
        found: list[Tally] = []
        if not since < until:
            return found
        for chunk in range(int(since) // (_CHUNK * step), ceil(until) // (_CHUNK * step) + 1):
            found += await self._read(step, chunk, since, until)
        return sorted(found, key=lambda one: (one.bucket, one.nonce, one.number))

    async def _read(self, step: int, chunk: int, since: float, until: float) -> list[Tally]:
        found: list[Tally] = []
        after = f"{ceil(since):012}"  # before every row of that bucket: theirs go on with a sign
        while True:
            rows = await self._rows.table.page(_part(step, chunk), after=after, limit=_PAGE)
            tallies = [_tally(step, row) for row in rows]
            found += [one for one in tallies if since <= one.bucket < until]
            if len(rows) < _PAGE or tallies[-1].bucket >= until:
                return found
            after = rows[-1].place.sort

    async def prune(self, hours_kept: float | None) -> None:
        """Remove what is too old, chunk by chunk, where the table does not forget by itself."""
        if self._rows.table_forgets:
            return
        (pruned,) = await self._rows.get(_PRUNED, [_POINTER])
        chunks = dict(pruned.chunks) if pruned is not None else {}
        wall = self._rows.table.wall()
        for step in (*KEPT_SECONDS, _HOUR):
            kept = _kept(step, hours_kept)
            if kept is None:
                continue
            end = int((wall - kept) // (_CHUNK * step))
            first = chunks.get(step, end - _UNPRUNED)
            chunks[step] = await self._remove(step, first, end)
        text = _Pruned(chunks)
        await self._rows.change_one(_PRUNED, _POINTER, lambda known: Change(None, None if known == text else text))

    async def _remove(self, step: int, first: int, end: int) -> int:
        """Remove the rows of whole chunks before `end`; the first chunk that is left."""
        left = _REMOVED
        for chunk in range(first, end):
            while rows := await self._rows.table.page(_part(step, chunk), limit=min(_PAGE, left)):
                await self._rows.table.write([Write(row.place, None, None) for row in rows])
                left -= len(rows)
                if left <= 0:
                    return chunk
        return max(first, end)


_HOUR = 3600


def _kept(step: int, hours_kept: float | None) -> float | None:
    kept = KEPT_SECONDS.get(step, hours_kept)
    return kept if kept is not None and isfinite(kept) else None


def _part(step: int, chunk: int) -> str:
    return f"y#{step}#{chunk}"


def _place(one: Tally) -> RowKey:
    sort = f"{one.bucket:012}#{one.nonce}#{one.number:06}"
    return RowKey(_part(one.step, one.bucket // (_CHUNK * one.step)), sort)


def _tally(step: int, row: Row) -> Tally:
    bucket, _, rest = row.place.sort.partition("#")
    nonce, _, number = rest.rpartition("#")
    return Tally(step, int(bucket), nonce, int(number), base64.b64decode(_TEXT.read(row) or ""))
