"""Depths: how much lies in each queue, a hundred of them in one step. Changes nothing."""

from collections.abc import Sequence
from typing import Any

from tenure.adapters.redis.script import DEPTH
from tenure.adapters.redis.store import Store
from tenure.adapters.redis.strange import sound
from tenure.broker import Depth

#: Queues that are looked at in one step.
_TOGETHER = 100


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
    together = 1 if store.link.is_cluster else _TOGETHER
    groups = [asked[start : start + together] for start in range(0, len(asked), together)]
    told = await store.run_all([store.call(DEPTH, group, ()) for group in groups], writes=False)
    # Where a queue was named, its garbage is told; where all are asked, it must not hide the others.
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
