"""The messages in the queues and their holders, read from the broker a few times a second."""

from collections import Counter

import msgspec

from tenure.app import Tenure
from tenure.broker import Depth
from tenure.cli.commands.demo.tasks import QUEUES
from tenure.cli.look import WaitingMessage, look
from tenure.client.operations.presence import living
from tenure.message import MessageState
from tenure.owner import Owner

_MOST_LEASES = 400


class DrawnLease(msgspec.Struct, frozen=True):
    """One lease, as it is drawn."""

    id: str
    task: str
    worker: str
    left_seconds: float
    lease_seconds: float
    age_seconds: float
    #: How far the handler says it is. None: it does not say.
    fraction: float | None = None


class Glance(msgspec.Struct, frozen=True):
    """The current state."""

    depths: tuple[Depth, ...] = ()
    #: Oldest message first.
    held: tuple[DrawnLease, ...] = ()
    #: By worker name, how many leases.
    holds: dict[str, int] = {}
    #: Workers on the roster, by pid.
    alive: dict[int, Owner] = {}

    @property
    def unfinished(self) -> int:
        """Messages that are neither completed nor dead."""
        return sum((d.ready or 0) + (d.delayed or 0) + (d.leased or 0) for d in self.depths)

    @property
    def dead(self) -> int:
        """Dead letters."""
        return sum(depth.dead or 0 for depth in self.depths)

    @property
    def leased(self) -> int:
        """Messages that a worker runs."""
        return sum(depth.leased or 0 for depth in self.depths)


async def glance(app: Tenure, *, with_progress: int = 0) -> Glance:
    """Look around; for the first `with_progress` leases also ask how far they are."""
    depths = await app.broker.depth(QUEUES)
    wall = app.clock.wall()
    leased = [one async for one in look(app.broker, QUEUES, [MessageState.LEASED], _MOST_LEASES)]
    held = sorted((_held(app, one, wall) for one in leased), key=lambda held: held.id)
    shown = [await _with_progress(app, one) for one in held[:with_progress]]
    return Glance(
        tuple(depths),
        (*shown, *held[with_progress:]),
        Counter(one.worker for one in held),
        {owner.pid: owner for owner in await living(app.operate.access)},
    )


def _held(app: Tenure, one: WaitingMessage, wall: float) -> DrawnLease:
    task = one.task or "unreadable"
    known = app.tasks.get(task)
    return DrawnLease(
        id=one.browsed.id,
        task=task,
        worker=(one.browsed.owner or "").partition("/")[0],
        left_seconds=one.browsed.deadline_in or 0.0,
        lease_seconds=app.settings.lease_seconds if known is None else known.policy.lease.seconds,
        age_seconds=one.age_seconds(wall) or 0.0,
    )


async def _with_progress(app: Tenure, held: DrawnLease) -> DrawnLease:
    record = await app.state.records.get(held.id)
    if record is None or record.progress is None:
        return held
    return msgspec.structs.replace(held, fraction=record.progress.fraction)
