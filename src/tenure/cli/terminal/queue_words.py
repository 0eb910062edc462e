"""Queues in words for people: since when one is paused, and whether a worker serves it.

Names of queues, as people write them and as the broker has them, are read by `client/operations/naming.py`.
"""

from tenure.app import Tenure
from tenure.cli.terminal.duration import spoken
from tenure.client.operations.presence import living
from tenure.notice import Pause
from tenure.rules.queue_pattern import matches


def since(pause: Pause, wall: float) -> str:
    """Say how long it has been paused, and by whom."""
    return f"for {spoken(wall - pause.at)}{f' by {pause.by}' if pause.by else ''}"


async def is_served(app: Tenure, queue: str) -> bool:
    """Whether a worker that is alive leases from it."""
    return any(matches(queue, owner.queues) for owner in await living(app.operate.access))
