"""The limits of tasks: which queue has which, and why a limited task must have a queue of its own.

A limit is kept for a queue, because that is what a broker leases from. So a task with `rate=` or `running=` has a queue
that no other task of the app uses. Used by `registry.py` at registration, and by the worker.
"""

from collections.abc import Iterable
from typing import Any

from tenure.errors import BadTask
from tenure.limit import Limit
from tenure.tasks.task import Task


def code_limits(tasks: Iterable[Task[..., Any]]) -> dict[str, Limit]:
    """The limits of the code, by queue."""
    return {task.queue: task.policy.limit for task in tasks if task.policy.limit is not None}


def check_queue(task: Task[..., Any], others: Iterable[Task[..., Any]], *, is_default: bool) -> None:
    """Refuse a task whose limit would hold up another one. `is_default`: the task names no queue."""
    if task.policy.limit is not None and is_default:
        msg = (
            f"task {task.name!r} has rate= or running=, which limit its whole queue, and {task.queue!r} is for all "
            f"tasks without a queue. Give it a queue of its own, such as queue={task.name!r}"
        )
        raise BadTask(msg)
    for other in others:
        if other.queue == task.queue and (task.policy.limit is not None or other.policy.limit is not None):
            limited, plain = (task, other) if task.policy.limit is not None else (other, task)
            msg = (
                f"task {limited.name!r} has rate= or running=, and shares the queue {task.queue!r} with task "
                f"{plain.name!r}: the limit would hold up both. Give {limited.name!r} a queue of its own with queue="
            )
            raise BadTask(msg)
