"""A lease: the right to work on one message until a stated moment.

A lease is a value, never a handle. Touching it returns a *new* lease, because on some brokers each
touch also replaces the receipt. Two leases on one message at once are a bug; while a message is
in flight the only keeper of its latest lease is `runtime/background/heartbeat.py`.

Made by `Broker.lease`. Next on the path: `runtime/path/intake.py`.
"""

from enum import StrEnum

import msgspec

from tenure.limit import Limit
from tenure.message import NO_COUNTERS, Counters


class LeaseState(StrEnum):
    """What we know of a lease."""

    #: Ours, by the broker's last answer.
    HELD = "held"
    #: The last touch got no answer: perhaps ours. Work goes on; the fence decides at the end.
    UNCERTAIN = "uncertain"
    #: Another holder has the message, or none. Nothing may be settled with it.
    LOST = "lost"


class Lease(msgspec.Struct, frozen=True, gc=False):
    """The right of `owner` to work on message `id`.

    `fence` rises strictly with every lease of the same message. `receipt` is the broker's own and opaque
    to everybody else. `envelope` is what was sent, unread.
    """

    id: str
    queue: str
    envelope: bytes
    owner: str
    fence: int
    receipt: str | int
    #: How long the broker grants at each touch, in seconds.
    seconds: float
    #: On our own monotonic clock, taken *before* the request went out: never later than the broker's.
    deadline: float
    counters: Counters = NO_COUNTERS
    state: LeaseState = LeaseState.HELD
    # Of a message that we did not send, as far as its service says; ours carry all of it in their envelope.
    #: What stood beside the body.
    attributes: dict[str, str] = {}
    sent_at: float | None = None
    #: How often it was redriven.
    generation: int = 0
    #: The broker claimed the message's key with the lease, under the same fence: the ledger need not be asked.
    is_claimed: bool = False
    # What the worker knows of the work; sent with a touch, for viewers of leases.
    #: In whatever the task counts.
    size: float | None = None
    predicted_seconds: float | None = None

    def has_expired(self, now: float) -> bool:
        """Whether the broker may have ended this lease by `now` (monotonic)."""
        return now >= self.deadline

    def remaining(self, now: float) -> float:
        """Seconds left, negative when overdue."""
        return self.deadline - now


class LeaseRequest(msgspec.Struct, frozen=True):
    """The arguments of `Broker.lease`."""

    owner: str
    #: New for each call, so that `held(owner, request_id)` finds what a lost reply lent.
    request_id: str
    #: Names, or patterns such as `*-tasks` (`rules/queue_pattern.py`).
    queues: tuple[str, ...]
    want: int
    seconds: float
    #: Tasks whose lease differs from `seconds`; a message's own override beats both.
    seconds_by_task: dict[str, float] = {}
    #: True: the owner joined the roster before it asked. Kept with the loan: it decides what a lapse counts
    #: (`rules/lapse.py`), also when the owner is off the roster by then.
    has_presence: bool = False
    #: Queues that match a pattern and are still not served, because they are paused.
    excluded: tuple[str, ...] = ()
    #: The limits in force, by the names of queues. Other queues have none.
    limits: dict[str, Limit] = {}
