"""How long messages of a queue are expected to take while no run was measured: by the profiles of its tasks.

Where the broker shows what waits, each message counts by its own task and size. Elsewhere the tasks of the queue count
alike, and a size table by the mean of its rows. Asked by `scaling.py`.
"""

from collections.abc import Sequence
from typing import Any

from tenure.app import Tenure
from tenure.cli.look import look
from tenure.message import MessageState
from tenure.task import Task
from tenure.timing.profile import Profile, SizeTable
from tenure.timing.scaling import Pace

#: Waiting messages beyond these are taken to be like the first.
_MOST_LOOKED_AT = 200


async def expected_pace(app: Tenure, queue: str) -> Pace | None:
    """By the profiles. None: no task of the queue has one."""
    tasks = [task for task in app.tasks.values() if task.queue == queue and task.prior.profile is not None]
    if not tasks:
        return None
    found = await _of_waiting(app, queue) or [pair for task in tasks for pair in _of_task(task)]
    means, tails = zip(*found, strict=True)
    names = sorted({task.prior.name or "of its own" for task in tasks})
    return Pace(sum(means) / len(means), max(tails), 0, source=f"profile {' and '.join(names)}")


async def _of_waiting(app: Tenure, queue: str) -> list[tuple[float, float]]:
    """What is typical of each waiting message, and at worst; of those that have a profile."""
    if MessageState.READY not in app.broker.traits.browsable:
        return []
    found = []
    async for seen in look(app.broker, [queue], [MessageState.READY], _MOST_LOOKED_AT):
        task = None if seen.message is None else app.tasks.get(seen.message.task)
        if task is None or seen.message is None:
            continue
        size = None if task.sizer is None else task.sizer.size_of(seen.message.body)
        estimate = task.prior.estimate(size)
        if estimate is not None:
            worst = task.prior.profile.worst if isinstance(task.prior.profile, Profile) else estimate.seconds
            found.append((estimate.seconds, worst))
    return found


def _of_task(task: Task[..., Any]) -> Sequence[tuple[float, float]]:
    match task.prior.profile:
        case Profile(typical=typical, worst=worst):
            return [(typical, worst)]
        case SizeTable(rows=rows):
            return [(row.seconds, row.seconds) for row in rows]
    return []
