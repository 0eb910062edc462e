"""Leases: what is held now, over all queues; and more time for one of them."""

import math
from collections.abc import Sequence

import msgspec

from tenure.broker import MOST_LEASES, Leases
from tenure.client.operations.access import Access
from tenure.client.operations.ids import find_record
from tenure.client.operations.naming import wanted_queues
from tenure.client.operations.operations import Operations
from tenure.client.operations.redaction import without_note
from tenure.errors import BadArgument, NotRunning
from tenure.lease import LeaseState
from tenure.message import MessageState


class TouchedLease(msgspec.Struct, frozen=True, kw_only=True):
    """A lease that was given more time."""

    #: The message's id.
    id: str
    queue: str
    #: The worker that holds it, as before.
    owner: str
    #: `held`. `uncertain`: the store gives it the time, and the queue has not said that it hides the message so long.
    state: LeaseState
    #: When it ends now: Unix seconds. Later than was asked if it lasted longer; sooner if the store holds none so long.
    deadline: float
    #: Seconds until then.
    deadline_in: float


class LeaseOperations(Operations):
    """Operations on leases."""

    async def leases(self, queues: Sequence[str] = (), *, limit: int = MOST_LEASES) -> Leases:
        """Return what is held now, soonest end first, with the store's time and its sweeps.

        - `queues`: Only these: names, or patterns.
        """
        access = await self._opened()
        wanted = await wanted_queues(access, queues)
        # Without leases, the time and the sweeps are still shown.
        found = await access.broker.leases(wanted or None, limit=0 if wanted == () else limit)
        leases = [one for one in found.leases if access.sees(one.queue)]
        shown = leases if access.sees_payload else map(without_note, leases)
        return msgspec.structs.replace(found, leases=tuple(shown), is_cut=found.is_cut and wanted != ())

    async def touch(self, id: str, seconds: float | None = None) -> TouchedLease:
        """Let the lease on a running message last at least this many seconds from now. It stays with its worker.

        It never shortens the lease, and counts as one of its beats. A worker whose heartbeat is off does not notice: it
        ends the run when it meant to.

        - `id`: May be the beginning of an id.
        - `seconds`: Default: the lease's own length.

        Raises `NotRunning` where no worker holds the message any more.
        """
        access = await self._opened()
        _check(access, seconds)
        record = await find_record(access, id, consequence="nothing was changed")
        touched = None
        if record.state is MessageState.LEASED and record.owner is not None and record.fence is not None:
            touched = await access.operator().touch(record.id, record.owner, record.fence, seconds, record.queue)
        if touched is None:
            was = "it ended a moment ago" if record.state is MessageState.LEASED else f"it is {record.state}"
            raise NotRunning(f"no worker holds {record.id} ({was}), so no lease was touched; nothing was changed")
        left = touched.remaining(access.clock.monotonic())
        return TouchedLease(
            id=record.id,
            queue=record.queue,
            owner=touched.owner,
            state=touched.state,
            deadline=access.state.wall() + left,
            deadline_in=left,
        )


def _check(access: Access, seconds: float | None) -> None:
    longest = access.broker.traits.max_lease_seconds
    if seconds is not None and not (math.isfinite(seconds) and 0 < seconds <= longest):
        msg = (
            f"seconds={seconds!r}: a lease lasts more than 0 and at most {longest:g} seconds here; nothing was changed"
        )
        raise BadArgument(msg)
