"""Workers: who is alive, and what each holds.

A worker is on the roster from its start to its goodbye. One that was killed is gone as soon as that is proven; one that
is only silent is listed with how long.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from tenure import envelope
from tenure.client.operations.access import Access
from tenure.client.operations.operations import Operations
from tenure.client.operations.presence import judged
from tenure.errors import BodyUndecodable
from tenure.lease import Lease
from tenure.owner import Member

#: So many records are asked for side by side.
_AT_ONCE = 50


class HeldMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a worker holds."""

    id: str
    queue: str
    #: None: not known, as of a message that Tenure did not send.
    task: str | None


class WorkerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One worker that is alive."""

    id: str
    name: str
    host: str
    pid: int
    started_at: float
    queues: tuple[str, ...]
    concurrency: int
    holds: tuple[HeldMessage, ...]
    #: Seconds since it was last heard.
    silent_seconds: float = 0.0
    slot: str = ""


class GoneWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that is proven gone; a sweep returns what it held."""

    id: str
    proof: str


class WorkerList(msgspec.Struct, frozen=True, kw_only=True):
    """Everybody on the roster."""

    workers: tuple[WorkerStatus, ...]
    gone: tuple[GoneWorker, ...]


class WorkerOperations(Operations):
    """What can be asked of workers."""

    async def workers(self) -> WorkerList:
        """Return the workers that are alive with what each holds, and those that are proven gone.

        Consumers without a worker are on no roster: what they hold is in `leases`.
        """
        access = await self._opened()
        found = await judged(access)
        living = [member for member in found.living if access.sees_any(member.owner.queues)]
        held = await asyncio.gather(*(access.broker.held(member.owner.id) for member in living))
        gate = asyncio.Semaphore(_AT_ONCE)
        holds = [
            await asyncio.gather(*(_held(access, lease, gate) for lease in leases if access.sees(lease.queue)))
            for leases in held
        ]
        workers = [_status(access, member, messages) for member, messages in zip(living, holds, strict=True)]
        gone = [GoneWorker(id=one.owner.id, proof=one.proof) for one in found.dead if access.sees_any(one.owner.queues)]
        return WorkerList(workers=tuple(sorted(workers, key=lambda one: (one.name, one.started_at))), gone=tuple(gone))


def _status(access: Access, member: Member, holds: Sequence[HeldMessage]) -> WorkerStatus:
    owner = member.owner
    return WorkerStatus(
        id=owner.id, name=owner.name, host=owner.host, pid=owner.pid, started_at=owner.started_at,
        queues=access.of_theirs(owner.queues), concurrency=owner.concurrency, holds=tuple(holds),
        silent_seconds=round(member.silent_seconds, 3), slot=owner.slot,
    )  # fmt: skip


async def _held(access: Access, lease: Lease, gate: asyncio.Semaphore) -> HeldMessage:
    """The task is in the envelope. On SQS only the holder has that, so the message's record is asked."""
    try:
        task: str | None = envelope.decode(lease.envelope).task
    except BodyUndecodable:
        async with gate:
            record = await access.state.records.get(lease.id, lease.queue)
        task = None if record is None else record.task
    return HeldMessage(id=lease.id, queue=lease.queue, task=task)
