"""Looking: how much lies in each queue, and which ids there are. Changes nothing; messages are in `browsing.py`."""

import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

from tenure.adapters.redis.script import DEPTH
from tenure.adapters.redis.store import Store
from tenure.adapters.redis.strange import sound, text_of
from tenure.broker import Depth

_PIECE = 1000


async def _buckets(store: Store, names: str) -> list[str]:
    oldest = await store.command_at(names, "HGET", f"{names}meta", "bk")
    if oldest is None or not oldest.isdigit():
        return []
    keys, number, missing = [], int(oldest), 0
    while missing <= 8:  # noqa: PLR2004 - a window has four, and an idle queue may lack some
        exists = await store.command_at(names, "EXISTS", f"{names}done:{number}")
        missing = 0 if exists else missing + 1
        if exists:
            keys.append(f"{names}done:{number}")
        number += 1
    return keys


async def ids_like(store: Store, beginning: str) -> AsyncIterator[str]:
    """Every id that begins with these characters, each once, in no order."""
    pattern = re.sub(r"([\\*?\[\]^])", r"\\\1", beginning) + "*"
    told: set[str] = set()
    for queue in await store.queues():
        names = store.names.queue(queue)
        for key in (f"{names}m", *await _buckets(store, names)):
            async for pairs in _scan(store, "HSCAN", key, "MATCH", pattern):
                for id in {*map(text_of, pairs[::2])} - told:
                    told.add(id)
                    yield id


async def _scan(store: Store, command: str, key: str, *options: str) -> AsyncIterator[list[Any]]:
    cursor = b"0"
    while True:
        cursor, pairs = await store.command_at(key, command, key, cursor, *options, "COUNT", _PIECE)
        if pairs:
            yield pairs
        if cursor == b"0":
            return


def _age(store: Store, sent: bytes) -> float | None:
    try:
        return max(0.0, store.wall.now() - float(sent)) if sent else None
    except ValueError:
        return None


def _unknown(queue: str) -> Depth:
    """Of a queue in which a key is not ours nobody can say how much lies there."""
    return Depth(queue=queue, ready=None, delayed=None, leased=None, dead=None, oldest_age_seconds=None)


async def depth(store: Store, queues: Sequence[str] | None) -> list[Depth]:
    """Exact counts, and the age of what has lain ready longest."""
    asked = await store.queues() if queues is None else queues
    calls = [store.call(DEPTH, [queue], ()) for queue in asked]
    # Where a queue was named, its garbage is told; where all are asked, it must not hide the others.
    answers = await (store.run_each(calls, writes=False) if queues is None else store.run_all(calls, writes=False))
    depths = []
    for queue, answer in zip(asked, answers, strict=True):
        if not sound(queue, answer):
            depths.append(_unknown(queue))
            continue
        ready, delayed, leased, dead, sent = answer
        age = _age(store, sent)
        if queues is not None or ready or delayed or leased or dead:
            depths.append(
                Depth(queue=queue, ready=ready, delayed=delayed, leased=leased, dead=dead, oldest_age_seconds=age)
            )
    return depths
