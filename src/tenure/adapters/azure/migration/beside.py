"""Carrying what lies beside messages: documents, the board, schedules, the audit log, samples, statistics.

All but two are written under their own name, where none is. The audit log and the samples are logs whose entries have
no name: but only a migration writes to the new ones until it is done, and one at a time, so what is there is the
beginning of what is to come, and it goes on behind that.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from tenure.act import Act
from tenure.adapters.azure.migration import layout
from tenure.adapters.azure.migration.earlier import EarlierTables
from tenure.adapters.azure.rows import Row
from tenure.key_value import KeyValue
from tenure.migration import Carried
from tenure.notice import Pause, Post, Tick
from tenure.rowstore.store import Store
from tenure.rules.post_row import PostRow, posts_of
from tenure.sample import Sample
from tenure.state import KEPT_SAMPLES
from tenure.tally import HOUR, KEPT_SECONDS, Tally

T = TypeVar("T")
#: So many entries of a log are written at once, and rows of statistics.
_SOME = 500

_act, _sample = msgspec.json.Decoder(Act).decode, msgspec.json.Decoder(Sample).decode


async def carry(store: Store | None, tables: EarlierTables, tasks: tuple[tuple[str, str], ...], wall: float) -> Carried:
    """Carry all of it; without a store, count it. `tasks` are queue and task of the samples."""
    return Carried(
        documents=await _documents(store, tables, wall),
        notices=await _notices(store, tables, wall),
        schedules=await _schedules(store, tables),
        acts=await _acts(store, tables),
        samples=sum([await _samples(store, tables, *task) for task in tasks]),
        tallies=await _tallies(store, tables),
    )


async def _documents(store: Store | None, tables: EarlierTables, wall: float) -> int:
    count = 0
    async for row in tables.between(layout.DOCUMENTS, "d:", "d;"):
        one = _document(row)
        if one.has_expired(wall):
            continue
        count += 1
        if store is not None:
            await store.key_values.put(one.kind, one.name, one.data, expect=None, expires_at=one.expires_at)
    return count


def _document(row: Row) -> KeyValue:
    _, kind, _ = row.key.split(":", 2)
    fields = row.fields
    return KeyValue(
        kind=kind, name=fields["Name"], data=fields["Data"], version=fields["Version"],
        expires_at=fields.get("ExpiresAt"),
    )  # fmt: skip


async def _notices(store: Store | None, tables: EarlierTables, wall: float) -> int:
    pauses, rows = list[Pause](), list[PostRow]()
    async for row in tables.between(layout.COMMON, "p", "q"):
        if "Post" in row.fields:
            rows.append(msgspec.json.decode(row.fields["Post"], type=PostRow))
        elif "Pause" in row.fields:
            pauses.append(msgspec.json.decode(row.fields["Pause"], type=Pause))
    posts: tuple[Post, ...] = posts_of(rows, wall)
    if store is not None:
        for pause in pauses:
            await store.board.pause(pause)
        for post in posts:
            await store.board.post(post)
    return len(pauses) + len(posts)


async def _schedules(store: Store | None, tables: EarlierTables) -> int:
    count = 0
    async for row in tables.between(layout.COMMON, "t:", "t;"):
        count += 1
        if store is not None:
            await store.board.tick(msgspec.json.decode(row.fields["Tick"], type=Tick))
    return count


async def _acts(store: Store | None, tables: EarlierTables) -> int:
    def read(row: Row) -> Act:
        return _act(row.fields["Act"])

    newest = [] if store is None else await store.acts.read(limit=1)
    there = newest[0].seq if newest else 0
    return await _log(_read(tables, layout.ACTS, read), there, None if store is None else store.acts.record)


async def _samples(store: Store | None, tables: EarlierTables, queue: str, task: str) -> int:
    def read(row: Row) -> Sample:
        return _sample(row.fields["Sample"])

    kept = [one async for one in _read(tables, layout.samples_part(queue, task), read)][-KEPT_SAMPLES:]
    if store is not None:
        there = len(await store.journal.samples(queue, task))
        await store.journal.sample(kept[there:])
    return len(kept)


async def _log(entries: AsyncIterator[T], there: int, write: Callable[[list[T]], Awaitable[None]] | None) -> int:
    """Write what is behind the first `there`; how many there are in all."""
    count, some = 0, list[T]()
    async for one in entries:
        count += 1
        if count > there and write is not None:
            some.append(one)
        if len(some) == _SOME and write is not None:
            await write(some)
            some = []
    if some and write is not None:
        await write(some)
    return count


async def _read(tables: EarlierTables, part: str, read: Callable[[Row], T]) -> AsyncIterator[T]:
    async for row in tables.between(part, "e:", "f"):
        yield read(row)


async def _tallies(store: Store | None, tables: EarlierTables) -> int:
    count, some = 0, list[Tally]()
    for step in (*KEPT_SECONDS, HOUR):
        async for row in tables.between(f"y{step}", "e:", "f"):
            count += 1
            some.append(_tally(step, row.fields))
            if len(some) == _SOME:
                await _keep(store, some)
                some = []
    await _keep(store, some)
    return count


async def _keep(store: Store | None, some: list[Tally]) -> None:
    if some and store is not None:
        await store.journal.tally(some)


def _tally(step: int, fields: dict[str, Any]) -> Tally:
    return Tally(step, int(fields["Bucket"]), fields["Nonce"], int(fields["Number"]), fields["Data"])
