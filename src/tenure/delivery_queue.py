"""The delivery queue port: hands out copies of messages, and hides each of them for a while.

It stands beside the table port. The table knows the truth about every message; a delivery queue only brings messages
to workers. So little is asked of it: it may hand out a copy twice, keep one that was deleted, and take an old receipt
or refuse it. What it must not do is lose a copy that it took. Implemented by `adapters/aws/sqs.py`;
used by `rowstore/`.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec

from tenure.event import Event
from tenure.finding import Finding
from tenure.message import Message


class PhysicalQueue(msgspec.Struct, frozen=True):
    """One queue of the service. A queue of Tenure has one for each level of priority; 0 is the lowest."""

    queue: str
    level: int


class Attribute(msgspec.Struct, frozen=True, array_like=True):
    """What other programs wrote beside a body; a binary value as base64."""

    type: str
    value: str

    @property
    def is_binary(self) -> bool:
        """Whether its value is bytes."""
        return self.type.startswith("Binary")


class OutgoingCopy(msgspec.Struct, frozen=True):
    """A copy of a message to be put into a queue."""

    physical: PhysicalQueue
    id: str
    body: str
    #: Whole seconds until it can be received.
    delay: int = 0
    #: Copies of a group are received in order, where the queue keeps order; `dedup` tells a repeated send.
    group: str = ""
    dedup: str = ""
    #: What is written beside the body (`rowstore/wire.py`).
    head: str = ""
    attributes: dict[str, Attribute] = {}
    #: The version of the message's row when it was sent; empty: not told. See `DeliveryTraits.carries_versions`.
    version: str = ""


class ReceivedCopy(msgspec.Struct, frozen=True):
    """A copy that was received. The queue hides it from others until `hidden_until`."""

    physical: PhysicalQueue
    #: The logical id. None: the copy does not say.
    id: str | None
    #: The service's own id of the copy.
    copy_id: str
    receipt: str
    body: str
    group: str | None
    receives: int
    #: Monotonic, and not later than the service's own end of it.
    hidden_until: float
    #: What is written beside the body: ours (`rowstore/wire.py`), and other people's.
    head: str = ""
    attributes: dict[str, Attribute] = {}
    #: Wall time, by the service.
    sent_at: float | None = None
    #: As it was sent with it.
    version: str = ""


class CopyReceipt(msgspec.Struct, frozen=True):
    """The right to delete a copy or to hide it, and for how many seconds."""

    physical: PhysicalQueue
    receipt: str
    seconds: float = 0.0


class QueueFacts(msgspec.Struct, frozen=True):
    """What is known of a physical queue."""

    #: Bytes that a message may have here.
    body_limit: int
    #: The queue drops what is older.
    keep_seconds: int
    #: What is unwise about its settings.
    findings: tuple[Finding, ...] = ()


class QueueCount(NamedTuple):
    """About how many copies a queue holds."""

    visible: int
    #: None: the service does not tell hidden copies from visible ones, and all are counted as visible.
    hidden: int | None
    delayed: int
    #: Wall time at which the oldest that is visible was sent. None: not known.
    oldest_at: float | None = None


class DeliveryTraits(msgspec.Struct, frozen=True, kw_only=True):
    """What a delivery queue can do."""

    #: The service's name, for people.
    service: str
    #: The logger that tells what it has to say.
    logger: str
    #: Before the service's own id, for messages that carry no id.
    id_prefix: str
    #: The most that one receive brings.
    batch: int
    #: A copy is hidden for so long at most, counted from its receive.
    max_hidden_seconds: int
    #: A copy that is sent is delayed for so long at most.
    max_delay_seconds: int
    #: A receive waits so long at most. 0: it never waits, and the core looks again, with pauses that grow.
    poll_seconds: int
    #: The longest of these pauses.
    longest_pause_seconds: float = 1.0
    #: A message is delayed for so long at most, hidden again and again. None: without end.
    max_total_delay_seconds: float | None
    priority_levels: int = 1
    #: Hiding a copy gives it a new receipt, and the old one is refused.
    renews_receipts: bool = False
    #: A copy brings the `version` that it was sent with. Where a version is no text, the first lease of a message then
    #: needs no read.
    carries_versions: bool = False


@runtime_checkable
class EventLog(Protocol):
    """What a delivery queue may do beside: write a log of events for people to read."""

    async def log_events(self, events: Sequence[Event]) -> None:
        """Note events. Never raises for what the service says."""
        ...

    async def prune_log(self) -> None:
        """Remove what is old."""
        ...


class DeliveryQueue(Protocol):
    """Copies of messages in physical queues. All verbs raise `BrokerUnavailable` when the service is away."""

    @property
    def traits(self) -> DeliveryTraits:
        """What it can do."""
        ...

    async def open(self) -> None:
        """Connect."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...

    def physical(self, queue: str) -> list[PhysicalQueue]:
        """The physical queues of a queue, the highest priority first."""
        ...

    def level_of(self, message: Message) -> int:
        """The level of the physical queue that a message belongs to."""
        ...

    def keeps_order(self, queue: str) -> bool:
        """Whether the copies of one group are received in the order in which they were sent."""
        ...

    async def facts(self, physical: PhysicalQueue) -> QueueFacts:
        """What is known of a physical queue; asks the service once. Raises where it cannot be worked with."""
        ...

    def remembered(self, physical: PhysicalQueue) -> QueueFacts:
        """As `facts`, without asking the service: the most that it allows where nothing is known yet."""
        ...

    async def names(self) -> list[str]:
        """The queues that the service has, under Tenure's names."""
        ...

    async def send(self, copies: Sequence[OutgoingCopy]) -> list[str]:
        """Put copies into their queues. For each: empty, or why the service will never take it."""
        ...

    async def receive(
        self, physical: PhysicalQueue, want: int, visibility: int, wait: float = 0.0
    ) -> list[ReceivedCopy]:
        """Up to `want` copies, hidden for `visibility` seconds from now. Waits up to `wait` seconds for the first."""
        ...

    async def delete(self, receipts: Sequence[CopyReceipt]) -> list[bool]:
        """Delete copies. False: the receipt is not the latest, or the copy is gone."""
        ...

    async def hide(self, receipts: Sequence[CopyReceipt]) -> list[str | None]:
        """Let copies be received again after so many seconds from now (0: at once).

        For each the receipt that is good from now on, which may be another. None: the one given is not the latest, or
        the copy is gone.
        """
        ...

    async def count(self, physical: PhysicalQueue) -> QueueCount:
        """About how many copies there are; none where the queue does not exist."""
        ...
