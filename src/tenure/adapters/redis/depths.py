"""Counts the messages of each queue, some queues in one step. Changes nothing.

While the server runs a step it answers no other client. So each step is sent after the answer of the last one, and
requests of workers and readers come in between.
"""

from collections.abc import Sequence
from typing import Any

from tenure.adapters.redis.foreign_keys import sound
from tenure.adapters.redis.script import DEPTH
from tenure.adapters.redis.store import RedisStore
from tenure.broker import Depth

#: Queues that are looked at in one step: about a millisecond and a half.
_TOGETHER = 25


def _age(store: RedisStore, sent: bytes) -> float | None:
    try:
        return max(0.0, store.wall.now() - float(sent)) if sent else None
    except ValueError:
        return None


def _unknown(queue: str) -> Depth:
    """The depth of a queue with a foreign key is not known."""
    return Depth(queue=queue, ready=None, delayed=None, leased=None, dead=None, oldest_age_seconds=None)


async def depth(store: RedisStore, queues: Sequence[str] | None) -> list[Depth]:
    """Exact counts, and the age of what has lain ready longest."""
    asked = await store.queues() if queues is None else queues
    together = 1 if store.link.is_cluster else _TOGETHER
    groups = [asked[start : start + together] for start in range(0, len(asked), together)]
    steps = _TOGETHER // together  # in a cluster a step looks at one queue
    told: list[Any] = []
    for start in range(0, len(groups), steps):
        calls = [store.call(DEPTH, group, ()) for group in groups[start : start + steps]]
        told += await store.run_all(calls, writes=False)
    # Foreign values are an error if the queue was named; if all are asked, they must not hide the others.
    answers: list[Any] = store.checked([answer for some in told for answer in some], each=queues is None)
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
