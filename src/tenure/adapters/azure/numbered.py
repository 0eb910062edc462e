"""Rows in one order: each takes the next number of its part, in the same step.

    <part>  e:<number>   a row
            last         the newest number

The number and the rows that take it are one step, by comparison with `last`: no gap, no number twice. Where many write,
most would lose that race; so who lost one takes its time, and writes more at once. Used by `journal.py` for events and
samples, and by `act_log.py`.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.store import Store
from tenure.errors import BrokerUnavailable

#: With `last`, and one that is dropped for each that is kept, within the service's 100.
_MOST = 49
#: And so many bytes in one step.
_MOST_BYTES = 1_000_000
_END = "f"
#: Between two steps of one who lost a race: from, to, and how the pause shrinks when it did not.
_SHORTEST, _LONGEST, _SHRINKS = 0.05, 1.0, 0.9
#: Rows that are read in one request.
_PAGE = 1000


class NumberedRows:
    """The rows of some parts of the table, as one process appends to them."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store
        self._last: dict[str, Row] = {}
        #: How long we stay away from a part that others write to as well, and when we last wrote.
        self._pauses: dict[str, float] = {}
        self._wrote: dict[str, float] = {}
        #: What was to be kept after which number when no answer came.
        self._doubt: dict[str, tuple[int, list[dict[str, Any]]]] = {}

    async def append(self, part: str, fields: list[dict[str, Any]], keep: int | None = None) -> None:
        """Keep these, in this order; no more than `pieces` makes of them. With `keep`, only the newest so many stay."""
        rows, last = self._store.rows, self._last.get(part)
        if await self._is_kept(part, fields):
            return
        if self._pauses.get(part):
            await self._stay_away(part)
            last = await rows.get(part, "last")  # others have written: what we remember is old
        while True:
            seq = 0 if last is None else int(last.fields["Seq"])
            new = Row(part, "last", {"Seq": seq + len(fields)}, "" if last is None else last.etag)
            changes = [Change("insert" if last is None else "replace", new)]
            for number, one in enumerate(fields, seq + 1):
                changes.append(Change("insert", Row(part, key_of(number), one)))
                if keep is not None and number > keep:
                    changes.append(Change("delete", Row(part, key_of(number - keep), {})))
            try:
                told = await rows.commit_one(*changes)
            except BrokerUnavailable as error:
                if error.outcome_unknown:
                    self._doubt[part] = seq, fields
                raise
            if told is not None:
                self._last[part] = told[0]
                self._wrote[part] = self._store.clock.monotonic()
                pause = self._pauses.pop(part, 0.0) * _SHRINKS
                if pause > _SHORTEST / 2:
                    self._pauses[part] = pause
                return
            self._pauses[part] = min(_LONGEST, max(_SHORTEST, 2 * self._pauses.get(part, 0.0)))
            self._wrote[part] = self._store.clock.monotonic()
            await self._stay_away(part)
            last = await rows.get(part, "last")

    async def _stay_away(self, part: str) -> None:
        until = self._wrote.get(part, 0.0) + self._pauses[part] * random.uniform(0.5, 1.5)  # noqa: S311 - only to spread
        await asyncio.sleep(max(0.0, until - self._store.clock.monotonic()))

    async def _is_kept(self, part: str, fields: list[dict[str, Any]]) -> bool:
        """Whether what no answer came for was kept: then it stands behind the place where we wanted it."""
        seq, asked = self._doubt.get(part, (0, []))
        if not asked or asked != fields:
            return False
        row = await self._store.rows.get(part, key_of(seq + 1))
        del self._doubt[part]
        return row is not None and all(row.fields.get(name) == value for name, value in fields[0].items())

    async def last(self, part: str) -> int:
        """The newest number; 0 if there is none."""
        row = await self._store.rows.get(part, "last")
        return 0 if row is None else int(row.fields["Seq"])

    async def first(self, part: str) -> Row | None:
        """The oldest row that is kept."""
        return await self.at(part, 0)

    async def at(self, part: str, number: int) -> Row | None:
        """The first row that has this number or a higher one."""
        async for row in self._store.rows.between(part, key_of(number), _END, limit=1):
            return row
        return None

    async def read(self, part: str, after: int, limit: int) -> list[Row]:
        """The next rows after a number."""
        found: list[Row] = []
        async for row in self._store.rows.between(part, key_of(after + 1), _END, limit=min(limit, _PAGE)):
            found.append(row)
            if len(found) >= limit:
                break
        return found

    async def older_than(self, part: str, before: float) -> AsyncIterator[Row]:
        """From the oldest row to the first whose `At` is young: no index knows `At`, and all would be looked at."""
        first = await self.first(part)
        if first is None or first.fields["At"] >= before:
            return  # on most days: one row was read
        async for row in self._store.rows.between(part, "e:", _END):
            if row.fields["At"] >= before:
                return
            yield row


def number_of(row: Row) -> int:
    """The number of a row."""
    return int(row.key[2:])


def key_of(number: int) -> str:
    """The key of the row with this number."""
    return f"e:{number:016d}"


def pieces(fields: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Cut up so that each fits into one step."""
    found: list[list[dict[str, Any]]] = []
    size = 0
    for one in fields:
        more = 500 + sum(len(value) * 4 // 3 for value in one.values() if isinstance(value, bytes))
        if not found or len(found[-1]) == _MOST or size + more > _MOST_BYTES:
            found.append([])
            size = 0
        found[-1].append(one)
        size += more
    return found
