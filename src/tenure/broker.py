"""The broker port: leases messages and takes them back.

Implemented by `adapters/<vendor>/broker.py`; tested by `tenure.testing.conformance`. Every
verb takes a batch and answers for each entry in order: only the handler is per message. All of them
raise `BrokerUnavailable` when the broker is away, and nothing else for an outage.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

import msgspec

from tenure.announcement import READ_LIMIT, Announcement
from tenure.examination import Examination
from tenure.finding import Finding
from tenure.lease import Lease, LeaseRequest
from tenure.limit import NO_LIMITS, Limit
from tenure.message import Message, MessageState, Outgoing
from tenure.query import Browsed, Leases, Page, Query
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Settlement
from tenure.verdict import Reason

__all__ = [
    "EVERY_STATE", "LEASE_BYTE_LIMIT", "MOST_LEASES", "RETIRE_BATCH", "WAITING_KNOWN_SECONDS", "Broker",
    "BrokerTraits", "Browsed", "Depth", "Erased", "Examinable", "Leases", "Page", "Promoted", "Query", "Refused",
    "Sent", "SweepRequest", "Swept",
]  # fmt: skip

#: This many messages of a retired owner are returned in one step: each step holds up everybody else.
RETIRE_BATCH = 1_000

#: For `BrokerTraits.browsable`.
EVERY_STATE = frozenset(MessageState)
#: This many leases are listed in one look.
MOST_LEASES = 10_000
#: For `BrokerTraits.lease_byte_limit`: 8 MiB.
LEASE_BYTE_LIMIT = 8 * 1024 * 1024
#: For `BrokerTraits.waiting_is_counted`: an estimate of what waits is counted anew after so long.
WAITING_KNOWN_SECONDS = 5.0


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
    #: Most bytes of envelopes that one call of `lease` lends. One message is always lent, however large.
    lease_byte_limit: int = LEASE_BYTE_LIMIT
    #: Longest delay it keeps by itself. None: any.
    max_delay_seconds: float | None
    #: A stale lease can do no harm even if it is used.
    receipts_fence: bool
    #: Ack checks owner and fence, every move is atomic in one store, send is idempotent, and result and
    #: hand-offs commit with the ack: claim and seal may be skipped for messages without a key.
    settles_exactly_once: bool
    #: `ack` ends the claim of its message in the same step, and settles nothing where that claim is lost: nothing needs
    #: to be sealed before. Only where broker and ledger are one store.
    acks_claims: bool = False
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
    #: One message in this many is taken from a lower priority while higher ones wait. None: no fairness.
    fairness: int | None
    #: It removes expired messages by itself.
    native_expiry: bool
    #: The states whose messages `browse` shows, all of them and without side effects. It shows no others.
    browsable: frozenset[MessageState]
    #: States that `browse` shows only by a scan that is paid for by the row, on request (`Query.scan`).
    scannable: frozenset[MessageState] = frozenset()
    #: How `browse` orders messages that have ended: by when that was, or by when they were sent.
    ended_order: Literal["end", "arrival"] = "end"
    #: Fields by which completed and cancelled messages can be filtered: their envelope is gone.
    ended_filters: frozenset[str] = frozenset({"task"})
    #: States that `browse` shows without envelopes, because they are kept elsewhere: `BadArgument` for a filter by
    #: client, key or text.
    opaque_states: frozenset[MessageState] = frozenset()
    #: A face that shows this broker reads it at this interval. In the cloud each look is a request that is paid for.
    snapshot_seconds: float = 1.0
    #: `depth` counts rather than guesses.
    depth_is_exact: bool
    #: Returned messages are lent before the backlog, at equal priority. False: somewhere among it.
    returned_first: bool = True
    #: Messages of one send are lent in that order, at equal priority. False: the order is kept roughly.
    in_order: bool = True
    #: A message may have a ticket instead of its body. False: others read its queue, who know nothing of blob stores.
    takes_tickets: bool = True
    #: A worker reads the roster so often. In the cloud each look is a request that is paid for.
    roster_seconds: float = 1.0
    #: The announcer reads `announcements` so often. In the cloud each look is a request that is paid for.
    announce_seconds: float = 0.5
    #: A limit is kept by each process for itself, and each is given its part: limit ÷ live workers. False: the store
    #: keeps it over all of them.
    limits_are_shared_out: bool = False
    #: What waits is counted in the step that stores, so no sender brings a queue over its `most_waiting`. False: it is
    #: estimated from a count that is up to `WAITING_KNOWN_SECONDS` old, and what this process sent since.
    waiting_is_counted: bool = True
    #: It works in a process of its own: a worker that leases half of its slots at a time runs one half while the store
    #: settles the other. False: one call for all free slots costs least.
    works_beside: bool = False
    #: `erase` finds what has ended by its queue. False: that goes when its time is over.
    erases: bool = True


class Sent(msgspec.Struct, frozen=True):
    """The result of one `send`. `id` is the message that is stored for it."""

    id: str
    #: True: it was there already (same id, or same key and payload); nothing new was stored.
    duplicate: bool = False
    #: Set: it was refused, and nothing was stored.
    refusal: Reason | None = None


class Refused(msgspec.Struct, frozen=True):
    """A hand-off that `send` refused when its parent was done already, so its handler can no longer learn of it."""

    message: Message
    reason: Reason


class Promoted(msgspec.Struct, frozen=True):
    """The result of one `promote`."""

    #: The state in which it was met: ready, delayed, leased or dead. None: it has ended, or is not there.
    was: MessageState | None
    #: Why it cannot be made ready before its time: nothing was changed, and it stays delayed. Empty: it can.
    refusal: str = ""


class SweepRequest(msgspec.Struct, frozen=True):
    """How to sweep. `interval_seconds` is how often it is done: a gap of two intervals means an outage."""

    limit: int = 100
    interval_seconds: float = 5.0
    #: For holders without presence, where the message has no limit of its own.
    max_attempts: int = 3
    #: The window given to a lease that is found without a deadline.
    lease_seconds: float = 30.0


class Swept(msgspec.Struct, frozen=True):
    """The messages that a sweep or a retirement moved, by id."""

    returned: tuple[str, ...] = ()
    dead: tuple[str, ...] = ()
    #: Lent without a deadline before; they have one now.
    adopted: tuple[str, ...] = ()
    #: True: there was an outage, and leases got a fresh window. A lease gets one between two touches: one that had its
    #: window and was not touched since is returned if it is overdue.
    grace: bool = False
    #: For a retirement. True: the owner holds more; ask again.
    more: bool = False
    #: For a retirement. True: this call declared the owner dead; no earlier call had.
    declared: bool = False
    #: The queue of each message in `returned` and `dead`.
    queues: dict[str, str] = {}

    @property
    def moved(self) -> int:
        """The number of messages that changed their state."""
        return len(self.returned) + len(self.dead)


class Erased(msgspec.Struct, frozen=True):
    """The result of one step of erasing."""

    #: Messages or events of which something was removed.
    count: int
    #: Where to go on. None: it is done.
    after: str | None = None


class Depth(msgspec.Struct, frozen=True, kw_only=True):
    """How many messages a queue holds. None: the broker cannot say. 0: it can, and there are none."""

    queue: str
    ready: int | None
    delayed: int | None
    leased: int | None
    dead: int | None
    #: Seconds since the oldest ready message was sent.
    oldest_age_seconds: float | None
    estimated: bool = False


@runtime_checkable
class Examinable(Protocol):
    """What a broker may have besides: it says how its service is set up. For `tenure doctor`."""

    async def examine(self, queues: Sequence[str]) -> list[Examination]:
        """Examine the service and these queues, also what `Broker.check` finds. Costs a few requests for each queue.

        Creates nothing, lends nothing and counts no delivery. What the service does not tell is said to be unknown.
        """
        ...


class Broker(Protocol):
    """Leases messages and takes them back."""

    @property
    def traits(self) -> BrokerTraits:
        """The abilities and limits of this broker."""
        ...

    async def open(self) -> None:
        """Connect, and make what must exist. Called once, before anything else."""
        ...

    async def close(self) -> None:
        """Close every connection. What was acknowledged stays."""
        ...

    def twin(self) -> "Broker":
        """A second connection for another thread's event loop.

        A broker that any loop may call returns itself.
        """
        ...

    async def check(self, queues: Sequence[str]) -> list[Finding]:
        """Findings about how these queues, or the store as a whole, are set up; they are logged too.

        Asked by a worker before its first lease. Raises `ConfigurationError` for what cannot be worked with.
        """
        ...

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Store messages. When it returned, none of them can be lost. Idempotent by id for ≥ 10 minutes.

        With `unique`, a waiting message of the same queue and task (ready or delayed) is kept instead of this one,
        unless it expires before this one would: then perhaps neither would be run.

        A new message with `most_waiting` is refused with `quota_exceeded` if so many wait in its queue; of a batch the
        first ones are stored. One that is known by its id, key or `unique` is a duplicate as ever, also in a full
        queue. Nothing else is refused for it: neither a message that returns, a redrive, nor a hand-off of an ack.
        """
        ...

    def refusal(self, outgoing: Outgoing) -> Reason | None:
        """Why `send` would refuse this message, as far as that can be known without asking anybody. None: it would not.

        `send` decides by the same function, so a message that is refused here is refused there in the same words.
        Raises what `send` would raise: a `ConfigurationError` for a queue whose name the service does not take. May be
        called from any thread, also before the broker is open.
        """
        ...

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        """Store refused hand-offs as dead letters of their own queues, each with its reason.

        For a hand-off whose parent is done: nothing that was handed on is dropped. Idempotent by id: a message that is
        known already is left as it is, unless it was never put into its queue. It takes no key. A redrive sends it to
        its queue, without the delay that it was to have.
        """
        ...

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease up to `want` messages: deadline, fence and owner are stamped in one atomic step.

        Highest priority first, within the stated fairness; returned messages before the backlog; due
        delayed messages are promoted. `request.queues` may hold patterns: then every queue is served that matches one,
        also one that was made a moment ago, and none of `request.excluded`. Only queues that have something are asked,
        so a worker on a thousand idle queues costs as much as on one; each queue that has something gets its turn.
        Leases at most `traits.lease_byte_limit` bytes of envelopes, so fewer than
        `want` does not mean that nothing is left: ask again. The first message is leased whatever its size. Raises
        `OwnerRetired` for an owner that was declared dead.

        Of a queue in `request.limits` no more is leased than its limit allows, over all who lease from it with that
        limit (`rules/limits.py`). The leases that it has now are counted, whoever holds them. Others are not held up.
        """
        ...

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Return when something may have become leasable, or after `seconds`. May be cancelled.

        Names and patterns as in `lease`; a queue that comes into being during the wait wakes the waiting worker too.
        A queue in `limits` wakes no worker before its limit allows another lease; the end of a lease wakes those that
        wait for it.
        """
        ...

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Set each deadline to now + `lease.seconds`; never adds up, never shortens.

        Answers with a new lease for each, whose `state` says held or lost. Never takes a message back
        from a new owner. In the same step it counts a beat, and keeps `size` and `predicted_seconds` of the lease for
        `leases`.
        """
        ...

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """The work is done: delete for good, with result and hand-offs where it settles exactly once."""
        ...

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Count a failed attempt, and make the message ready again after its delay."""
        ...

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """Return a message that was not run: it is ready again after its delay. Counts nothing; keeps the reason."""
        ...

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Put aside, with raw bytes, counters and reason."""
        ...

    async def redrive(self, ids: Sequence[str], queue: str | None = None) -> list[str]:
        """Send dead letters back to their queue: generation + 1, counters at zero. Returns the ids moved.

        `queue` is a hint where to look first; an id that is not there is looked for everywhere.
        """
        ...

    async def delete(self, ids: Sequence[str], queue: str | None = None) -> list[str]:
        """Remove messages that are not leased (ready, delayed, dead); recorded as cancelled. Returns the ids removed.

        `queue` is a hint where to look first; an id that is not there is looked for everywhere.
        """
        ...

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:
        """Take messages back, also from workers that run them; recorded as cancelled, with the key freed.

        Answers with the state in which each was met (ready, delayed, leased), or None: it was finished, dead
        or not there, and nothing was changed. The lease and the claim on one that was leased end in the same
        step: its holder's touch answers lost, its late ack changes nothing, and `Board.read` counts it. `queue` is a
        hint, as in `redrive`.
        """
        ...

    async def promote(self, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:
        """Make delayed messages ready now, also those that wait for their retry; wake who waits for them.

        Answers with the state in which each was met. Only a delayed one is changed: its counters, history, generation,
        priority and key stay as they are, and it runs once, also where the queue delivers a second copy of it. One that
        is ready stays so; of one that a caller who died had made ready, the rest is done. `queue` is a hint, as in
        `redrive`.
        """
        ...

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        """Endings that wait to be announced, oldest first: those behind the place `after`, at most `limit`.

        A message that asked (`Message.announce`) leaves one in the same step in which it ends, as `rules/announcing.py`
        says. It stays until `announced`, however long that takes; no retention removes it, nor the record of a message
        whose result is too large for it. Endings of one id are in their order. Those of different queues may be out of
        order by a few seconds, so a reader that goes on from a place looks from the start now and then.
        """
        ...

    async def announced(self, batch: Sequence[Announcement]) -> None:
        """Forget these announcements: all that asked for them have them. One that is not there is passed over."""
        ...

    async def sweep(self, request: SweepRequest) -> Swept:
        """Return overdue leases, oldest deadline first, atomically per message; adopt leases without a deadline.

        What a lapse counts, where the message goes and what its history says is decided by `rules/lapse.py`: for a
        holder with presence `lost` + 1; for one without `attempts` + 1, and the dead letters at `max_attempts`.
        After an outage every lease gets a fresh window, which never shortens it, but only once between two touches.
        So whatever is not touched is returned in the end, however rare sweeps are.
        """
        ...

    async def held(self, owner: str, request_id: str | None = None) -> list[Lease]:
        """Return the leases of `owner`, by the broker's account; with `request_id`, of that one lease call."""
        ...

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:
        """The lease that `owner` has on message `id` under `fence`, for holders who keep its name and no receipt.

        None: it has ended, another holder has the message, or there is no such message. A lease whose deadline has
        passed is found until it is returned. What is found can be touched and settled. `queue` is a hint. The
        envelope is empty where the message is leased to another process and its queue cannot be read (`opaque_states`).
        """
        ...

    async def leases(self, queues: Sequence[str] | None = None, *, limit: int = MOST_LEASES) -> Leases:
        """The current leases, soonest deadline first, over all queues or these (names and patterns); changes nothing.

        `limit=0` asks only for the time and the sweeps.
        """
        ...

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Ban the nonce of `owner`, release its claims, then return up to `limit` of its messages.

        The ban is the first step: from then on `owner` can neither lease, claim nor join. `Swept.more` says that
        it still holds something: ask again. Until nothing is left, `Roster.members` lists it as retired, so that
        any worker can go on if the caller dies in between.

        A late settle or touch changes nothing once the message was returned. Before that it counts, as that of any
        holder: no other holder has the message yet, and work that is done need not be done again.

        `crashed`: each message counts a crash. Not crashed (it said goodbye): uncounted.
        """
        ...

    async def browse(self, query: Query) -> Page:
        """Look at messages, changing nothing: one page, bounded in messages and in rows read.

        Raises `BadArgument` for a filter by a field that a state no longer keeps (`rules/browsing.py`) or does not show
        (`BrokerTraits.opaque_states`), for a cursor that is not of this store, and for a state that can be shown only
        by a scan while `query.scan` is False.
        """
        ...

    async def queues(self) -> list[str]:
        """The names of the queues there are, sorted. One that was empty for an hour may be missing."""
        ...

    async def forget_queue(self, queue: str) -> bool:
        """Take a queue off the list if nothing is in it: nothing ready, delayed, leased or dead. False: it stays.

        What was completed there is still recognised. A message that is sent to it creates it again, also at this very
        moment: nothing is lost. A sweep does the same with queues that were empty for an hour.
        """
        ...

    async def erase(self, queue: str, after: str = "") -> Erased:
        """Remove what is kept of messages of a queue that have ended: record, result, checkpoint, history, id and key.

        One bounded step; the next goes on at `Erased.after`. Begun anew it does what is left to do. What is ready,
        delayed, leased or dead stays, with its key, and so does the record of an ending that waits to be announced. A
        message that is sent with the id or key of one that was erased is new.
        """
        ...

    async def depth(self, queues: Sequence[str] | None = None) -> list[Depth]:
        """Count the messages of each queue. None: every queue, also a thousand of them in one pass."""
        ...
