"""The broker in memory: each verb is one step of the store.

A verb is implemented in the file named after it: `sending`, `lending`, `settling`, `returning`, `operating`,
`announcing`, `browsing`, `holding`, `looking`, `queues`, `waiting`.
"""

from collections.abc import Mapping, Sequence

from tenure.adapters.memory import (
    browsing,
    holding,
    lending,
    looking,
    operating,
    queues,
    returning,
    sending,
    settling,
    waiting,
)
from tenure.adapters.memory.store import MemoryDatabase
from tenure.announcement import READ_LIMIT, Announcement
from tenure.broker import (
    MOST_LEASES,
    RETIRE_BATCH,
    BrokerTraits,
    Depth,
    Erased,
    Leases,
    Page,
    Promoted,
    Query,
    Refused,
    Sent,
    SweepRequest,
    Swept,
)
from tenure.finding import Finding
from tenure.lease import Lease, LeaseRequest
from tenure.limit import NO_LIMITS, Limit
from tenure.message import MessageState, Outgoing
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Settlement
from tenure.verdict import Reason


class MemoryBroker:
    """Lends messages within one process. Nothing survives the process."""

    def __init__(self, store: MemoryDatabase) -> None:
        """Made by `connect`."""
        self._store = store

    @property
    def traits(self) -> BrokerTraits:
        """The broker's capabilities, in the shape it was made in."""
        return self._store.traits

    async def open(self) -> None:
        """Do nothing: there is no connection to open."""

    async def close(self) -> None:
        """Do nothing: the store lives for as long as it is referenced."""

    def twin(self) -> "MemoryBroker":
        """Itself: any thread's loop may call it."""
        return self

    async def check(self, queues: Sequence[str]) -> list[Finding]:  # noqa: ARG002 - of the contract
        """Report no findings: this broker has no settings that can be wrong."""
        return []

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Store messages, each once."""
        async with self._store.step() as now:
            return sending.send(self._store, batch, now)

    def refusal(self, outgoing: Outgoing) -> Reason | None:
        """Why `send` would refuse it."""
        return sending.refusal(self._store, outgoing)

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        """Store refused hand-offs as dead letters."""
        async with self._store.step() as now:
            sending.put_aside(self._store, batch, now)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend up to `want` messages."""
        async with self._store.step() as now:
            return lending.lease(self._store, request, now)

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Return when something may have become leasable, or after `seconds`."""
        await waiting.wait(self._store, queues, seconds, excluded, limits)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Set each deadline to now + `lease.seconds`."""
        async with self._store.step() as now:
            return lending.touch(self._store, leases, now)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Delete messages whose work is done."""
        async with self._store.step() as now:
            return settling.settle(self._store, batch, settling.ack, now)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Return messages whose attempt failed."""
        async with self._store.step() as now:
            return settling.settle(self._store, batch, settling.nack, now)

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """Return messages that were not run."""
        async with self._store.step() as now:
            return settling.settle(self._store, batch, settling.give_back, now)

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Put aside, with raw bytes, counters and reason."""
        async with self._store.step() as now:
            return settling.settle(self._store, batch, settling.dead_letter, now)

    async def redrive(self, ids: Sequence[str], queue: str | None = None) -> list[str]:  # noqa: ARG002 - found without a hint
        """Send dead letters back to their queue."""
        async with self._store.step() as now:
            return operating.redrive(self._store, ids, now)

    async def delete(self, ids: Sequence[str], queue: str | None = None) -> list[str]:  # noqa: ARG002 - found without a hint
        """Cancel messages that are not leased."""
        async with self._store.step() as now:
            return operating.delete(self._store, ids, now)

    async def cancel(
        self,
        ids: Sequence[str],
        queue: str | None = None,  # noqa: ARG002 - found without a hint
    ) -> list[MessageState | None]:
        """Cancel messages, also leased ones."""
        async with self._store.step() as now:
            return operating.cancel(self._store, ids, now)

    async def promote(self, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:  # noqa: ARG002 - found without a hint
        """Make delayed messages ready now."""
        async with self._store.step() as now:
            return operating.promote(self._store, ids, now)

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        """Return the next endings that wait to be announced."""
        async with self._store.step():
            return self._store.announcements.read(after, limit)

    async def announced(self, batch: Sequence[Announcement]) -> None:
        """Forget these announcements, and the records that only they needed."""
        async with self._store.step():
            self._store.announcements.end(batch)
            self._store.spare_no_more()

    async def sweep(self, request: SweepRequest) -> Swept:
        """Return overdue leases."""
        async with self._store.step() as now:
            return returning.sweep(self._store, request, now)

    async def held(self, owner: str, request_id: str | None = None) -> list[Lease]:
        """Return the leases that `owner` holds."""
        async with self._store.step() as now:
            return lending.held(self._store, owner, request_id, now)

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Ban the nonce of `owner`, and return what it holds."""
        async with self._store.step() as now:
            return returning.retire(self._store, owner, now, limit, crashed=crashed)

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:  # noqa: ARG002
        """The lease that `owner` has on message `id` under `fence`."""
        async with self._store.step() as now:
            return holding.find(self._store, id, owner, fence, now)

    async def leases(self, queues: Sequence[str] | None = None, *, limit: int = MOST_LEASES) -> Leases:
        """The current leases, soonest deadline first."""
        async with self._store.step() as now:
            return holding.leases(self._store, queues, limit, now)

    async def browse(self, query: Query) -> Page:
        """Look at messages: one page."""
        async with self._store.step() as now:
            return browsing.browse(self._store, query, now)

    async def queues(self) -> list[str]:
        """The names of the queues there are, sorted."""
        async with self._store.step():
            return queues.queues(self._store)

    async def forget_queue(self, queue: str) -> bool:
        """Take a queue off the list if nothing is in it."""
        async with self._store.step():
            return queues.forget(self._store, queue)

    async def erase(self, queue: str, after: str = "") -> Erased:  # noqa: ARG002 - one step is enough
        """Remove what is kept of messages of a queue that have ended."""
        async with self._store.step():
            return Erased(self._store.erase(queue))

    async def depth(self, queues: Sequence[str] | None = None) -> list[Depth]:
        """Count the messages of each queue."""
        async with self._store.step():
            return looking.depth(self._store, queues)
