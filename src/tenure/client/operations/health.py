"""Health: the store answers, each queue has a worker that is alive, and somebody sweeps.

Who is alive is judged as every worker judges it (`rules/presence.py`); one that was not heard for a while does not
count.
"""

import asyncio
import os
from collections.abc import Sequence

import msgspec

from tenure.broker import Leases
from tenure.client.operations.access import Access
from tenure.client.operations.naming import full_name
from tenure.client.operations.operations import Operations
from tenure.client.operations.presence import judged
from tenure.errors import StoreUnwritable
from tenure.owner import Member
from tenure.probe import SYSTEM_PROBE
from tenure.rules.queue_pattern import matches
from tenure.state import SWEEP_TURN

#: A worker that was not heard for so long does not count: the rarest beat, in the cloud, is every 5 seconds.
_SILENT_SECONDS = 15.0
#: The longest sweep interval that can be set. A turn that is asked for so long is held by no other worker's account, so
#: that a probe that dies in the middle keeps nobody from sweeping (`Board.take_turn`).
_LONGEST_INTERVAL_SECONDS = 3600.0
#: After so many intervals without a sweep it is late; told by the store, so many seconds more are no trouble.
_LATE_INTERVALS, _LATE_MORE_SECONDS = 2.0, 5.0
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
    #: Whether somebody sweeps. None: not known.
    sweep: bool | None = None


class HealthOperations(Operations):
    """How the store and its workers are."""

    async def health(self, queues: Sequence[str] = (), *, here: bool = False) -> Health:
        """Check that the store answers, that workers are alive, and that overdue leases are swept.

        May take two sweep intervals, if nobody sweeps. Raises `BrokerError` while the store is away.

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
    problems = [f"no worker serves queue {queue}" for queue, workers in served.items() if not workers]
    if not alive and not queues:
        problems.append("no worker is alive")
    sweep = None if problems else await is_swept(access)
    if sweep is False:
        problems.append(f"nobody has swept for {_LATE_INTERVALS * access.settings.sweep_interval_seconds:g} s")
    return Health(not problems, tuple(problems), store=True, workers=len(alive), queues=served, sweep=sweep)


def is_sweep_late(leases: Leases, interval_seconds: float) -> bool | None:
    """Whether the sweep is late, as the store tells (`Broker.leases`), without waiting. None: nobody has swept yet."""
    if leases.last_sweep_at is None:
        return None
    return leases.now - leases.last_sweep_at > _LATE_INTERVALS * interval_seconds + _LATE_MORE_SECONDS


def _counts(access: Access, member: Member, *, here: bool) -> bool:
    owner, me = member.owner, SYSTEM_PROBE.me()
    is_here = (owner.boot_id, owner.pid_namespace) == (me.boot_id, me.pid_namespace)
    return member.silent_seconds < _SILENT_SECONDS and access.sees_any(owner.queues) and (is_here or not here)


async def is_swept(access: Access) -> bool | None:
    """Whether somebody has the turn to sweep, or takes it within two intervals. None: this user may not ask."""
    board, token = access.state.board, f"health-{os.urandom(8).hex()}"
    interval = access.settings.sweep_interval_seconds
    until = access.clock.monotonic() + _LATE_INTERVALS * interval
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
