"""The expected run time of a queue's messages before any run was measured: by the profiles of its tasks.

Where the broker shows what waits, each message counts by its own task and size. Elsewhere the tasks of the queue count
alike, and a size table by the mean of its rows. Asked by `scaling.py`.
"""

from collections.abc import Sequence
from typing import Any

from tenure.broker import Query
from tenure.client.browse_all import browse_all
from tenure.client.operations.access import Access
from tenure.client.operations.listed_message import read_envelope
from tenure.message import MessageState
from tenure.tasks.task import Task
from tenure.timing.profile import Profile, SizeTable
from tenure.timing.scaling import Pace

#: Waiting messages beyond these are taken to be like the first.
_MOST_LOOKED_AT = 200


async def expected_pace(access: Access, queue: str) -> Pace | None:
    """Return the expected pace by profiles. None: no task of the queue has one."""
    tasks = [task for task in access.tasks.values() if task.queue == queue and task.prior.profile is not None]
    if not tasks:
        return None
    found = await _of_waiting(access, queue) or [pair for task in tasks for pair in _of_task(task)]
    means, tails = zip(*found, strict=True)
    names = sorted({task.prior.name or "of its own" for task in tasks})
    return Pace(sum(means) / len(means), max(tails), 0, source=f"profile {' and '.join(names)}")


async def _of_waiting(access: Access, queue: str) -> list[tuple[float, float]]:
    """The typical and the longest expected time of each waiting message with a profile."""
    if MessageState.READY not in access.broker.traits.browsable:
        return []
    found: list[tuple[float, float]] = []
    looked_at = 0
    query = Query(states=(MessageState.READY,), queues=(queue,), limit=_MOST_LOOKED_AT)
    async for browsed in browse_all(access.broker, query):
        looked_at += 1
        message, _ = read_envelope(browsed.envelope)
        task = None if message is None else access.tasks.get(message.task)
        if task is not None and message is not None:
            size = None if task.sizer is None else task.sizer.size_of(message.body)
            found += _of_one(task, size)
        if looked_at == _MOST_LOOKED_AT:
            break
    return found


def _of_one(task: Task[..., Any], size: float | None) -> list[tuple[float, float]]:
    estimate = task.prior.estimate(size)
    if estimate is None:
        return []
    profile = task.prior.profile
    return [(estimate.seconds, profile.worst if isinstance(profile, Profile) else estimate.seconds)]


def _of_task(task: Task[..., Any]) -> Sequence[tuple[float, float]]:
    match task.prior.profile:
        case Profile(typical=typical, worst=worst):
            return [(typical, worst)]
        case SizeTable(rows=rows):
            return [(row.seconds, row.seconds) for row in rows]
    return []
