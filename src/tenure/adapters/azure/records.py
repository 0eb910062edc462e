"""The records: status, progress and checkpoint of a message, composed of its letter, its life and its claim.

Writes carry the lease; those of a holder that is no longer the holder change nothing.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from tenure.adapters.azure.entry import Kept, Letter, Life, read_life
from tenure.adapters.azure.holding import TRIES, holding
from tenure.adapters.azure.naming import is_plain
from tenure.adapters.azure.rows import Row
from tenure.adapters.azure.scope import DONE, Found, look
from tenure.adapters.azure.store import Store
from tenure.claim import Scope
from tenure.envelope import decode
from tenure.errors import BodyUndecodable
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.record import Progress, Record

#: Messages that are read at once.
_AT_ONCE = 16
_ON_ITS_WAY = frozenset({MessageState.READY, MessageState.DELAYED, MessageState.LEASED})


class AzureRecords:
    """What can be told about a message."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store

    async def get(self, id: str, queue: str | None = None) -> Record | None:  # noqa: ARG002 - an id tells its rows
        """Everything known about a message. Once it is sealed it is completed, though the queue may still have it."""
        store = self._store
        kept, letter = await asyncio.gather(store.find(id), store.letter(id))
        if kept is None and letter is None:
            return None
        state = MessageState.READY if kept is None else kept.life.state
        is_open = state in _ON_ITS_WAY
        done = await self._done(kept, letter) if is_open else None
        if kept is None and letter is not None and letter.is_ended and done is None:
            return None
        return _record(store, id, kept, letter, done)

    async def get_many(self, wanted: Sequence[tuple[str, str | None]]) -> list[Record | None]:
        """Each by itself: a table has no read of several rows of different messages."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def read(id: str) -> Record | None:
            async with gate:
                return await self.get(id)

        return await asyncio.gather(*(read(id) for id, _ in wanted))

    async def find_ids(self, beginning: str, limit: int) -> list[str] | None:
        """Ids that begin with these characters. Of an id that cannot be a key the row tells it."""
        store, low = self._store, beginning if is_plain(beginning) else "~"
        looks = {(part, f"{kind}:{key}") for part in store.parts for kind in ("s", "m") for key in (low, "~")}
        found = await asyncio.gather(*(store.rows.scan(part, key, only=("Id", "Life")) for part, key in looks))
        ids = {_id(row) for rows in found for row in rows}
        return sorted(id for id in ids if id.startswith(beginning))[:limit]

    async def _done(self, kept: Kept | None, letter: Letter | None) -> Found | None:
        scope = _scope(kept, letter)
        found = None if scope is None else await look(self._store, scope)
        if found is None or found.claim.state != DONE:
            return None
        return found if letter is None or letter.digest in ("", found.claim.digest) else None

    async def progress(self, batch: Sequence[tuple[Lease, Progress]]) -> list[bool]:
        """Write how far handlers are."""

        def change(kept: Kept, progress: Progress) -> Kept:
            life = msgspec.structs.replace(kept.life, progress=progress)
            return Kept(life, kept.etag, kept.envelope, kept.checkpoint)

        newest = {lease.id: (lease, progress) for lease, progress in batch}
        told = await asyncio.gather(
            *(self._write(lease, partial(change, progress=progress)) for lease, progress in newest.values())
        )
        by_id = dict(zip(newest, told, strict=True))
        return [by_id[lease.id] for lease, _ in batch]

    async def checkpoint(self, lease: Lease, data: bytes) -> bool:
        """Keep what the next run of this message starts from."""
        return await self._write(lease, lambda kept: Kept(kept.life, kept.etag, kept.envelope, data))

    async def load_checkpoint(self, id: str) -> bytes | None:
        """What an earlier run kept."""
        kept = await self._store.find(id)
        return None if kept is None else kept.checkpoint

    async def _write(self, lease: Lease, change: Callable[[Kept], Kept]) -> bool:
        for _ in range(TRIES):
            (kept,) = await holding(self._store, [lease])
            if kept is None:
                return False
            if (await self._store.save([change(kept)]))[0]:
                return True
        return False


def _id(row: Row) -> str:
    """Of a letter's row, or of a life's."""
    return str(row.fields["Id"]) if "Id" in row.fields else read_life(row).life.id


def _scope(kept: Kept | None, letter: Letter | None) -> Scope | None:
    """The scope of its claim, as it stands in the latest envelope."""
    if letter is not None:
        generation = letter.generation if kept is None or kept.life.generation is None else kept.life.generation
        return Scope(letter.queue, letter.task, letter.key, generation)
    try:
        return Scope.of(decode(kept.envelope or b"")) if kept is not None else None
    except BodyUndecodable:
        return None


def _unborn(id: str, letter: Letter | None) -> Life:
    """What can be told of a message that was never lent, or whose life has ended."""
    return Life(id=id, queue="" if letter is None else letter.queue, place=0, state=MessageState.READY)


def _record(store: Store, id: str, kept: Kept | None, letter: Letter | None, done: Found | None) -> Record:
    now = store.timeline.now()
    life = kept.life if kept is not None else _unborn(id, letter)
    counters = letter.counters if kept is None and letter is not None else life.counters
    task, sent_at = (None, life.sent_at) if letter is None else (letter.task, letter.sent_at)
    sent = b"" if letter is None else letter.envelope
    is_kept = done is None and life.state is not MessageState.CANCELLED
    return Record(
        id=life.id,
        queue=life.queue,
        task=task,
        state=life.state if done is None else MessageState.COMPLETED,
        counters=counters,
        owner=life.owner,
        fence=life.fence if life.owner else None,
        sent_at=sent_at,
        finished_at=life.finished_at if done is None else done.claim.finished_at,
        deadline_in=None if life.deadline is None else life.deadline - now,
        due_in=life.due - now if life.state is MessageState.DELAYED and life.due is not None else None,
        result=None if done is None else done.result or None,
        reason=life.reason,
        progress=life.progress,
        history=tuple(life.history),
        envelope=((kept.envelope if kept is not None else None) or sent or None) if is_kept else None,
    )
