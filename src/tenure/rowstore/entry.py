"""An entry: one message as the state knows it. It is the truth about the message; the queue only delivers.

The queue's visibility is a timer that says when somebody will look again. Who holds the message, since when, until
when and how often anything happened to it stands here, and is changed by compare-and-set alone. An entry holds no
body, but for a dead letter's (`row_changes.py` keeps that beside it).

A `Claim` is the ledger's word. A message without a key has it in its entry: so lease and claim are one write, and one
seal ends both. The claims of keys have rows of their own.
"""

import msgspec

from tenure.announcement import AnnounceRequest
from tenure.claim import digest
from tenure.lease import Lease
from tenure.message import Counters, Message, MessageState, Outgoing
from tenure.record import HISTORY_LIMIT, Ending, Progress
from tenure.verdict import Reason

#: States beyond those of `MessageState`: deleted without a record, and only ever claimed.
GONE, UNSENT = "gone", ""

#: A history is no longer than this; what is older goes first.
_HISTORY_BYTES = 100_000

#: A claim names the announced endings of so many messages.
_MOST_CHOSEN = 50

SENT, RUNNING, DONE = "sent", "running", "done"


class LargeValue(msgspec.Struct, frozen=True):
    """Bytes that are too large for the row that names them: where they are, in the same part (`large_values.py`)."""

    name: str
    pages: int


class Claim(msgspec.Struct, gc=False, omit_defaults=True):
    """Who may run something, and whether it is done."""

    #: The message that stands for it: the first that was sent or claimed. Empty: that in whose entry it is.
    id: str
    digest: str = ""
    #: Of a key: when that message was sent. 0: it does not say.
    sent_at: float = 0.0
    state: str = SENT
    #: While running: by whom, for which message (empty: likewise), until when.
    owner: str = ""
    runner: str = ""
    until: float = 0.0
    #: Of the last claim that was granted, while it is heard.
    fence: int = 0
    #: The highest that was ever granted here.
    top: int = 0
    result: bytes = b""
    handoffs: tuple[Outgoing, ...] = ()
    #: Where result and hand-offs are instead, if they are large.
    bulk: LargeValue | None = None
    finished_at: float | None = None
    #: Of a key: by message, the place of the intent of its one ending that is announced. Empty: it was announced.
    announced: dict[str, str] = {}

    def is_run_under(self, owner: str, fence: int) -> bool:
        """Whether that is the claim under which it runs now. Lapsed is not lost yet."""
        return self.state == RUNNING and (self.owner, self.fence) == (owner, fence)

    def release(self) -> None:
        """Nobody runs it any more, and it is not done."""
        self.state, self.owner, self.runner, self.until = SENT, "", "", 0.0

    def choose(self, id: str, place: str) -> str:
        """Choose the ending of a message that is announced, if none is chosen yet; the place of the chosen one."""
        if id not in self.announced:
            self.announced = dict([*self.announced.items(), (id, place)][-_MOST_CHOSEN:])
        return self.announced[id]


class Entry(msgspec.Struct, gc=False, omit_defaults=True):
    """What is known of one message."""

    queue: str
    task: str = ""
    state: str = UNSENT
    generation: int = 0
    level: int = 0
    sent_at: float | None = None
    #: The key of its scope, if it has one of its own, and the digest of its payload then.
    key: str | None = None
    digest: str = ""
    lease_seconds: float | None = None
    max_attempts: int | None = None
    #: While delayed.
    due: float = 0.0
    #: While delayed, of a copy that nobody has received: what it says, if that is short (`promoting.py`).
    body: str = ""
    head: str = ""

    # The lease, while leased. The receipt lets whoever returns the message make it visible at once; it is kept while
    # the message is delayed.
    owner: str | None = None
    fence: int = 0
    request: str = ""
    seconds: float = 0.0
    deadline: float = 0.0
    hold_until: float = 0.0
    #: Its holder never joined the roster.
    lacks_presence: bool = False
    #: The fence of the lease that got a fresh window after an outage, and was not touched since.
    graced: int = 0
    receipt: str = ""
    #: Beats of this lease so far, and when the last one was.
    beats: int = 0
    beaten: float = 0.0
    #: The last beat came with the claim: a touch that follows at once belongs to it, and need not be written.
    is_renewed: bool = False
    #: What the holder told of the work: `Lease.size`, `Lease.predicted_seconds`.
    size: float | None = None
    predicted: float | None = None
    #: The service's own id of the copy that was last lent.
    copy: str = ""

    #: The highest fence that was ever given out for a claim alone; that of a lease is in `fence`.
    top: int = 0
    deliveries: int = 0
    attempts: int = 0
    crashes: int = 0
    lost: int = 0

    reason: Reason | None = None
    finished_at: float | None = None
    progress: Progress | None = None
    history: tuple[Ending, ...] = ()
    claim: Claim | None = None
    #: The generation of the envelope that lies in the queue.
    carried: int = 0
    #: On its way back to its queue by a redrive, which has not said yet that it arrived.
    is_redriving: bool = False
    #: How many rows hold its body; only a dead letter has some.
    pages: int = 0
    #: Its place in the index of dead letters.
    shelf: int = 0
    #: And how many its attributes, if it is not ours.
    attribute_pages: int = 0
    #: The form in which it lies in its queue (`wire.py`). Empty: the usual one.
    wire: str = ""
    #: Of one that is not ours: the FIFO group that its sender gave it.
    group: str = ""
    #: Where the checkpoint is that counts.
    checkpoint: LargeValue | None = None
    #: What is to be told when it ends. None: nothing, as nearly always.
    announce: AnnounceRequest | None = None
    #: The newest generation whose end is announced. -1: none.
    announced: int = -1
    #: The places of the intents by which it ended (`announcing.py`), until they are announced.
    intents: tuple[str, ...] = ()

    @property
    def counters(self) -> Counters:
        """The four counters as a value."""
        return Counters(self.deliveries, self.attempts, self.crashes, self.lost)

    @property
    def highest(self) -> int:
        """The highest fence that was ever given out."""
        return max(self.fence, self.top)

    @property
    def is_sealed(self) -> bool:
        """Whether it is done by its own claim."""
        return self.claim is not None and self.claim.state == DONE

    @property
    def is_half_redriven(self) -> bool:
        """Whether its copy has perhaps not arrived: to everybody it is a dead letter still."""
        return self.is_redriving and self.state == MessageState.READY and not self.deliveries

    @property
    def is_finished(self) -> bool:
        """Whether a copy that is met in the queue is of no use any more."""
        return self.state in (GONE, MessageState.CANCELLED, MessageState.COMPLETED, MessageState.DEAD)

    def is_held_under(self, lease: Lease) -> bool:
        """Whether that is the lease under which it is lent now, and is not done. Overdue is not lost yet."""
        is_lent = self.state == MessageState.LEASED and not self.is_sealed
        return is_lent and (self.owner, self.fence) == (lease.owner, lease.fence)

    def describe(self, message: Message) -> None:
        """What is needed of a message without its body at hand."""
        self.task, self.sent_at = message.task, message.sent_at
        self.generation = self.carried = message.generation
        self.key = None if message.key is None else f"key:{message.key}"
        self.digest = "" if message.key is None else digest(message)
        self.announce = AnnounceRequest.of(message) or self.announce
        self.lease_seconds, self.max_attempts = message.overrides.lease_seconds, message.overrides.max_attempts

    def end_by(self, place: str) -> None:
        """It ends by the intent at that place."""
        self.intents, self.announced = (*self.intents, place), self.generation

    def tell(self, ending: Ending) -> None:
        """Add to its history, which is bounded: a row has an end, and each of its kilobytes is sold."""
        history = (*self.history, ending)[-HISTORY_LIMIT:]
        while len(history) > 1 and len(msgspec.json.encode(history)) > _HISTORY_BYTES:
            history = history[1:]
        self.history = history

    def let_go(self) -> None:
        """The lease ends, and with it the claim that came with it."""
        if self.claim is not None and self.claim.state == RUNNING:
            self.claim.release()
        self.owner, self.request, self.deadline, self.hold_until, self.receipt = None, "", 0.0, 0.0, ""
        self.body = self.head = ""
        self.forget_beats()

    def beat(self, now: float, *, with_claim: bool) -> None:
        """Count a beat of its holder's."""
        self.beats, self.beaten, self.is_renewed = self.beats + 1, now, with_claim

    def forget_beats(self) -> None:
        """Nothing was heard of the next lease yet."""
        self.beats, self.beaten, self.is_renewed, self.size, self.predicted = 0, 0.0, False, None, None

    def put_back(self, delay: float, now: float) -> None:
        """Into its queue again."""
        receipt = self.receipt
        self.let_go()
        if delay > 0:
            self.receipt = receipt
        self.state = MessageState.DELAYED if delay > 0 else MessageState.READY
        self.due = now + delay if delay > 0 else 0.0
