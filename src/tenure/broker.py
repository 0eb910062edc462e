"""The broker port: lends messages and takes them back.

Implemented by `adapters/<vendor>/broker.py`; held to its word by `tenure.testing.conformance`. Every
verb takes a batch and answers for each entry in order: only the handler is per message. All of them
raise `BrokerUnavailable` when the broker is away, and nothing else for an outage.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from tenure.finding import Finding
from tenure.lease import Lease, LeaseRequest
from tenure.message import Counters, MessageState, Outgoing
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Settlement
from tenure.verdict import Reason

#: So many messages of a retired owner are returned in one step: each step holds up everybody else.
RETIRE_BATCH = 1_000

#: For `BrokerTraits.browsable`.
EVERY_STATE = frozenset(MessageState)


class BrokerTraits(msgspec.Struct, frozen=True, kw_only=True):
    """What a broker can and cannot do. Code asks these, never a broker's name."""

    min_lease_seconds: float
    max_lease_seconds: float
    #: Longest time one delivery may be held, however often it is touched. None: no limit.
    max_hold_seconds: float | None
    #: Largest encoded envelope, in bytes.
    body_limit: int
    #: Most entries in one call of each verb.
    batch_limit: int
    #: Longest delay it keeps by itself. None: any.
    max_delay_seconds: float | None
    #: A stale lease can do no harm even if it is used.
    receipts_fence: bool
    #: Ack checks owner and fence, every move is atomic in one store, send is idempotent, and result and
    #: hand-offs commit with the ack: claim and seal may be skipped for messages without a key.
    settles_exactly_once: bool
    #: `send` itself recognises a key that was sent before.
    keys_at_send: bool
    #: `send` itself knows whether a message with the same `unique` waits.
    unique_at_send: bool
    #: An id that one queue knows is a duplicate in every other. Else ids count within their queue.
    ids_across_queues: bool = True
    #: The lease can differ from message to message in one call.
    lease_per_message: bool
    #: Distinct priorities kept apart; 1 means that priority is ignored.
    priority_levels: int
    #: One message in so many is taken from a lower priority while higher ones wait. None: no fairness.
    fairness: int | None
    #: It removes expired messages by itself.
    native_expiry: bool
    #: The states of which `browse` shows every message, disturbing nothing. Of the others it shows none.
    browsable: frozenset[MessageState]
    #: `depth` counts rather than guesses.
    depth_is_exact: bool
    #: What was returned is lent before the backlog, at equal priority. False: somewhere among it.
    returned_first: bool = True
    #: What one call sends is lent in that order, at equal priority. False: the order is kept roughly.
    in_order: bool = True
    #: A message may have a ticket instead of its body. False: others read its queue, who know nothing of cloakrooms.
    takes_tickets: bool = True
    #: A worker reads the roster so often. In the cloud each look is a request that is paid for.
    roster_seconds: float = 1.0


class Sent(msgspec.Struct, frozen=True):
    """What became of one `send`. `id` is the message that now stands for it."""

    id: str
    #: True: it was there already (same id, or same key and payload); nothing new was stored.
    duplicate: bool = False
    #: Set: it was refused, and nothing was stored.
    refusal: Reason | None = None


class SweepRequest(msgspec.Struct, frozen=True):
    """How to sweep. `interval_seconds` is how often it is done: a gap of two intervals means an outage."""

    limit: int = 100
    interval_seconds: float = 5.0
    #: For holders without presence, where the message has no limit of its own.
    max_attempts: int = 3
    #: The window given to a lease that is found without a deadline.
    lease_seconds: float = 30.0


class Swept(msgspec.Struct, frozen=True):
    """What a sweep or a retirement moved, by message id."""

    returned: tuple[str, ...] = ()
    dead: tuple[str, ...] = ()
    #: Lent without a deadline before; they have one now.
    adopted: tuple[str, ...] = ()
    #: True: there was an outage, so every lease got a fresh window and nothing was moved.
    grace: bool = False
    #: Of a retirement. True: the owner holds more; ask again.
    more: bool = False
    #: Of a retirement. True: this call declared the owner dead; nobody had before.
    declared: bool = False

    @property
    def moved(self) -> int:
        """How many messages changed their state."""
        return len(self.returned) + len(self.dead)


class Depth(msgspec.Struct, frozen=True, kw_only=True):
    """How much lies in a queue. None: the broker cannot say. 0: it can, and there are none."""

    queue: str
    ready: int | None
    delayed: int | None
    leased: int | None
    dead: int | None
    #: Seconds since the oldest ready message was sent.
    oldest_age_seconds: float | None
    estimated: bool = False


class Browsed(msgspec.Struct, frozen=True, kw_only=True):
    """One message as it lies in the broker, looked at without disturbing it."""

    id: str
    queue: str
    state: MessageState
    envelope: bytes
    counters: Counters
    #: Pass to `browse(after=…)` for the next page.
    cursor: int
    owner: str | None = None
    fence: int | None = None
    #: Seconds until the lease ends (negative: overdue). None: not leased.
    deadline_in: float | None = None
    #: Seconds until it may be leased. None: not delayed.
    due_in: float | None = None
    #: Why the last attempt failed, or why it is dead.
    reason: Reason | None = None
    #: Of what has ended: the wall time of that.
    finished_at: float | None = None


class Broker(Protocol):
    """Lends messages and takes them back."""

    @property
    def traits(self) -> BrokerTraits:
        """What this broker can and cannot do."""
        ...

    async def open(self) -> None:
        """Connect, and make what must exist. Called once, before anything else."""
        ...

    async def close(self) -> None:
        """Let go of everything; what was acknowledged stays."""
        ...

    def twin(self) -> "Broker":
        """A second connection for another thread's event loop.

        A broker that any loop may call returns itself.
        """
        ...

    async def check(self, queues: Sequence[str]) -> list[Finding]:
        """What is unwise about how these queues, or the place as a whole, are set up; and told in the log.

        Asked by a worker before its first lease. Raises `ConfigurationError` for what cannot be worked with.
        """
        ...

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Store messages. When it returned, none of them can be lost. Idempotent by id for ≥ 10 minutes.

        With `unique`, a message of the same queue and task that waits (ready or delayed) stands for this one, unless
        it expires before this one would: then perhaps neither would be run.
        """
        ...

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend up to `want` messages: deadline, fence and owner are stamped in one atomic step.

        Highest priority first, within the stated fairness; returned messages before the backlog; due
        delayed messages are promoted. Raises `OwnerRetired` for an owner that was declared dead.
        """
        ...

    async def wait(self, queues: Sequence[str], seconds: float) -> None:
        """Return when something may have become leasable, or after `seconds`. May be cancelled."""
        ...

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Set each deadline to now + `lease.seconds`; never adds up, never shortens.

        Answers with a new lease for each, whose `state` says held or lost. Never takes a message back
        from a new owner.
        """
        ...

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """The work is done: delete for good, with result and hand-offs where it settles exactly once."""
        ...

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """The attempt failed: count it, and lend the message again after its delay."""
        ...

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """It was not run: lend it again after its delay, counting nothing; a reason is kept in its history."""
        ...

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Put aside, with raw bytes, counters and reason."""
        ...

    async def redrive(self, ids: Sequence[str]) -> list[str]:
        """Send dead letters back to their queue: generation + 1, counters at zero. Returns the ids moved."""
        ...

    async def delete(self, ids: Sequence[str]) -> list[str]:
        """Remove messages that nobody holds (ready, delayed, dead); recorded as cancelled. Returns the ids removed."""
        ...

    async def cancel(self, ids: Sequence[str]) -> list[MessageState | None]:
        """Take messages back from whoever would run, or runs, them; recorded as cancelled, with the key freed.

        Answers with the state in which each was met (ready, delayed, leased), or None: it was finished, dead
        or not there, and nothing was changed. The lease and the claim on one that was leased end in the same
        step: its holder's touch answers lost, its late ack changes nothing, and `Board.read` counts it.
        """
        ...

    async def sweep(self, request: SweepRequest) -> Swept:
        """Return overdue leases, oldest deadline first, atomically per message; adopt leases without a deadline.

        A holder with presence that let its lease lapse: `lost` + 1. One without: `attempts` + 1, and the
        dead letters at `max_attempts`. After an outage: a fresh window for everybody, nothing returned.
        """
        ...

    async def held(self, owner: str, request_id: str | None = None) -> list[Lease]:
        """What `owner` holds, by the broker's account; with `request_id`, of that one lease call."""
        ...

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Ban the nonce of `owner`, release its claims, then return up to `limit` of its messages.

        The ban is the first step: from then on `owner` can neither lease, claim nor join. `Swept.more` says that
        it still holds something: ask again. Until nothing is left, `Roster.members` lists it as retired, so that
        anybody can go on if the caller dies in between.

        A late settle or touch changes nothing once the message was returned. Before that it counts, as that of any
        holder: nobody else has the message yet, and work that is done need not be done again.

        `crashed`: each message counts a crash. Not crashed (it said goodbye): uncounted.
        """
        ...

    async def browse(self, queue: str, state: MessageState, *, limit: int = 100, after: int = 0) -> list[Browsed]:
        """Look at messages in the order in which they came, changing nothing."""
        ...

    async def depth(self, queues: Sequence[str] | None = None) -> list[Depth]:
        """How much lies in each queue; None: every queue there is."""
        ...
