"""The overview and the tasks, as operations."""

from collections.abc import Sequence

import msgspec

from tenure.client.operations.operations import Operations
from tenure.client.operations.overview.rows import Flow, Overview


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
    """Everything of one moment."""

    async def overview(self, queues: Sequence[str] = ()) -> Overview:
        """Return queues and tasks with their rates, leases, workers and sweeps, and one sentence on how it goes.

        - `queues`: Only these: names, or patterns.
        """
        raise NotImplementedError

    async def tasks(self) -> TaskList:
        """Return the app's tasks and those that ran lately, with policy and rates."""
        raise NotImplementedError
