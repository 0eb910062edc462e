"""Records: what is known about a message, while it lives and for a while after.

There is nothing to keep in step: what the broker knows is the record. Progress and checkpoint are written only by the
holder of the lease.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tenure.adapters.redis.looking import ids_like
from tenure.adapters.redis.lookup import LocatedMessage, find, find_near
from tenure.adapters.redis.script import NOTE
from tenure.adapters.redis.store import RedisStore
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.record import Progress, Record

_encode = msgspec.json.Encoder().encode


class RedisRecords:
    """Status, progress and checkpoints in the store."""

    def __init__(self, store: RedisStore) -> None:
        """Take the store."""
        self._store = store

    async def get(self, id: str, queue: str | None = None) -> Record | None:
        """Everything known about a message."""
        one = (await find_near(self._store, [id], queue)).get(id)
        return None if one is None else _record(one)

    async def get_many(self, wanted: Sequence[tuple[str, str | None]]) -> list[Record | None]:
        """Everything known about each of these messages; those of one hint in one exchange."""
        by_hint: dict[str | None, list[str]] = {}
        for id, queue in wanted:
            by_hint.setdefault(queue, []).append(id)
        found = [await find_near(self._store, ids, queue) for queue, ids in by_hint.items()]
        known = {id: one for part in found for id, one in part.items()}
        return [None if (one := known.get(id)) is None else _record(one) for id, _ in wanted]

    async def find_ids(self, beginning: str, limit: int) -> list[str] | None:
        """Ids that begin with these characters. The server reads all, piece by piece, and sends those that match."""
        return sorted([id async for id in ids_like(self._store, beginning)])[:limit]

    async def progress(self, batch: Sequence[tuple[Lease, Progress]]) -> list[bool]:
        """Write how far handlers are."""
        return await self._note("pg", [(lease, _encode(progress)) for lease, progress in batch])

    async def checkpoint(self, lease: Lease, data: bytes) -> bool:
        """Keep what the next run starts from."""
        (kept,) = await self._note("cp", [(lease, data)])
        return kept

    async def load_checkpoint(self, id: str) -> bytes | None:
        """Return the checkpoint that an earlier run stored."""
        one = (await find(self._store, [id])).get(id)
        return None if one is None else one.checkpoint

    async def _note(self, field: str, batch: Sequence[tuple[Lease, bytes]]) -> list[bool]:
        store = self._store
        by_queue: dict[str, list[int]] = {}
        for place, (lease, _) in enumerate(batch):
            by_queue.setdefault(lease.queue, []).append(place)
        calls = []
        for queue, places in by_queue.items():
            arguments: list[Any] = [field]
            for place in places:
                lease, value = batch[place]
                arguments += (lease.id, lease.fence, lease.owner, value)
            calls.append(store.call(NOTE, [queue], arguments))
        kept = [False] * len(batch)
        for places, answers in zip(by_queue.values(), await store.run_all(calls, keeps=field == "cp"), strict=True):
            for place, answer in zip(places, answers, strict=True):
                kept[place] = bool(answer)
        return kept


def _record(one: LocatedMessage) -> Record:
    return Record(
        id=one.id, queue=one.queue, task=one.task, state=one.state, counters=one.counters, owner=one.owner,
        fence=one.fence, sent_at=one.sent_at, finished_at=one.finished_at,
        deadline_in=one.left if one.state is MessageState.LEASED else None,
        due_in=one.left if one.state is MessageState.DELAYED else None,
        result=one.result, reason=one.reason, progress=one.progress, history=one.history, envelope=one.envelope,
    )  # fmt: skip
