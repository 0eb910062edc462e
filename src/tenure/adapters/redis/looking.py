"""Looking: browse and depth. Changes nothing.

What is ready or dead lies in the order of arrival; what is delayed, lent or finished lies in another order, and is read
piece by piece, so that no look holds the server up.
"""

import heapq
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

from tenure.adapters.redis.finding import Found, find, read_finished, read_record
from tenure.adapters.redis.script import DEPTH, WAITING
from tenure.adapters.redis.store import Store
from tenure.adapters.redis.strange import sound, text_of
from tenure.broker import Browsed, Depth
from tenure.message import MessageState

_PIECE = 1000
#: For a record that cannot be read.
_NO_PLACE = (1, 0.0, "")
_FINISHED = frozenset({MessageState.COMPLETED, MessageState.CANCELLED})


async def browse(store: Store, queue: str, state: MessageState, limit: int, after: int) -> list[Browsed]:
    """Messages of one queue and state, in the order in which they came."""
    if limit <= 0:
        return []
    if state in _FINISHED:
        return [_browsed(one) for one in await _finished(store, queue, state, limit, after)]
    ids = await _page(store, queue, state, limit, after)
    found = await find(store, ids, [queue])
    # Between the two looks it may have moved on.
    return [_browsed(found[id]) for id in ids if id in found and found[id].state is state]


async def _page(store: Store, queue: str, state: MessageState, limit: int, after: int) -> list[str]:
    names = store.names.queue(queue)
    match state:
        case MessageState.READY:
            reply = await store.run(WAITING, [queue], after, limit, writes=False)
            places = zip(map(int, reply[::2]), reply[1::2], strict=True)
            return [text_of(id) for _, id in sorted(places)[:limit]]
        case MessageState.DEAD:
            key = f"{names}dead"
            ids = await store.command_at(key, "ZRANGEBYSCORE", key, f"({after}", "+inf", "LIMIT", 0, limit)
            return [text_of(id) for id in ids]
        case MessageState.DELAYED:
            scan = _scan(store, "ZSCAN", f"{names}z")
        case _:
            scan = _scan(store, "HSCAN", f"{names}l")
    first: list[tuple[int, str]] = []
    async for pairs in scan:
        ids = pairs[::2]
        records = await store.command_at(names, "HMGET", f"{names}m", *ids)
        # One whose record cannot be read has no place: it is shown first.
        numbered = [
            ((read_record(record) or _NO_PLACE)[0], text_of(id))
            for id, record in zip(ids, records, strict=True)
            if record
        ]
        first = heapq.nsmallest(limit, {*first, *(one for one in numbered if one[0] > after)})
    return [id for _, id in first]


async def _finished(store: Store, queue: str, state: MessageState, limit: int, after: int) -> list[Found]:
    names = store.names.queue(queue)
    first: list[tuple[int, str, Found]] = []
    keys = await _buckets(store, names)
    for key in keys:
        async for pairs in _scan(store, "HSCAN", key):
            read = [
                read_finished(text_of(id), queue, text) for id, text in zip(pairs[::2], pairs[1::2], strict=True)
            ]  # fmt: skip
            more = [(one.place, one.id, one) for one in read if one and one.state is state and one.place > after]
            first = heapq.nsmallest(limit, first + more, key=lambda one: one[:2])
    found = await find(store, [id for _, id, _ in first], [queue])
    return [found[id] for _, id, _ in first if id in found and found[id].state is state]


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


def _browsed(one: Found) -> Browsed:
    leased = one.state is MessageState.LEASED
    return Browsed(
        id=one.id, queue=one.queue, state=one.state, envelope=one.envelope or b"", counters=one.counters,
        cursor=one.place, owner=one.owner, fence=one.fence, deadline_in=one.left if leased else None,
        due_in=one.left if one.state is MessageState.DELAYED else None, reason=one.reason,
        finished_at=one.finished_at,
    )  # fmt: skip


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
