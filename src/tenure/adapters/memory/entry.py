"""An entry: one message in the store, with everything that is known about it.

Plain and mutable. It is made by `sending.py`; only `MemoryDatabase.place` changes its `state`, and keeps the indexes in
step. What `lease` needs is copied out of the message at send, because the Tenure that leases it may be unable to read
the envelope.
"""

from collections import deque
from dataclasses import dataclass, field

from tenure.announcement import AnnounceRequest
from tenure.claim import Scope
from tenure.lease import Lease
from tenure.message import Counters, MessageState, Overrides
from tenure.record import HISTORY_LIMIT, Ending, Progress
from tenure.verdict import Reason

#: Queue, task and the sender's word.
Unique = tuple[str, str, str]


@dataclass(slots=True, kw_only=True, eq=False)
class MemoryEntry:
    """A message in the store."""

    id: str
    #: Place in the order of arrival; kept over every return, so that returned ones are ahead of the backlog.
    seq: int
    queue: str
    task: str
    level: int
    scope: Scope
    #: The digest of the payload, if the message has a key. None: it has no key.
    digest: str | None
    #: While it waits, another message of this queue, task and word is not stored. None: it has no such word.
    unique: Unique | None
    overrides: Overrides
    sent_at: float
    #: Wall time after which it is not begun. Infinite: it is always worth running.
    expires_at: float
    #: Dropped with the end of the message; a dead letter keeps it.
    envelope: bytes
    state: MessageState
    #: What is to be told when it ends. None: nothing.
    announce: AnnounceRequest | None = None
    #: The newest generation whose end was announced. -1: none.
    announced: int = -1
    #: Monotonic. Only while delayed.
    due: float = 0.0

    # The lease, while leased. `deadline` None: lent without one, to be adopted by the next sweep.
    owner: str | None = None
    fence: int | None = None
    request_id: str | None = None
    seconds: float = 0.0
    deadline: float | None = None
    #: Monotonic end of `max_hold_seconds`. None: no limit.
    hold_until: float | None = None
    #: Whether its holder joined the roster before it leased.
    has_presence: bool = False
    #: It got a fresh window after an outage, and was not touched since.
    is_graced: bool = False
    #: Wall time, for those who look.
    leased_at: float | None = None
    #: Touches of this lease that took effect, and the wall time of the last one.
    beats: int = 0
    last_beat_at: float | None = None
    #: What the holder said of the work with a touch.
    size: float | None = None
    predicted_seconds: float | None = None

    deliveries: int = 0
    attempts: int = 0
    crashes: int = 0
    lost: int = 0

    reason: Reason | None = None
    result: bytes | None = None
    finished_at: float | None = None
    progress: Progress | None = None
    checkpoint: bytes | None = None
    history: deque[Ending] = field(default_factory=lambda: deque(maxlen=HISTORY_LIMIT))

    @property
    def counters(self) -> Counters:
        """The four counters as a value."""
        return Counters(self.deliveries, self.attempts, self.crashes, self.lost)

    def zero_counters(self) -> None:
        """Count from zero, as after a redrive."""
        self.deliveries = self.attempts = self.crashes = self.lost = 0

    def is_held_under(self, lease: Lease) -> bool:
        """Whether `lease` is the lease that this message is lent under now.

        A deadline that has passed does not matter here: until a sweep returns the message, it is held.
        """
        return self.state is MessageState.LEASED and (self.owner, self.fence) == (lease.owner, lease.fence)

    def deadline_in(self, now: float) -> float | None:
        """Seconds until the lease ends. None: it is not leased, or lent without a deadline."""
        return None if self.deadline is None else self.deadline - now

    def due_in(self, now: float) -> float | None:
        """Seconds until it may be leased. None: it is not delayed."""
        return self.due - now if self.state is MessageState.DELAYED else None

    def as_lease(self, now: float) -> Lease:
        """The lease it is held under, as a value. Lent without a deadline: it ends now, so touch it."""
        if self.owner is None or self.fence is None:
            msg = f"message {self.id} is {self.state}, so there is no lease to show"
            raise ValueError(msg)
        return Lease(
            id=self.id,
            queue=self.queue,
            envelope=self.envelope,
            owner=self.owner,
            fence=self.fence,
            receipt=self.fence,
            seconds=self.seconds,
            deadline=now if self.deadline is None else self.deadline,
            counters=self.counters,
            size=self.size,
            predicted_seconds=self.predicted_seconds,
        )
