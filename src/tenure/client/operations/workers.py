"""Workers: who is alive, what each holds, how each does; drain or stop one.

A worker is on the roster from its start to its goodbye. One that was killed is gone as soon as that is proven; one that
is only silent is listed with how long. What the roster does not know is in the worker's last report
(`worker_report.py`): a worker of an older version writes none.

Draining and stopping are asked by a post on the board, which the worker reads within a second or two.
"""

import asyncio
from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from tenure import envelope
from tenure.client.operations.access import Access
from tenure.client.operations.consumers import ConsumerStatus, HeldMessage, consumers_of
from tenure.client.operations.operations import Operations
from tenure.client.operations.presence import judged
from tenure.errors import AmbiguousId, BodyUndecodable, WorkerGone, WorkerShared
from tenure.key_value import name_of
from tenure.lease import Lease
from tenure.owner import DeadOwner, Member
from tenure.worker_report import REPORT_KIND, WorkerReport, decoded

#: This many records are asked for side by side.
_AT_ONCE = 50


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
    #: From here on by its last report, up to 5 s old, in the cloud 60 s. None: it does not say, as an older version.
    version: str | None = None
    #: CPU time of its process in percent of one core, since the report before.
    cpu_percent: float | None = None
    #: Resident memory of its process (RSS), without that of its child processes.
    memory_bytes: int | None = None
    #: Whether an operator has it drain or stop.
    draining: bool | None = None
    #: Unix seconds. None: it does not.
    draining_since: float | None = None
    #: Why, as in `drained by alice (dashboard)`. Empty: it does not drain.
    leaving: str = ""
    #: Messages that it finished in the last minute.
    rate_per_minute: float | None = None
    #: Attempts that ended in error in the last minute.
    errors_per_minute: float | None = None


class GoneWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that is proven gone; a sweep returns what it held."""

    id: str
    proof: str


class WorkerList(msgspec.Struct, frozen=True, kw_only=True):
    """The workers on the roster, and the consumers beside them."""

    workers: tuple[WorkerStatus, ...]
    gone: tuple[GoneWorker, ...]
    #: Programs that lease over HTTP.
    consumers: tuple[ConsumerStatus, ...] = ()


class WorkerAct(StrEnum):
    """What can be asked of a worker."""

    DRAIN = "drain"
    STOP = "stop"


class WorkerChange(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked of one worker. It hears it within a second or two."""

    id: str
    act: WorkerAct
    #: False: it was asked before.
    changed: bool
    #: Its version of Tenure. None: it does not say; one that is too old for that does not hear what is asked either.
    version: str | None


class WorkerOperations(Operations):
    """Operations on workers."""

    async def workers(self) -> WorkerList:
        """Return the workers that are alive with what each holds, and those that are proven gone.

        With them the consumers that lease over HTTP, as servers reported them up to 5 s ago, in the cloud 60. A loop of
        one's own is on no roster: what it holds is in `leases`.
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
        reports = await _reports(access)
        workers = [_status(access, member, messages, reports) for member, messages in zip(living, holds, strict=True)]
        gone = [GoneWorker(id=one.owner.id, proof=one.proof) for one in found.dead if access.sees_any(one.owner.queues)]
        return WorkerList(
            workers=tuple(sorted(workers, key=lambda one: (one.name, one.started_at))),
            gone=tuple(gone),
            consumers=await consumers_of(access),
        )

    async def drain_worker(self, id: str) -> WorkerChange:
        """Have a worker lease nothing more, finish what runs, however long that takes, and stop with exit code 0.

        What it leased and did not begin goes back to its queue. A supervisor (`--processes`) starts no other in its
        place. Raises `WorkerGone`, or `WorkerShared` where it serves queues that the caller may not see.

        - `id`: Its id, or its name where only one worker has it.
        """
        return await self._ask(id, WorkerAct.DRAIN)

    async def stop_worker(self, id: str) -> WorkerChange:
        """Have a worker stop as on SIGTERM: what runs gets the worker's grace, the rest goes back to its queue.

        Parameters and errors as in `drain_worker`. A worker that drains is stopped too.
        """
        return await self._ask(id, WorkerAct.STOP)

    async def _ask(self, id: str, act: WorkerAct) -> WorkerChange:
        access = await self._opened()
        found = await judged(access)
        member = _one(access, id, found.living, found.dead)
        worker = member.owner.id
        if not access.sees_all(member.owner.queues):
            msg = f"worker {worker} also serves queues that your token does not cover; nothing was changed"
            raise WorkerShared(msg)
        kept = await access.state.key_values.get(REPORT_KIND, name_of(worker))
        report = None if kept is None else decoded(kept.data)
        changed = False
        if not _does(report, act):
            operator = access.operator()
            changed = await (operator.drain_worker if act is WorkerAct.DRAIN else operator.stop_worker)(worker)
        return WorkerChange(id=worker, act=act, changed=changed, version=None if report is None else report.version)


def _one(access: Access, id: str, living: Sequence[Member], dead: Sequence[DeadOwner]) -> Member:
    """The worker that is meant. Raises `WorkerGone` or `AmbiguousId`."""
    seen = [member for member in living if access.sees_any(member.owner.queues)]
    found = [member for member in seen if member.owner.id == id] or [one for one in seen if one.owner.name == id]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(sorted(one.owner.id for one in found))
        msg = f"{len(found)} workers are named {id!r} ({ids}); nothing was changed. Give the whole id"
        raise AmbiguousId(msg)
    for gone in dead:
        if id in (gone.owner.id, gone.owner.name) and access.sees_any(gone.owner.queues):
            msg = f"worker {gone.owner.id} is gone: {gone.proof}. A sweep returns what it held; nothing was changed"
            raise WorkerGone(msg)
    msg = f"there is no worker {id!r}: it has stopped, or never existed; nothing was changed"
    raise WorkerGone(msg)


def _does(report: WorkerReport | None, act: WorkerAct) -> bool:
    """Whether it does that already."""
    if report is None or report.leaving_since is None:
        return False
    return act is WorkerAct.DRAIN or report.leaving.startswith("stopped")


async def _reports(access: Access) -> dict[str, WorkerReport]:
    """Return the reports by the name under which each is kept."""
    kept = await access.state.key_values.list(REPORT_KIND)
    return {one.name: report for one in kept if (report := decoded(one.data)) is not None}


def _status(
    access: Access, member: Member, holds: Sequence[HeldMessage], reports: Mapping[str, WorkerReport]
) -> WorkerStatus:
    owner = member.owner
    report = reports.get(name_of(owner.id))
    found = _of_roster(access, member, holds)
    if report is None:
        return found
    return msgspec.structs.replace(
        found,
        version=report.version,
        cpu_percent=report.cpu_percent,
        memory_bytes=report.memory_bytes,
        draining=report.leaving_since is not None,
        draining_since=report.leaving_since,
        leaving=report.leaving,
        rate_per_minute=report.rate_per_minute,
        errors_per_minute=report.errors_per_minute,
    )


def _of_roster(access: Access, member: Member, holds: Sequence[HeldMessage]) -> WorkerStatus:
    owner = member.owner
    return WorkerStatus(
        id=owner.id,
        name=owner.name,
        host=owner.host,
        pid=owner.pid,
        started_at=owner.started_at,
        queues=access.of_theirs(owner.queues),
        concurrency=owner.concurrency,
        holds=tuple(holds),
        silent_seconds=round(member.silent_seconds, 3),
        slot=owner.slot,
    )


async def _held(access: Access, lease: Lease, gate: asyncio.Semaphore) -> HeldMessage:
    """The task is in the envelope. On SQS only the holder has that, so the message's record is asked."""
    try:
        task: str | None = envelope.decode(lease.envelope).task
    except BodyUndecodable:
        async with gate:
            record = await access.state.records.get(lease.id, lease.queue)
        task = None if record is None else record.task
    return HeldMessage(id=lease.id, queue=lease.queue, task=task)
