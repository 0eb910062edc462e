"""How long a ready message may wait in each queue, as its tasks say by `expected_wait`. Pure."""

from collections.abc import Iterable
from typing import Any

from tenure.tasks.task import Task


def expected_waits(tasks: Iterable[Task[..., Any]]) -> dict[str, float]:
    """Seconds by queue; of several tasks of a queue the most patient counts. Queues without any are left out."""
    found: dict[str, float] = {}
    for task in tasks:
        expected = task.policy.expected_wait_seconds
        if expected is not None:
            found[task.queue] = max(expected, found.get(task.queue, 0.0))
    return found
