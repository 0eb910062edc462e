"""The few lines that most conformance tests begin with: time passes, owners join, messages are sent, leased, looked at.

A living system sweeps, so these do. Nothing here depends on what is tested: that is brought along by the harness
(`harness.py`), which takes these steps.
"""

import asyncio
import itertools
from collections.abc import Awaitable
from typing import Any

import msgspec

from tenure.announcement import AnnounceRequest
from tenure.broker import Broker, BrokerTraits, Browsed, Depth, Page, Query, Sent, SweepRequest, Swept
from tenure.claim import ClaimRequest, Fresh, Scope, Seal, digest
from tenure.client.browse_all import browse_all, pages
from tenure.envelope import decode
from tenure.errors import BadArgument
from tenure.lease import Lease, LeaseRequest
from tenure.limit import Limit
from tenure.message import Message, MessageState, Outgoing
from tenure.owner import Owner
from tenure.record import Record
from tenure.rules.presence import Judgement, judge
from tenure.settlement import Ack, Outcome
from tenure.state import State
from tenure.testing.probe import VirtualProbe
from tenure.testing.virtual import VirtualClock

#: The queue that a test uses when it does not care.
QUEUE = "mail"
TASK = "deliver"


class Steps:
    """Calls and checks that tests make with a broker and a state."""

    #: The lease that tests ask for when they do not care, and the window they then wait for.
    lease_seconds = 30.0
    #: How often the living system sweeps.
    sweep_interval_seconds = 5.0
    #: Failed attempts after which a sweep gives up on a holder without presence.
    max_attempts = 3

    broker: Broker
    state: State

    def __init__(self) -> None:
        """Make a virtual clock and a probe for this test."""
        self.clock = VirtualClock()
        #: The processes of owners and workers.
        self.probe = VirtualProbe()
        self._count = itertools.count(1)
        self._swept_once = False

    @property
    def traits(self) -> BrokerTraits:
        """The traits of the broker under test."""
        return self.broker.traits

    # --- time -------------------------------------------------------------------------------------------

    async def advance(self, seconds: float, *, sweeping: bool = True) -> Swept:
        """Let time pass, sweeping on the way and at the end as a living system does; what that moved.

        `sweeping=False` is an outage of the sweeper: after two intervals the next sweep finds a gap.
        """
        if not sweeping:
            await asyncio.sleep(seconds)
            return Swept()
        swept = []
        left = seconds
        while left > 0:
            step = min(left, self.sweep_interval_seconds)
            await asyncio.sleep(step)
            left -= step
            swept.append(await self.sweep())
        return _together(swept)

    async def lapse(self) -> Swept:
        """Let every lease of the usual length end, and the sweep find it."""
        return await self.advance(self.lease_seconds + 1)

    async def sweep(self, *, limit: int = 100, max_attempts: int | None = None) -> Swept:
        """Sweep once, now."""
        self._swept_once = True
        return await self.broker.sweep(self.sweep_request(limit=limit, max_attempts=max_attempts))

    def sweep_request(self, *, limit: int = 100, max_attempts: int | None = None) -> SweepRequest:
        """The sweep of a living system."""
        return SweepRequest(
            limit=limit,
            interval_seconds=self.sweep_interval_seconds,
            max_attempts=self.max_attempts if max_attempts is None else max_attempts,
            lease_seconds=self.lease_seconds,
        )

    async def move_wall(self, seconds: float) -> None:
        """Let the wall clock jump."""
        self.clock.move_wall(seconds)

    # --- owners -----------------------------------------------------------------------------------------

    def new_owner(self, name: str = "worker") -> Owner:
        """A new boot of a worker that is not on the roster yet."""
        nonce = f"{next(self._count):08x}"
        process = self.probe.me()
        return Owner(
            name,
            nonce,
            host="test",
            pid=process.pid,
            boot_id=process.boot_id,
            started_at=self.clock.wall(),
            pid_namespace=process.pid_namespace,
            process_start=process.start,
        )

    async def owner(self, name: str = "worker") -> Owner:
        """A new boot of a worker, present on the roster."""
        owner = self.new_owner(name)
        await self.state.roster.join(owner)
        return owner

    async def judged(self) -> Judgement:
        """Judge which owners are dead, by the rule of every worker."""
        return judge(await self.state.roster.members(), self.probe)

    async def living(self) -> list[str]:
        """The ids of those whose death is not proven, in order."""
        return sorted(owner.id for owner in (await self.judged()).owners)

    async def dead(self) -> dict[str, bool]:
        """The ids of the proven dead, and whether each said goodbye."""
        return {one.owner.id: one.left for one in (await self.judged()).dead}

    def stranger(self, name: str = "client") -> str:
        """A new holder without presence: an HTTP client, or a loop of the user's own."""
        return f"{name}/{next(self._count):08x}"

    # --- messages ---------------------------------------------------------------------------------------

    def message(self, *, body: object = None, **fields: Any) -> Message:
        """A new message; `body` is any JSON value."""
        usual: dict[str, Any] = {"queue": QUEUE, "task": TASK, "sent_at": self.clock.wall()}
        usual["id"] = f"{next(self._count):032x}"
        raw = msgspec.Raw(msgspec.json.encode({"to": "ada"} if body is None else body))
        return Message(body=raw, **(usual | fields))

    async def send(
        self, *messages: Message, delay_seconds: float = 0.0, unique_seconds: float | None = None
    ) -> list[Sent]:
        """Send, in one call."""
        return await self.broker.send([Outgoing(message, delay_seconds, unique_seconds) for message in messages])

    async def put(self, *, delay_seconds: float = 0.0, **fields: Any) -> Message:
        """Make one message and send it; it must be taken."""
        message = self.message(**fields)
        (sent,) = await self.send(message, delay_seconds=delay_seconds)
        assert sent == Sent(message.id), f"a new message was not taken: {sent}"
        return message

    async def put_many(self, count: int, **fields: Any) -> list[Message]:
        """Send `count` new messages, in batches as large as the broker takes."""
        messages = [self.message(**fields) for _ in range(count)]
        for batch in _batches(messages, self.traits.batch_limit):
            answers = await self.send(*batch)
            assert answers == [Sent(message.id) for message in batch]
        return messages

    # --- leases -----------------------------------------------------------------------------------------

    def request(  # noqa: PLR0913 - the fields of a request
        self,
        owner: Owner | str,
        want: int = 1,
        *,
        queues: tuple[str, ...] = (QUEUE,),
        seconds: float | None = None,
        seconds_by_task: dict[str, float] | None = None,
        request_id: str | None = None,
        has_presence: bool | None = None,
        excluded: tuple[str, ...] = (),
        limits: dict[str, Limit] | None = None,
    ) -> LeaseRequest:
        """A lease request with a new request id. An `Owner` has presence, a mere name has none, unless it is said."""
        return LeaseRequest(
            owner=owner if isinstance(owner, str) else owner.id,
            request_id=request_id or f"request-{next(self._count)}",
            queues=queues,
            want=want,
            seconds=self.lease_seconds if seconds is None else seconds,
            seconds_by_task=seconds_by_task or {},
            has_presence=isinstance(owner, Owner) if has_presence is None else has_presence,
            excluded=excluded,
            limits=limits or {},
        )

    async def lease(self, owner: Owner | str, want: int = 1, **fields: Any) -> list[Lease]:
        """Lease up to `want` messages; `fields` as for `request`. The living system sweeps from its start."""
        if not self._swept_once:
            await self.sweep()
        return await self.broker.lease(self.request(owner, want, **fields))

    async def lease_all(self, owner: Owner | str, **fields: Any) -> list[Lease]:
        """Everything that can be leased now, in the order in which it was lent."""
        leases: dict[str, Lease] = {}
        while batch := await self.lease(owner, self.traits.batch_limit, **fields):
            for lease in batch:
                # Also what keeps a broker that forgets to hide from lending to us for ever.
                assert lease.id not in leases, f"message {lease.id} was lent twice in a row"
                leases[lease.id] = lease
        return list(leases.values())

    async def lease_one(self, owner: Owner | str, **fields: Any) -> Lease:
        """Lease exactly one message."""
        leases = await self.lease(owner, 1, **fields)
        assert len(leases) == 1, f"one message was to be lent, not {len(leases)}"
        return leases[0]

    async def leased(self, owner: Owner | str, *, seconds: float | None = None, **fields: Any) -> Lease:
        """Send one new message and lease it; nothing else may be ready."""
        message = await self.put(**fields)
        lease = await self.lease_one(owner, seconds=seconds, queues=(message.queue,))
        assert lease.id == message.id, "another message was lent than the only one that was ready"
        return lease

    async def complete(self, lease: Lease, result: bytes = b"null") -> None:
        """Finish as a worker does: seal first where the broker does not settle exactly once, then ack."""
        if not self.traits.settles_exactly_once:
            message = decode(lease.envelope)
            scope = Scope.of(message)
            request = ClaimRequest(scope, message.id, lease.owner, self.lease_seconds, digest(message))
            (answer,) = await self.state.ledger.claim([request])
            assert isinstance(answer, Fresh), f"the holder of a lease could not claim: {answer}"
            assert await self.state.ledger.seal([Seal(answer.token, result, announce=AnnounceRequest.of(message))]) == [
                True
            ]
        (settlement,) = await self.broker.ack([Ack(lease, result)])
        assert settlement.outcome == Outcome.DELETED

    # --- looking ----------------------------------------------------------------------------------------

    async def record(self, id: str) -> Record:
        """Return the record of a message that must exist."""
        record = await self.state.records.get(id)
        assert record is not None, f"message {id} is lost: no record of it"
        return record

    async def state_of(self, id: str) -> MessageState:
        """Return the state of a message."""
        return (await self.record(id)).state

    async def is_completed(self, id: str) -> bool:
        """Whether it was acked. A broker that needs a seal keeps no record of what was acked without one."""
        record = await self.state.records.get(id)
        if record is None:
            return not self.traits.settles_exactly_once
        return record.state == MessageState.COMPLETED

    def query(self, *states: MessageState, queues: tuple[str, ...] | None = (QUEUE,), **more: Any) -> Query:
        """Make a browse query, with a scan where no index shows these states."""
        needs_scan = not self.traits.browsable.issuperset(states)
        return Query(states=states, queues=queues, **({"scan": needs_scan} | more))

    async def browse(self, queue: str = QUEUE, state: MessageState = MessageState.READY, **more: Any) -> list[Browsed]:
        """Everything in one queue and state, over all pages; `more` as in `Query`."""
        query = self.query(state, queues=(queue,), **more)
        return [one async for one in browse_all(self.broker, query)]

    async def pages(self, queue: str = QUEUE, state: MessageState = MessageState.READY, **more: Any) -> list[Page]:
        """Every page of one queue and state, two messages each unless `more` says otherwise."""
        query = self.query(state, queues=(queue,), **({"limit": 2} | more))
        return [page async for page in pages(self.broker, query)]

    async def is_refused(self, asked: Awaitable[object]) -> bool:
        """Whether the answer is `BadArgument`."""
        try:
            await asked
        except BadArgument:
            return True
        return False

    async def took(self, act: Awaitable[object]) -> float:
        """Measure how long a call takes, in virtual seconds."""
        before = self.clock.monotonic()
        await act
        return self.clock.monotonic() - before

    async def depth(self, queue: str = QUEUE) -> Depth:
        """Count the messages of one queue."""
        (depth,) = await self.broker.depth([queue])
        return depth


def _batches(messages: list[Message], size: int) -> list[list[Message]]:
    return [messages[start : start + size] for start in range(0, len(messages), size)]


def _together(swept: list[Swept]) -> Swept:
    """Several sweeps as one."""
    return Swept(
        returned=tuple(id for one in swept for id in one.returned),
        dead=tuple(id for one in swept for id in one.dead),
        adopted=tuple(id for one in swept for id in one.adopted),
        grace=any(one.grace for one in swept),
        queues={id: queue for one in swept for id, queue in one.queues.items()},
    )
