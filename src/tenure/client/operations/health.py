"""Health: the store answers, each queue has a live worker, and sweeps run.

`rules/health.py` decides what is wrong, as for the server's `/readyz`. Who is alive is decided as in every worker
(`rules/presence.py`); a worker without a sign of life for a while does not count.
"""

import asyncio
import os
from collections.abc import Sequence

import msgspec

from tenure.client.operations.access import Access
from tenure.client.operations.naming import full_name
from tenure.client.operations.operations import Operations
from tenure.client.operations.presence import judged
from tenure.errors import StoreUnwritable
from tenure.owner import Member
from tenure.probe import SYSTEM_PROBE
from tenure.rules.health import late_after, problems_of
from tenure.rules.queue_pattern import matches
from tenure.state import SWEEP_TURN

#: A worker that was silent for so long does not count: the rarest beat, in the cloud, is every 5 seconds.
_SILENT_SECONDS = 15.0
#: The longest sweep interval that can be set. A turn that is asked for so long is held by no other worker's account, so
#: that a probe that dies in the middle does not delay the next sweep (`Board.take_turn`).
_LONGEST_INTERVAL_SECONDS = 3600.0
_LOOKS_AN_INTERVAL = 8


class Health(msgspec.Struct, frozen=True):
    """What was found."""

    healthy: bool
    #: What is wrong, a clause each.
    problems: tuple[str, ...]
    #: Whether the store answered.
    store: bool
    #: How many workers are alive. None: not known.
    workers: int | None = None
    #: How many of them serve each queue.
    queues: dict[str, int] = {}
    #: Whether sweeps run. None: not known.
    sweep: bool | None = None


class HealthOperations(Operations):
    """Operations on the health of the store and its workers."""

    async def health(self, queues: Sequence[str] = (), *, here: bool = False) -> Health:
        """Check that the store answers, that workers are alive, and that overdue leases are swept.

        May take two sweep intervals, if no sweep runs. Raises `BrokerError` while the store is away.

        - `queues`: Each of these must have a worker. Default: the queues of the app's tasks; without any, one worker.
        - `here`: Count only workers of this container or machine.
        """
        access = await self._opened()
        names = [full_name(access, queue) for queue in queues]
        names = names or sorted({task.queue for task in access.tasks.values() if access.sees(task.queue)})
        return await examine(access, names, here=here)


async def examine(access: Access, queues: Sequence[str], *, here: bool) -> Health:
    """Look at an open store. Without `queues`, one worker of any queue is enough."""
    alive = [member for member in (await judged(access)).living if _counts(access, member, here=here)]
    served = {queue: sum(matches(queue, member.owner.queues) for member in alive) for queue in queues}
    unserved = tuple(queue for queue, workers in served.items() if not workers)
    problems = problems_of(store=True, unserved=unserved, needs_worker=not queues, workers=len(alive))
    sweep = None if problems else await is_swept(access)
    late = late_after(access.settings.sweep_interval_seconds)
    problems += problems_of(store=True, sweep=sweep, late_seconds=late)
    return Health(not problems, problems, store=True, workers=len(alive), queues=served, sweep=sweep)


def _counts(access: Access, member: Member, *, here: bool) -> bool:
    owner, me = member.owner, SYSTEM_PROBE.me()
    is_here = (owner.boot_id, owner.pid_namespace) == (me.boot_id, me.pid_namespace)
    return member.silent_seconds < _SILENT_SECONDS and access.sees_any(owner.queues) and (is_here or not here)


async def is_swept(access: Access) -> bool | None:
    """Whether a worker has the turn to sweep, or takes it within two intervals. None: this user may not ask."""
    board, token = access.state.board, f"health-{os.urandom(8).hex()}"
    interval = access.settings.sweep_interval_seconds
    until = access.clock.monotonic() + late_after(interval)
    while True:
        try:
            if not await board.take_turn(SWEEP_TURN, token, _LONGEST_INTERVAL_SECONDS):
                return True
            await board.take_turn(SWEEP_TURN, token, 0.0)
        except StoreUnwritable:
            return None
        if access.clock.monotonic() >= until:
            return False
        await asyncio.sleep(interval / _LOOKS_AN_INTERVAL)
