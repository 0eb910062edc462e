"""The rows in another table: in Redis, or in a file of one machine (`state=redis://…`, `state=local`).

The same verbs as `rows.py`, over a table that knows only texts which are changed by whoever knows what they say. A
row's version is its text. What compares nothing is read first, and tried again if it was changed in between; only what
an upsert puts is taken to be new at first, as it nearly always is. Conditions on fields are looked at here. Made by
`store.py`; the table comes from `assembly.py`.
"""

import base64
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import msgspec

from tenure.adapters.azure.rows import Caller, Change, Group, Row
from tenure.adapters.azure.where import Where
from tenure.table import GroupTable, RowKey, Write

#: So many rows are read at once.
_PAGE = 500


class TableRows:
    """Rows as texts."""

    def __init__(self, caller: Caller, table: GroupTable, name: str) -> None:
        """`name` sets the rows of this account apart from those of others in the same table."""
        self._caller = caller
        self._table = table
        self._name = name

    async def open(self) -> None:
        """Connect, and make what must exist."""
        await self._caller.call("opening the state", self._table.open)

    async def close(self) -> None:
        """Let go."""
        await self._table.close()

    def wall(self) -> float:
        """Wall time by that table's clock."""
        return self._table.wall()

    async def get(self, part: str, key: str) -> Row | None:
        """One row. None: it is not there."""
        return (await self.get_all([(part, key)]))[0]

    async def get_all(self, keys: Iterable[tuple[str, str]]) -> list[Row | None]:
        """Several rows, looked up in one call."""
        asked = list(keys)
        found = await self._get([self._place(part, key) for part, key in asked])
        return [None if text is None else _row(part, key, text) for (part, key), text in zip(asked, found, strict=True)]

    async def scan(
        self,
        part: str,
        prefix: str,
        where: Where | None = None,
        *,
        only: Sequence[str] | None = None,  # noqa: ARG002 - a row is one text
    ) -> list[Row]:
        """Rows of one part whose key begins with `prefix`, by key."""
        high = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        return [row async for row in self.between(part, prefix, high, where)]

    async def between(
        self,
        part: str,
        low: str,
        high: str,
        where: Where | None = None,
        *,
        limit: int | None = None,
        only: Sequence[str] | None = None,  # noqa: ARG002 - a row is one text
    ) -> AsyncIterator[Row]:
        """Rows of one part from `low` to before `high`."""
        name, size = self._place(part, low).part, min(limit or _PAGE, _PAGE)
        after = low[:-1] + chr(ord(low[-1]) - 1) + "\uffff"  # what comes right before `low`: keys are of small letters
        while True:
            begin = after
            page = await self._caller.call("a query", lambda: self._table.page(name, after=begin, limit=size))  # noqa: B023
            for found in page:
                after = found.place[1]
                if after >= high:
                    return
                row = _row(part, after, found.text)
                if where is None or where.holds(row.fields):
                    yield row
            if len(page) < size:
                return

    async def commit(self, groups: Sequence[Group]) -> list[list[Row] | None]:
        """Carry the groups out. For each: its rows with their new versions; None: somebody else was first."""
        answers: list[list[Row] | None] = [None] * len(groups)
        open_, is_first = list(range(len(groups))), True
        while open_:
            known = await self._known([change for number in open_ for change in groups[number]], is_first=is_first)
            is_first = False
            asked = [
                (number, writes) for number in open_ if (writes := self._writes(groups[number], known)) is not None
            ]
            told = await self._commit([writes for _, writes in asked])
            open_ = []
            for (number, writes), done in zip(asked, told, strict=True):
                if done:
                    rows = (change.row for change in groups[number])
                    answers[number] = [
                        msgspec.structs.replace(row, etag=write.text or "")
                        for row, write in zip(rows, writes, strict=True)
                    ]
                elif any(_compares_nothing(change) for change in groups[number]):
                    open_.append(number)
            open_ = await self._worth_another_try(groups, open_)
        return answers

    async def commit_one(self, *changes: Change) -> list[Row] | None:
        """One group."""
        return (await self.commit([changes]))[0]

    async def _worth_another_try(self, groups: Sequence[Group], numbers: list[int]) -> list[int]:
        """Those of which every row that is compared is still as it was read: then it was one of the others."""
        if not numbers:
            return []
        changes = [change for number in numbers for change in groups[number] if not _compares_nothing(change)]
        texts = await self._get([self._place(change.row.part, change.row.key) for change in changes])
        lost = {id(change) for change, text in zip(changes, texts, strict=True) if (text or "") != change.row.etag}
        return [number for number in numbers if not any(id(change) in lost for change in groups[number])]

    async def _known(self, changes: Sequence[Change], *, is_first: bool) -> dict[RowKey, str | None]:
        """What the rows say that are changed without a comparison. None: it is not there, or thought not to be."""
        acts: dict[RowKey, set[str]] = {}
        for change in changes:
            if _compares_nothing(change):
                acts.setdefault(self._place(change.row.part, change.row.key), set()).add(change.act)
        asked = [place for place, done in acts.items() if not (is_first and done == {"upsert"})]
        return dict.fromkeys(acts) | dict(zip(asked, await self._get(asked), strict=True))

    def _writes(self, group: Group, known: dict[RowKey, str | None]) -> list[Write] | None:
        """What to write. None: what is to be changed is not there."""
        writes = []
        for change in group:
            row, place = change.row, self._place(change.row.part, change.row.key)
            expected = known[place] if _compares_nothing(change) else row.etag or None
            if expected is None and change.act not in ("insert", "upsert"):
                return None
            match change.act:
                case "delete":
                    text = None
                case "merge":
                    text = _text(_fields(expected or "") | row.fields)
                case _:
                    text = _text(row.fields)
            writes.append(Write(place, text, expected))
        return writes

    async def _get(self, places: Sequence[RowKey]) -> list[str | None]:
        if not places:
            return []
        found = await self._caller.call("a look-up", lambda: self._table.get(places))
        return [None if row is None else row.text for row in found]

    async def _commit(self, groups: Sequence[Sequence[Write]]) -> list[bool]:
        if not groups:
            return []
        done: list[bool] = await self._caller.call("some changes", lambda: self._table.commit(groups))
        return done

    def _place(self, part: str, key: str) -> RowKey:
        # By the first letter too, so that a scan of one kind of rows does not read the others.
        return RowKey(f"{self._name}{part}:{key[0]}", key)


def _compares_nothing(change: Change) -> bool:
    return change.act != "insert" and not change.row.etag


def _text(fields: dict[str, Any]) -> str:
    """Bytes as base64, under names that say so: a field has a letter first."""
    said: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, bytes):
            said[f"!{name}"] = base64.b64encode(value).decode("ascii")
        elif value is not None:
            said[name] = value
    return msgspec.json.encode(said).decode()


def _fields(text: str) -> dict[str, Any]:
    said: dict[str, Any] = msgspec.json.decode(text)
    return {
        name.removeprefix("!"): base64.b64decode(value) if name.startswith("!") else value
        for name, value in said.items()
    }


def _row(part: str, key: str, text: str) -> Row:
    return Row(part, key, _fields(text), text)
