"""A message: one piece of work to do, immutable from `send` to its end.

The id is logical. It stays the same over every retry, return and redrive; only `generation` moves, when
an operator redrives a dead letter. The payload stays raw bytes until the handler's own types decode it
(`tasks/task.py`), so a broker never needs to understand it.

Made by `app.submit`. Next on the path: `envelope.py`, then `Broker.send`.

Values on the path say `gc=False`: they cannot be part of a cycle, so the garbage collector need not look at the
hundreds of them that every batch makes.
"""

import os
from enum import StrEnum

import msgspec

DEFAULT_PRIORITY = 5
MAX_PRIORITY = 9


class MessageState(StrEnum):
    """Where a message is. It is always in exactly one of these."""

    READY = "ready"
    DELAYED = "delayed"
    LEASED = "leased"
    COMPLETED = "completed"
    DEAD = "dead"
    CANCELLED = "cancelled"


class Overrides(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What the sender decided for this one message instead of the task's policy. None: the task decides."""

    lease_seconds: float | None = None
    max_attempts: int | None = None
    max_hold_seconds: float | None = None


NO_OVERRIDES = Overrides()


class Ticket(msgspec.Struct, frozen=True, gc=False):
    """For a body that was too large for the broker: the reference to its copy in the blob store."""

    #: The place as the sender called it, for people. A worker looks in its own.
    place: str
    #: Bytes.
    size: int
    #: SHA-256 of the body: the same for the same payload, and proof that it came back whole.
    digest: str


#: What stands where the body would, in an envelope with a ticket.
ELSEWHERE = msgspec.Raw(b"null")


class Message(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, tag_field="tenure", tag=1):
    """One message as its sender wrote it; in a handler `ctx.message`.

    The struct is also the wire format: `{"tenure": 1, "id": …, "body": {…}}`, where `tenure` is the version of the
    envelope (see `envelope.py`).
    """

    #: Stays the same over every attempt and redrive.
    id: str
    #: The queue that it was sent to, with its namespace.
    queue: str
    #: The task's name.
    task: str
    #: The payload, as JSON.
    body: msgspec.Raw
    #: 0 to 9, the highest first.
    priority: int = DEFAULT_PRIORITY
    #: Work that is done once has a key.
    key: str | None = None
    #: While a message with this value waits (ready or delayed), another one for the same queue and task is not stored.
    unique: str | None = None
    #: The app that sent it.
    client: str | None = None
    #: What it belongs to; messages that its handler submits inherit it.
    correlation_id: str | None = None
    #: The message whose handler submitted it. None: it was submitted from outside.
    parent_id: str | None = None
    #: Texts by name, as the sender gave them.
    headers: dict[str, str] = {}
    #: When it was sent, in Unix seconds.
    sent_at: float = 0.0
    #: When it becomes a dead letter if it has not begun, in Unix seconds. None: never.
    expires_at: float | None = None
    #: How often it was redriven from the dead letters.
    generation: int = 0
    #: Lease, attempts and time limit that its sender chose instead of the task's.
    overrides: Overrides = NO_OVERRIDES
    #: Set: `body` is empty; the real one was too large and is where `claim_check` says. Version 2 of the wire format.
    ticket: Ticket | None = None
    #: What is to be told when it ends, such as `webhook:orders` (`announcement.py`). Empty: nothing.
    announce: tuple[str, ...] = ()


class Outgoing(msgspec.Struct, frozen=True, gc=False):
    """A message on its way in, with the delay before it may first be leased."""

    message: Message
    delay_seconds: float = 0.0
    #: For `Message.unique`: only a waiting message that was sent within this many seconds counts as the same. None:
    #: any.
    unique_seconds: float | None = None
    #: It is refused if so many messages wait in its queue already, ready or delayed. None: any number may.
    most_waiting: int | None = None


class Counters(msgspec.Struct, frozen=True, gc=False):
    """How often things happened to a message, by logical id, since its last redrive."""

    #: Times it was lent. Information only.
    deliveries: int = 0
    #: Times a handler ended in error, timeout or `Retry`. Only this meets `max_attempts`.
    attempts: int = 0
    #: Times its owner was seen to die while holding it.
    crashes: int = 0
    #: Times a worker's lease ended unseen. The third makes it run alone; those while it ran alone meet `max_lost`.
    lost: int = 0


NO_COUNTERS = Counters()


def new_id(wall: float) -> str:
    """32 hex digits that sort by time, so that indexes grow at their end, and that cannot be guessed."""
    return f"{int(wall * 1000):012x}{os.urandom(10).hex()}"
