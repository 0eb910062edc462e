"""The broker on Redis: passes each verb to the module that implements it."""

from collections.abc import Mapping, Sequence

import msgspec

from tenure.adapters.redis import (
    announcing,
    browsing,
    depths,
    erasing,
    examination,
    lease_list,
    operating,
    sending,
    settling,
)
from tenure.adapters.redis.forgetting import forget
from tenure.adapters.redis.lending import RedisLeases
from tenure.adapters.redis.outbox import HandOffOutbox
from tenure.adapters.redis.returning import RedisReturns
from tenure.adapters.redis.store import RedisStore
from tenure.adapters.redis.waiting import WaitingWorkers
from tenure.announcement import READ_LIMIT, Announcement
from tenure.broker import (
    EVERY_STATE,
    MOST_LEASES,
    RETIRE_BATCH,
    BrokerTraits,
    Depth,
    Erased,
    Promoted,
    Refused,
    Sent,
    SweepRequest,
    Swept,
)
from tenure.examination import Examination
from tenure.finding import Finding
from tenure.lease import Lease, LeaseRequest, LeaseState
from tenure.limit import NO_LIMITS, Limit
from tenure.message import MAX_PRIORITY, MessageState, Outgoing
from tenure.query import Leases, Page, Query
from tenure.rules.rotation import FAIRNESS
from tenure.rules.skew import examine_clock, find_skew
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement
from tenure.verdict import Reason

_DAY = 86_400.0


class RedisBroker:
    """Lends messages from a server, to any number of machines."""

    def __init__(self, store: RedisStore) -> None:
        """Stand on `store`, which the state may share."""
        self._store = store
        limit = store.options.body_limit
        self._traits = BrokerTraits(
            min_lease_seconds=0.05,
            max_lease_seconds=7 * _DAY,
            max_hold_seconds=None,
            body_limit=limit,
            batch_limit=1000,
            max_delay_seconds=None,
            receipts_fence=True,
            settles_exactly_once=True,
            acks_claims=True,
            keys_at_send=True,
            unique_at_send=True,
            # A queue's script reaches the keys of its own queue: another may be on another server.
            ids_across_queues=False,
            lease_per_message=True,
            priority_levels=MAX_PRIORITY + 1,
            fairness=FAIRNESS,  # as in lua/lease.lua
            native_expiry=False,
            browsable=EVERY_STATE,
            depth_is_exact=True,
            works_beside=True,
        )
        self._outbox = HandOffOutbox(store, limit)
        self._lending = RedisLeases(store, self._traits)
        self._limiting = self._lending.limiting
        self._waiting = WaitingWorkers(store, self._lending.listing, self._limiting, self._lending.quiet)
        self._returning = RedisReturns(store, self._outbox)

    @property
    def traits(self) -> BrokerTraits:
        """The capabilities of Redis."""
        return self._traits

    async def open(self) -> None:
        """Connect, unless the state has."""
        await self._store.open()

    async def close(self) -> None:
        """Let go of the connections, unless the state still uses them."""
        await self._store.close()

    def twin(self) -> "RedisBroker":
        """Connections of its own, for another loop."""
        return RedisBroker(self._store.twin())

    async def check(self, queues: Sequence[str]) -> list[Finding]:  # noqa: ARG002 - of the contract
        """Findings about the server, which has all queues, and about our clock."""
        store = self._store
        return [*store.findings, *find_skew(store.options.place, own=store.clock.wall(), store=store.wall.now())]

    async def examine(self, queues: Sequence[str]) -> list[Examination]:  # noqa: ARG002 - of the port
        """How the server is set up, and the time there."""
        store = self._store
        await store.commands_and_time(store.names.common, [])
        clocks = examine_clock(store.options.place, own=store.clock.wall(), store=store.wall.now())
        return [*await examination.examine(store.command, store.options), clocks]

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Store messages, once each."""
        return await sending.send(self._store, batch, self._traits.body_limit)

    def refusal(self, outgoing: Outgoing) -> Reason | None:
        """Why `send` would refuse it."""
        return sending.refusal(outgoing, self._traits.body_limit)

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        """Store refused hand-offs as dead letters."""
        await sending.put_aside(self._store, batch)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend up to `want` messages."""
        return await self._lending.lease(request)

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Return when something may have become leasable, or after `seconds`."""
        await self._waiting.wait(queues, seconds, excluded, limits)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Move the deadlines of what is still held."""
        asked = self._store.clock.monotonic()
        answers = await self._lending.touch(leases)
        return [
            msgspec.structs.replace(lease, state=LeaseState.HELD, deadline=max(lease.deadline, asked + lease.seconds))
            if held
            else msgspec.structs.replace(lease, state=LeaseState.LOST)
            for lease, held in zip(leases, answers, strict=True)
        ]

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Done: result and hand-offs commit with it."""
        outcomes = await settling.ack(self._store, self._outbox, batch, self._traits.body_limit)
        await self._limiting.ended(batch, outcomes)
        return _settlements(outcomes)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Failed: counted, and lent again after a delay."""
        outcomes = await settling.nack(self._store, batch)
        await self._limiting.ended(batch, outcomes)
        return _settlements(outcomes)

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """Return messages that were not run; they can be leased again after a delay."""
        outcomes = await settling.give_back(self._store, batch)
        await self._limiting.ended(batch, outcomes, returns_tokens=True)
        return _settlements(outcomes)

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Put aside, with raw bytes, counters and reason."""
        outcomes = await settling.dead_letter(self._store, batch)
        await self._limiting.ended(batch, outcomes)
        return _settlements(outcomes)

    async def redrive(self, ids: Sequence[str], queue: str | None = None) -> list[str]:
        """Send dead letters back to their queue."""
        return await operating.redrive(self._store, ids, queue)

    async def delete(self, ids: Sequence[str], queue: str | None = None) -> list[str]:
        """Remove messages that are not leased."""
        return await operating.delete(self._store, ids, queue)

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:
        """Take messages back, also from those who run them."""
        return await operating.cancel(self._store, ids, queue)

    async def promote(self, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:
        """Make delayed messages ready now."""
        return await operating.promote(self._store, ids, queue)

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        """Return the next endings that wait to be announced."""
        return await announcing.announcements(self._store, after, limit)

    async def announced(self, batch: Sequence[Announcement]) -> None:
        """Forget these announcements, and results that only they needed."""
        await announcing.announced(self._store, batch)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Return overdue leases, and forget what is long finished."""
        return await self._returning.sweep(request)

    async def held(self, owner: str, request_id: str | None = None) -> list[Lease]:
        """Return the leases that `owner` holds."""
        return await self._lending.held(owner, request_id)

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Ban `owner`, and return what it holds, page by page."""
        return await self._returning.retire(owner, limit, crashed=crashed)

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:
        """The lease that `owner` has on a message under `fence`."""
        return await lease_list.find(self._store, id, owner, fence, queue)

    async def leases(self, queues: Sequence[str] | None = None, *, limit: int = MOST_LEASES) -> Leases:
        """The current leases, soonest deadline first."""
        return await lease_list.leases(self._store, queues, limit)

    async def browse(self, query: Query) -> Page:
        """Look at messages, one page at a time."""
        return await browsing.browse(self._store, query, self._traits)

    async def queues(self) -> list[str]:
        """The names of the queues there are."""
        return await self._store.queues()

    async def forget_queue(self, queue: str) -> bool:
        """Take a queue off the list if nothing is in it."""
        return await forget(self._store, queue)

    async def erase(self, queue: str, after: str = "") -> Erased:
        """Remove what is kept of messages of a queue that have ended."""
        return await erasing.erase(self._store, queue, after)

    async def depth(self, queues: Sequence[str] | None = None) -> list[Depth]:
        """Count the messages of each queue, exactly."""
        return await depths.depth(self._store, queues)


_SETTLED = {outcome: Settlement(outcome) for outcome in Outcome}


_DELETED = _SETTLED[Outcome.DELETED]


def _settlements(outcomes: Sequence[Outcome]) -> list[Settlement]:
    deleted, done = Outcome.DELETED, _DELETED  # nearly all of them, and looking one up takes longer
    return [done if outcome is deleted else _SETTLED[outcome] for outcome in outcomes]
