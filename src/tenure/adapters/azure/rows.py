"""The table: rows with versions, changed only by comparison.

`commit` takes groups of changes. A group takes effect as a whole or not at all, and only if every row in it is as it
was read; groups stand for themselves. Whatever fits goes out in one call of up to 100 changes. Who loses is told, and
reads again. Before: `store.py`. Used by every other file here.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Protocol

import msgspec
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.data.tables import TableTransactionError, UpdateMode

from tenure.adapters.azure.bulk import ENDING, Bulk
from tenure.adapters.azure.where import Where

#: The service takes so many changes in one call, and four mebibytes; a line takes one in a go.
_MOST_CHANGES = 100
_MOST_BYTES = 1_000_000
#: A value holds 64 KiB; larger ones are cut up.
_PIECE = 60_000
_MOST_PIECES = 13
#: After so many refused groups of one call the others go one by one: each refusal costs another call.
_REFUSALS = 2
_LOST_RACE = frozenset({404, 409, 412})
_LOOK_UP, _QUERY, _CHANGE, _CHANGES = "a look-up", "a query", "a change", "some changes"
#: What is asked of the table: if that worked before, the table was there.
OF_TABLE = frozenset({_LOOK_UP, _QUERY, _CHANGE, _CHANGES})


class Row(msgspec.Struct, frozen=True):
    """A row as it was read or is to be written. `etag` is its version; empty: it is not there yet."""

    part: str
    key: str
    fields: dict[str, Any]
    etag: str = ""


class Change(msgspec.Struct, frozen=True):
    """What shall become of a row."""

    #: insert, replace, merge, delete; or upsert, which compares nothing.
    act: str
    row: Row


Group = Sequence[Change]


class Caller(Protocol):
    """Makes a call and translates what goes wrong."""

    async def call(self, what: str, act: Any) -> Any:
        """The answer."""
        ...


class Rows:
    """The rows of one table."""

    def __init__(self, caller: Caller, client: Any, bulk: Bulk | None) -> None:
        """`client()` is the SDK's client of the table; `bulk` takes what is too large for it, if anything is."""
        self._caller = caller
        self._client = client
        self.bulk = bulk

    async def get(self, part: str, key: str, *, seen: str = "") -> Row | None:
        """One row. None: it is not there. `seen` is a version of which a large value could not be found."""
        try:
            found = await self._caller.call(_LOOK_UP, lambda: self._client().get_entity(part, key))
        except ResourceNotFoundError:
            return None
        row = _row(found)
        if self.bulk is None:
            return row
        fields = await self.bulk.fetch(row.fields, is_latest=row.etag == seen)
        # A large value is gone: somebody has just written the row anew.
        return await self.get(part, key, seen=row.etag) if fields is None else Row(part, key, fields, row.etag)

    async def is_named(self, part: str, key: str, blob: str) -> bool:
        """Whether a row names this blob."""
        try:
            found = await self._caller.call(_LOOK_UP, lambda: self._client().get_entity(part, key))
        except ResourceNotFoundError:
            return False
        return blob in found.values()

    async def get_all(self, keys: Iterable[tuple[str, str]]) -> list[Row | None]:
        """Several rows, looked up side by side."""
        return list(await asyncio.gather(*(self.get(part, key) for part, key in keys)))

    async def open(self) -> None:
        """The client connects by itself."""

    async def close(self) -> None:
        """Whoever made the client closes it."""

    async def scan(
        self, part: str, prefix: str, where: Where | None = None, *, only: Sequence[str] | None = None
    ) -> list[Row]:
        """Rows of one part whose key begins with `prefix`, by key; of their fields perhaps `only` some."""
        low, high = prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)
        return [row async for row in self.between(part, low, high, where, only=only)]

    async def between(
        self,
        part: str,
        low: str,
        high: str,
        where: Where | None = None,
        *,
        limit: int | None = None,
        only: Sequence[str] | None = None,
    ) -> AsyncIterator[Row]:
        """Rows of one part from `low` to before `high`."""
        parameters: dict[str, Any] = {"part": part, "low": low, "high": high}
        text = "PartitionKey eq @part and RowKey ge @low and RowKey lt @high"
        if where is not None:
            text += f" and ( {where.told(parameters)} )"
        # Without a page size: those of the service are as large as can be.
        pages = (
            self._client()
            .query_entities(text, parameters=parameters, results_per_page=limit, select=_told(only))
            .by_page()
        )
        while True:
            page = await self._caller.call(_QUERY, lambda: _next_page(pages))
            if page is None:
                return
            for found in page:
                row: Row | None = _row(found)
                if row is None or self.bulk is None:
                    pass
                elif (fields := await self.bulk.fetch(row.fields)) is not row.fields:
                    row = (
                        await self.get(part, row.key, seen=row.etag)
                        if fields is None
                        else Row(part, row.key, fields, row.etag)
                    )
                if row is not None:
                    yield row

    async def look(
        self, part: str, where: Where, token: Any, *, only: Sequence[str] | None = None
    ) -> tuple[list[Row], Any]:
        """What one query finds among all rows of a part, and the token of the next query; None: that was the last.

        No index knows `where`: the service reads row by row, for five seconds at most.
        """
        parameters: dict[str, Any] = {"part": part}
        text = f"PartitionKey eq @part and ( {where.told(parameters)} )"
        pages = self._client().query_entities(text, parameters=parameters, select=_told(only)).by_page(token)
        page = await self._caller.call(_QUERY, lambda: _next_page(pages))
        return [_row(found) for found in page or ()], None if page is None else pages.continuation_token

    async def commit(self, groups: Sequence[Group]) -> list[list[Row] | None]:
        """Carry the groups out. For each: its rows with their new versions; None: somebody else was first."""
        answers: list[list[Row] | None] = [None] * len(groups)
        groups = [[await self._stowed(change) for change in group] for group in groups]
        by_part: defaultdict[str, list[list[int]]] = defaultdict(list)
        for batch in _batches(groups):
            by_part[groups[batch[0]][0].row.part].append(batch)

        async def commit(batches: list[list[int]]) -> None:
            for batch in batches:
                await self._commit(groups, batch, answers)

        # Parts side by side: with 64 of them nearly every message is in one of its own.
        told = await asyncio.gather(*map(commit, by_part.values()), return_exceptions=True)
        for failure in told:
            if failure is not None:
                raise failure
        return answers

    async def _stowed(self, change: Change) -> Change:
        row = change.row
        if change.act == "delete" or self.bulk is None:
            return change
        fields = await self.bulk.stow(row.part, row.key, row.fields)
        return change if fields is row.fields else Change(change.act, msgspec.structs.replace(row, fields=fields))

    async def commit_one(self, *changes: Change) -> list[Row] | None:
        """One group."""
        return (await self.commit([changes]))[0]

    async def _commit(self, groups: Sequence[Group], batch: list[int], answers: list[list[Row] | None]) -> None:
        for _ in range(_REFUSALS):
            if not batch:
                return
            refused = await self._try(groups, batch, answers)
            if refused is None:
                return
            batch = [number for number in batch if number != refused]
        await asyncio.gather(*(self._try(groups, [number], answers) for number in batch))

    async def _try(self, groups: Sequence[Group], batch: list[int], answers: list[list[Row] | None]) -> int | None:
        """Carry out all, or nothing; the number of the group that was refused."""
        changes = [(number, change) for number in batch for change in groups[number]]
        try:
            # Alone, the SDK would keep it to itself if what is to be deleted is not there.
            if len(changes) == 1 and changes[0][1].act != "delete":
                told = [await self._caller.call(_CHANGE, lambda: self._single(changes[0][1]))]
            else:
                acts = [_operation(change) for _, change in changes]
                told = await self._caller.call(_CHANGES, lambda: self._client().submit_transaction(acts))
        except TableTransactionError as error:
            if error.status_code not in _LOST_RACE:
                raise
            index = error.index if 0 <= error.index < len(changes) else 0
            return changes[index][0]
        except HttpResponseError as error:
            if error.status_code not in _LOST_RACE:
                raise
            return batch[0]
        for number in batch:
            answers[number] = []
        for (number, change), answer in zip(changes, told, strict=True):
            rows = answers[number] or []
            answers[number] = rows
            rows.append(msgspec.structs.replace(change.row, etag=str((answer or {}).get("etag") or "")))
        return None

    async def _single(self, change: Change) -> Any:
        client, row = self._client(), change.row
        entity = _entity(row)
        match change.act:
            case "insert":
                return await client.create_entity(entity)
            case "upsert":
                return await client.upsert_entity(entity, mode=UpdateMode.REPLACE)
        mode = UpdateMode.REPLACE if change.act == "replace" else UpdateMode.MERGE
        return await client.update_entity(entity, mode=mode, **_condition(row))


def _told(only: Sequence[str] | None) -> list[str] | None:
    """With the pieces that a large field is cut up into, and the name of its blob."""
    if only is None:
        return None
    pieces = [f"{name}_{number}" for name in only for number in range(1, _MOST_PIECES)]
    return ["PartitionKey", "RowKey", *only, *pieces, *(f"{name}{ENDING}" for name in only)]


async def _next_page(pages: Any) -> list[Any] | None:
    try:
        page = await pages.__anext__()
    except StopAsyncIteration:
        return None
    return [found async for found in page]


def _operation(change: Change) -> tuple[Any, ...]:
    row = change.row
    match change.act:
        case "insert":
            return ("create", _entity(row))
        case "upsert":
            return ("upsert", _entity(row), {"mode": UpdateMode.REPLACE})
        case "delete":
            return ("delete", _entity(row), _condition(row))
    mode = UpdateMode.REPLACE if change.act == "replace" else UpdateMode.MERGE
    return ("update", _entity(row), {"mode": mode, **_condition(row)})


def _condition(row: Row) -> dict[str, Any]:
    if row.etag:
        return {"etag": row.etag, "match_condition": MatchConditions.IfNotModified}
    return {}


def _entity(row: Row) -> dict[str, Any]:
    entity: dict[str, Any] = {"PartitionKey": row.part, "RowKey": row.key}
    for name, value in row.fields.items():
        if isinstance(value, bytes) and len(value) > _PIECE:
            for number, start in enumerate(range(0, len(value), _PIECE)):
                entity[f"{name}_{number}" if number else name] = value[start : start + _PIECE]
        elif value is not None:
            entity[name] = value
    return entity


def _row(found: Any) -> Row:
    fields: dict[str, Any] = {}
    pieces: list[tuple[str, int, bytes]] = []
    for name, value in found.items():
        if name in ("PartitionKey", "RowKey"):
            continue
        stem, _, number = name.rpartition("_")
        if stem and number.isdecimal():
            pieces.append((stem, int(number), value))
        else:
            fields[name] = value
    for stem, _, value in sorted(pieces):
        fields[stem] = fields.get(stem, b"") + value
    return Row(found["PartitionKey"], found["RowKey"], fields, str(found.metadata.get("etag") or ""))


def _batches(groups: Sequence[Group]) -> list[list[int]]:
    """Which groups go out together: of one part, no row twice, and not too much."""
    open_: dict[str, tuple[list[int], set[str], list[int]]] = {}
    done: list[list[int]] = []
    for number, group in enumerate(groups):
        part = group[0].row.part
        keys = {change.row.key for change in group}
        size = sum(_size(change.row) for change in group)
        batch, seen, total = open_.setdefault(part, ([], set(), [0]))
        if batch and (seen & keys or len(seen) + len(keys) > _MOST_CHANGES or total[0] + size > _MOST_BYTES):
            done.append(batch)
            batch, seen, total = open_[part] = ([], set(), [0])
        batch.append(number)
        seen |= keys
        total[0] += size
    return done + [batch for batch, _, _ in open_.values() if batch]


def _size(row: Row) -> int:
    """About so many bytes on the wire."""
    return 500 + sum(len(value) * 4 // 3 if isinstance(value, bytes) else 50 for value in row.fields.values())
