"""The migrator: looks what stands in the way, carries everything in order, and writes down how far it is.

Messages first, a hundred at a time; then what lies beside them; then the word that it is done, which lets workers
start. One migrator works at a time: each says before every batch that it is at work.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Protocol

from tenure.adapters.azure.migration import beside, messages, progress, standing
from tenure.adapters.azure.migration.earlier import EarlierTables, Message
from tenure.adapters.azure.migration.gate import OpenEarlier, refusal
from tenure.adapters.azure.migration.progress import CARRYING, DONE, NOTHING, Progress
from tenure.errors import NotMigrated, StoreMissing
from tenure.migration import Carried, Migration, Unfinished
from tenure.rowstore.store import Store

#: What stays where it was.
LEFT_BEHIND = (
    "events: the journal begins anew; what is known of a dead letter is in its history",
    "the queues whose names end in -poison: dead letters are in the table now; delete those queues when you like",
    "keys of messages that Tenure did not send",
    "the earlier tables and their blobs: delete them when all is well",
)
#: Whoever was ended is waited for so long.
_TURN_SECONDS = 20.0
_LOOK_SECONDS = 1.0
_TURN = "migrate"


class MakeStore(Protocol):
    """Makes what is carried into."""

    def __call__(self, *, may_create: bool) -> Store:
        """Whether it creates its table is said here."""
        ...


class AzureMigrator:
    """Carries what versions before the shared core kept."""

    def __init__(self, place: str, make_store: MakeStore, open_earlier: OpenEarlier) -> None:
        """Into what `make_store` makes, which has no gate."""
        self._place = place
        self._make_store = make_store
        self._open = open_earlier
        self._token = os.urandom(8).hex()

    async def migrate(self, *, dry_run: bool) -> Migration:
        """Carry everything over, or count it. Raises `NotMigrated` where something stands in the way."""
        store = self._make_store(may_create=not dry_run)
        async with self._open() as tables:
            try:
                await store.open()
            except StoreMissing:
                if not dry_run:
                    raise
                return await self._migrate(tables, None, dry_run=True)
            try:
                return await self._migrate(tables, store, dry_run=dry_run)
            finally:
                await store.close()

    async def _migrate(self, tables: EarlierTables | None, store: Store | None, *, dry_run: bool) -> Migration:
        known = None if store is None else await progress.read(store.rows)
        if known is not None and known.state == DONE:
            return self._told("already_carried", known.carried, dry_run=dry_run)
        if tables is None or not await tables.has_anything():
            if store is not None and not dry_run:
                await progress.write(store.rows, Progress(NOTHING))
            return self._told("nothing", Carried(), dry_run=dry_run)
        found = await standing.unfinished(tables, tables.now())
        if store is None or dry_run:
            return await self._count(tables, found)
        if not found.is_empty:
            raise NotMigrated(refusal(self._place, standing.told(found)))
        await self._take_turn(store)
        try:
            known = await progress.read(store.rows)  # another one may have carried all of it meanwhile
            if known is not None and known.state == DONE:
                return self._told("already_carried", known.carried, dry_run=False)
            return self._told("carried", await self._carry(store, tables, known), dry_run=False)
        finally:
            await store.board.take_turn(_TURN, self._token, 0.0)

    async def _count(self, tables: EarlierTables, found: Unfinished) -> Migration:
        total, tasks = Carried(), set[tuple[str, str]]()
        async for batch in _batches(tables, 0, ""):
            keys = Carried(keys=await messages.count_keys(tables, batch))
            total = total.plus(messages.count(batch)).plus(keys)
            tasks |= _tasks(batch)
        total = total.plus(await beside.carry(None, tables, tuple(sorted(tasks)), tables.wall()))
        outcome = "would_carry" if found.is_empty else "unfinished"
        return self._told(outcome, total, dry_run=True, unfinished=found)

    async def _carry(self, store: Store, tables: EarlierTables, known: Progress | None) -> Carried:
        rows = store.rows
        now = known if known is not None and known.state == CARRYING else Progress(CARRYING)
        await progress.write(rows, now)
        if now.part >= 0:
            async for batch in _batches(tables, now.part, now.word):
                await self._take_turn(store)
                carried = now.carried.plus(await messages.carry(store, tables, batch))
                tasks = tuple(sorted({*now.tasks, *_tasks(batch)}))
                now = Progress(CARRYING, batch[-1].part, batch[-1].word, carried, tasks)
                await progress.write(rows, now)
            now = Progress(CARRYING, -1, "", now.carried, now.tasks)
            await progress.write(rows, now)
        carried = now.carried.plus(await beside.carry(store, tables, now.tasks, tables.wall()))
        await progress.write(rows, Progress(DONE, -1, "", carried))
        return carried

    async def _take_turn(self, store: Store) -> None:
        """Be the only one. Raises `NotMigrated` where another one goes on working."""
        for _ in range(int(_TURN_SECONDS / _LOOK_SECONDS) + 2):
            if await store.board.take_turn(_TURN, self._token, _TURN_SECONDS):
                return
            await asyncio.sleep(_LOOK_SECONDS)
        raise NotMigrated(f"{self._place}: another `tenure migrate store` is running; this one stopped. Wait for it")

    def _told(
        self, outcome: str, carried: Carried, *, dry_run: bool, unfinished: Unfinished | None = None
    ) -> Migration:
        return Migration(
            outcome=outcome, place=self._place, is_dry_run=dry_run, carried=carried,
            unfinished=unfinished or Unfinished(), left_behind=LEFT_BEHIND if outcome != "nothing" else (),
        )  # fmt: skip


async def _batches(tables: EarlierTables, part: int, word: str) -> AsyncIterator[list[Message]]:
    """Messages, some at a time; those that are unfinished were refused before, or are only counted."""
    some: list[Message] = []
    async for message in tables.messages(part, word):
        some.append(message)
        if len(some) == messages.BATCH:
            yield some
            some = []
    if some:
        yield some


def _tasks(batch: list[Message]) -> set[tuple[str, str]]:
    told = [one.letter or one.life for one in batch]
    return {(one.queue, one.task) for one in told if one is not None and one.task}
