"""The overview and the tasks, as operations."""

from collections.abc import Sequence
from typing import Any

import msgspec

from tenure.client.operations.naming import wanted_queues
from tenure.client.operations.operations import Operations
from tenure.client.operations.overview.reading import OverviewReader
from tenure.client.operations.overview.rows import Flow, Overview, TaskOverview
from tenure.tasks.task import Task

#: No queue has such a name.
_NO_QUEUE = "-/-"


class TaskPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How a task is run, as its code says."""

    max_attempts: int
    lease_seconds: float
    heartbeat: bool
    max_hold_seconds: float | None
    concurrency: int | None
    runs_in: str
    parameters: tuple[str, ...]


class TaskStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One task in one queue."""

    task: str
    queue: str
    #: Whether the app's code has it. None: there is no code to ask.
    in_app: bool | None
    policy: TaskPolicy | None
    running: int | None
    waiting: int | None
    flow: Flow


class TaskList(msgspec.Struct, frozen=True, kw_only=True):
    """Every task of the code, and those that were counted lately, by name and queue."""

    tasks: tuple[TaskStatus, ...]
    window_seconds: float


class OverviewOperations(Operations):
    """Operations on the overview."""

    async def overview(self, queues: Sequence[str] = ()) -> Overview:
        """Return queues and tasks with their rates, leases, workers and sweeps, and one sentence on how it goes.

        - `queues`: Only these: names, or patterns.
        """
        access = await self._opened()
        wanted = await wanted_queues(access, queues) if queues else None
        if wanted == ():  # they see none of these: the time and the sweeps are still shown
            wanted = (_NO_QUEUE,)
        return await OverviewReader(access, wanted).read()

    async def tasks(self) -> TaskList:
        """Return the app's tasks and those that ran lately, with policy and rates."""
        overview = await self.overview()
        access = self._access
        rows = {(one.task, one.queue): one for one in overview.tasks}
        own = {(one.name, one.queue): one for one in access.tasks.values() if access.sees(one.queue)}
        tasks = [
            _status(name, queue, rows.get((name, queue)), own.get((name, queue)), has_code=bool(access.tasks))
            for name, queue in sorted({*rows, *own})
        ]
        return TaskList(tasks=tuple(tasks), window_seconds=overview.window_seconds)


def _status(
    name: str, queue: str, row: TaskOverview | None, task: Task[..., Any] | None, *, has_code: bool
) -> TaskStatus:
    return TaskStatus(
        task=name,
        queue=queue,
        in_app=task is not None if has_code else None,
        policy=None if task is None else _policy(task),
        running=0 if row is None else row.running,
        waiting=None if row is None else row.waiting,
        flow=Flow() if row is None else row.flow,
    )


def _policy(task: Task[..., Any]) -> TaskPolicy:
    policy = task.policy
    return TaskPolicy(
        max_attempts=policy.retry.max_attempts,
        lease_seconds=policy.lease.seconds,
        heartbeat=policy.lease.heartbeat,
        max_hold_seconds=policy.lease.max_hold_seconds,
        concurrency=policy.concurrency,
        runs_in=str(task.runs_in),
        parameters=task.signature.names,
    )
