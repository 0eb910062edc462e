"""Looking: lists ids. Changes nothing; messages are in `browsing.py`."""

import re
from collections.abc import AsyncIterator
from typing import Any

from tenure.adapters.redis.foreign_keys import text_of
from tenure.adapters.redis.store import RedisStore

_PIECE = 1000


async def _buckets(store: RedisStore, names: str) -> list[str]:
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


async def ids_like(store: RedisStore, beginning: str) -> AsyncIterator[str]:
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


async def _scan(store: RedisStore, command: str, key: str, *options: str) -> AsyncIterator[list[Any]]:
    cursor = b"0"
    while True:
        cursor, pairs = await store.command_at(key, command, key, cursor, *options, "COUNT", _PIECE)
        if pairs:
            yield pairs
        if cursor == b"0":
            return
