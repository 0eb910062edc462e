"""The harness: what an adapter brings along to be put through the conformance suites.

An adapter's author writes one subclass: `connect` and `kill`, and those of the optional capabilities that
the store allows (`damage`, `drop_deadline`, `reopen`). A capability that is not there raises
`NotApplicable`, and the tests that need it are skipped with that reason. Everything else is shared: time,
sweeping, and the few lines that most tests begin with.

One harness is one fresh store in virtual time. Used by `tenure.testing.conformance`.
"""

import asyncio
import itertools
import unittest
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec

from tenure.broker import Broker, BrokerTraits, Depth, Sent, SweepRequest, Swept
from tenure.claim import ClaimRequest, Fresh, Scope, Seal, digest
from tenure.envelope import decode
from tenure.lease import Lease, LeaseRequest
from tenure.message import Message, MessageState, Outgoing
from tenure.owner import Owner
from tenure.record import Record
from tenure.settlement import Ack, Outcome
from tenure.state import State
from tenure.testing.virtual import VirtualClock
from tenure.verdict import Reason

#: The queue that a test uses when it does not care.
QUEUE = "mail"
TASK = "deliver"

#: Why an attempt failed, when a test does not care.
BROKEN = Reason("handler_error", "it broke")


class NotApplicable(unittest.SkipTest):
    """Nothing to test here for this broker, or with this harness. pytest shows it as a skip with its reason."""

    def __init__(self, reason: str) -> None:
        """Say what is missing; the first words tell this skip from one that hides a missing part."""
        super().__init__(f"not applicable: {reason}")


class Fault(Protocol):
    """What `tenure.testing.faulty` puts between the suites and a store that works."""

    def broker(self, inner: Broker, clock: VirtualClock) -> Broker:
        """The broker with the fault in it."""
        ...

    def state(self, inner: State, clock: VirtualClock) -> State:
        """The state with the fault in it."""
        ...


class Harness(ABC):
    """A fresh broker and state under test, from `async with` to its end."""

    #: The lease that tests ask for when they do not care, and the window they then wait for.
    lease_seconds = 30.0
    #: How often the living system sweeps.
    sweep_interval_seconds = 5.0
    #: Failed attempts after which a sweep gives up on a holder without presence.
    max_attempts = 3
    #: How many storms blow over it; each costs thousands of calls.
    storms = 4
    #: What a worker test calls very long: longer than a task that nobody knows is waited for (ten minutes).
    long_seconds = 660.0

    broker: Broker
    state: State

    def __init__(self, fault: Fault | None = None) -> None:
        """Run on a clock of its own; with `fault`, everything the tests see goes through it."""
        self.clock = VirtualClock()
        self._fault = fault
        self._count = itertools.count(1)
        self._seconds: list[Broker] = []
        self._swept_once = False

    # --- what an adapter brings -------------------------------------------------------------------------

    @abstractmethod
    async def connect(self) -> tuple[Broker, State]:
        """Open broker and state. The first call makes a fresh store, later ones find that same store."""

    @abstractmethod
    async def kill(self, owner: Owner) -> None:
        """Make it provable that `owner` is dead, as `kill -9` would; nobody says goodbye."""

    async def damage(self, id: str) -> bytes:
        """Spoil the stored envelope of a message so that it cannot be decoded; the new bytes."""
        raise NotApplicable(f"this harness cannot damage the envelope of {id}")

    async def drop_deadline(self, id: str) -> None:
        """Leave a leased message without a deadline, as a receive whose stamp was lost would."""
        raise NotApplicable(f"this harness cannot take the deadline of {id} away")

    async def disconnect(self) -> None:
        """Close broker and state; what was acknowledged stays."""
        await self.state.close()
        await self.broker.close()

    async def reopen(self) -> None:
        """Close everything and open the same store again. Only durable stores can."""
        raise NotApplicable("this store does not outlive its connection")

    async def clean_up(self) -> None:
        """Remove the store when the test is over; what lives in memory needs no removing."""
        return

    # --- its life ---------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Open a fresh store."""
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close, and remove the store."""
        try:
            await self._close()
        finally:
            await self.clean_up()

    async def _open(self) -> None:
        self.broker, self.state = self._spoil(*await self.connect())

    async def _close(self) -> None:
        for broker in self._seconds:
            await broker.close()
        self._seconds.clear()
        await self.disconnect()

    async def _reopen(self) -> None:
        """For subclasses whose store is durable: this is `reopen`."""
        await self._close()
        await self._open()

    def _spoil(self, broker: Broker, state: State) -> tuple[Broker, State]:
        if self._fault is None:
            return broker, state
        return self._fault.broker(broker, self.clock), self._fault.state(state, self.clock)

    async def second(self) -> Broker:
        """Another connection to the same store; the same object if any number of callers may share it."""
        twin = self.broker.twin()
        if twin is not self.broker:
            await twin.open()
            self._seconds.append(twin)
        return twin

    # --- what tests ask ---------------------------------------------------------------------------------

    @property
    def traits(self) -> BrokerTraits:
        """What the broker under test says of itself."""
        return self.broker.traits

    def need(self, trait: str, wanted: Callable[[Any], bool] = bool) -> None:
        """Skip the test unless the broker's trait is as wanted."""
        value = getattr(self.traits, trait)
        if not wanted(value):
            raise NotApplicable(f"{trait} is {value!r} here")

    def need_browsable(self, *states: MessageState) -> None:
        """Skip the test unless the broker shows what is in these states."""
        hidden = [state.value for state in states if state not in self.traits.browsable]
        if hidden:
            raise NotApplicable(f"what is {' or '.join(hidden)} cannot be browsed here")

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
        """One sweep, now."""
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
        started_at = self.clock.wall()
        return Owner(name, nonce, host="test", pid=1, boot_id=self.clock.boot_id(), started_at=started_at)

    async def owner(self, name: str = "worker") -> Owner:
        """A new boot of a worker, present on the roster."""
        owner = self.new_owner(name)
        await self.state.roster.join(owner)
        return owner

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

    def request(
        self,
        owner: Owner | str,
        want: int = 1,
        *,
        queues: tuple[str, ...] = (QUEUE,),
        seconds: float | None = None,
        seconds_by_task: dict[str, float] | None = None,
        request_id: str | None = None,
    ) -> LeaseRequest:
        """A lease request with a new request id."""
        return LeaseRequest(
            owner=owner if isinstance(owner, str) else owner.id,
            request_id=request_id or f"request-{next(self._count)}",
            queues=queues,
            want=want,
            seconds=self.lease_seconds if seconds is None else seconds,
            seconds_by_task=seconds_by_task or {},
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
            assert await self.state.ledger.seal([Seal(answer.token, result)]) == [True]
        (settlement,) = await self.broker.ack([Ack(lease, result)])
        assert settlement.outcome == Outcome.DELETED

    # --- looking ----------------------------------------------------------------------------------------

    async def record(self, id: str) -> Record:
        """What is known of a message that must be known."""
        record = await self.state.records.get(id)
        assert record is not None, f"message {id} is lost: no record of it"
        return record

    async def state_of(self, id: str) -> MessageState:
        """Where the message is."""
        return (await self.record(id)).state

    async def is_completed(self, id: str) -> bool:
        """Whether it was acked. A broker that needs a seal keeps no record of what was acked without one."""
        record = await self.state.records.get(id)
        if record is None:
            return not self.traits.settles_exactly_once
        return record.state == MessageState.COMPLETED

    async def depth(self, queue: str = QUEUE) -> Depth:
        """How much lies in one queue."""
        (depth,) = await self.broker.depth([queue])
        return depth


def _batches(messages: list[Message], size: int) -> list[list[Message]]:
    return [messages[start : start + size] for start in range(0, len(messages), size)]


def _together(swept: list[Swept]) -> Swept:
    """Several sweeps told as one."""
    return Swept(
        returned=tuple(id for one in swept for id in one.returned),
        dead=tuple(id for one in swept for id in one.dead),
        adopted=tuple(id for one in swept for id in one.adopted),
        grace=any(one.grace for one in swept),
    )
