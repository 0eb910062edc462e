"""The state ports: seven small things that a worker must remember outside itself.

    Ledger     who may run a keyed message, and what is done
    Records    status, progress and checkpoint of a message
    Roster     which workers there are
    Journal    events, kept in order, for replay; how long runs took; what was counted
    Board      notices of operators and schedules for every worker; whose turn it is
    ActLog     what people did, kept for 400 days
    KeyValues  small documents by kind and name: access tokens, secrets, answers

One URL names the place for all seven (`State`). Implemented by `adapters/<vendor>/`; tested by
`tenure.testing.conformance`.
"""

from collections.abc import Sequence
from typing import Protocol

from tenure.act import Act, StoredAct
from tenure.broker import Erased
from tenure.claim import ClaimAnswer, ClaimRequest, Scope, Seal, Token
from tenure.event import Event, StoredEvent
from tenure.key_value import KeyValue
from tenure.lease import Lease
from tenure.notice import Notices, Pause, Post, PostKind, Tick
from tenure.owner import Member, Owner
from tenure.record import Progress, Record
from tenure.sample import Sample, StoredSample
from tenure.tally import Tally

#: For `Board.take_turn`: the turn to sweep.
SWEEP_TURN = "sweep"
#: For `Records.get_many`.
MOST_RECORDS = 1000
#: This many samples of each queue and task are kept.
KEPT_SAMPLES = 1000


class Ledger(Protocol):
    """Claims and done-records. Every word after `claim` is compared with the token: a stale one changes nothing."""

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Ask to run. DONE beats everything; a claim that lapsed, or whose owner is retired, is taken over."""
        ...

    async def renew(self, tokens: Sequence[Token]) -> list[bool]:
        """Set each claim's end to now + `token.seconds`. False: it is no longer ours."""
        ...

    async def release(self, tokens: Sequence[Token]) -> list[bool]:
        """Let others claim: the attempt failed, or was not made. False: it was no longer ours.

        Repeated before another worker claimed, it answers True again.
        """
        ...

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Mark the work as done: `claim` answers DONE with this result. False: no longer ours; nothing was written.

        Repeated with the same token, as after a lost reply, it answers True again.
        """
        ...

    async def forget(self, scopes: Sequence[Scope]) -> None:
        """Free keys: the message is dead or cancelled, so the same key may be sent again."""
        ...


class Records(Protocol):
    """The records of messages. Writes carry the lease: those of a stale holder change nothing."""

    async def get(self, id: str, queue: str | None = None) -> Record | None:
        """Return the record of a message. None: never seen, or forgotten by now.

        `queue` is a hint where to look first; a message that is not there is looked for everywhere.
        """
        ...

    async def get_many(self, wanted: Sequence[tuple[str, str | None]]) -> list[Record | None]:
        """Return the record of each, in order: `get` for many ids, each with its hint, in as few steps as there can be.

        For those who watch many messages. At most `MOST_RECORDS` in one call.
        """
        ...

    async def find_ids(self, beginning: str, limit: int) -> list[str] | None:
        """Ids that begin with these characters, sorted, at most `limit` of them.

        For people who type the beginning of an id. None: the store cannot look ids up so. An id may be of a message
        that was forgotten since; `get` shows that.
        """
        ...

    async def progress(self, batch: Sequence[tuple[Lease, Progress]]) -> list[bool]:
        """Write how far handlers are. False: the holder was stale."""
        ...

    async def checkpoint(self, lease: Lease, data: bytes) -> bool:
        """Keep a checkpoint for the next run of this message. False: the holder was stale, nothing was kept."""
        ...

    async def load_checkpoint(self, id: str) -> bytes | None:
        """Load the checkpoint of an earlier run. None: there is none."""
        ...


class Roster(Protocol):
    """The workers of a store. It lists members and proves nothing: `rules/presence.py` judges who is dead.

    An owner is on the roster from `join` until `Broker.retire` has returned all that it held, or until `remove`.
    """

    async def join(self, owner: Owner) -> None:
        """Put an owner on the roster, before its first lease. May raise `OwnerRetired`."""
        ...

    async def beat(self, owner: Owner) -> None:
        """Say that it is still there. An owner that is not on the roster any more, and not banned, is put back."""
        ...

    async def leave(self, owner: Owner) -> None:
        """Goodbye: what is still held will be returned uncounted."""
        ...

    async def members(self) -> list[Member]:
        """List the owners on the roster, in the order in which they joined, and the unfinished retirements."""
        ...

    async def remove(self, owner: str, silent_seconds: float) -> bool:
        """Remove an owner from the roster if it was silent for `silent_seconds` and holds nothing. False: it stays.

        It is not banned. If it takes a lease at this very moment no harm is done: its next `beat` puts it back.
        """
        ...


class Journal(Protocol):
    """Events in one order, replayable from any point until they are pruned; and samples, which all workers share."""

    async def append(self, events: Sequence[Event]) -> None:
        """Keep events, in this order. A batch that is repeated right after an error is kept once if possible."""
        ...

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """Read the next events after place `after`, oldest first."""
        ...

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        """Events of one message, oldest first: its own, and those whose `data["ids"]` names it.

        Does not read the whole journal for it. `since` (wall time) may be used to look at less; earlier events need
        not be found.
        """
        ...

    async def last(self) -> int:
        """The place of the newest event; 0 if there is none."""
        ...

    async def first(self) -> int:
        """The place of the oldest event that is kept; 0 if there is none. A reader further back has missed some."""
        ...

    async def wait(self, after: int, seconds: float) -> None:
        """Return when there may be an event behind place `after`, or after `seconds`. May be cancelled."""
        ...

    async def prune(self, older_than_seconds: float) -> int:
        """Forget old events; how many. Samples as old may be forgotten too.

        Tallies are forgotten too: by `tally.KEPT_SECONDS`, and those of hours with the events.
        """
        ...

    async def erase(self, queue: str, after: str = "") -> Erased:
        """Blank the events of a queue: what is left of each is its kind, its time and its place (`rules/erasing.py`).

        One bounded step; the next goes on at `Erased.after`. Events that are appended meanwhile may keep what they say:
        erase again. Begun anew it does what is left to do.
        """
        ...

    async def tally(self, batch: Sequence[Tally]) -> None:
        """Keep rows. One with the same step, bucket, nonce and number is replaced."""
        ...

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """Rows of one step with `since <= bucket < until`, in the order of bucket, nonce and number."""
        ...

    async def sample(self, batch: Sequence[Sample]) -> None:
        """Keep how long runs took: the newest `KEPT_SAMPLES` of each queue and task."""
        ...

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = KEPT_SAMPLES) -> list[StoredSample]:
        """Read the next samples of a task after place `after`, oldest first. Places rise, with gaps perhaps."""
        ...


class Board(Protocol):
    """Notices of operators and schedules, which every worker reads once a second; and whose turn it is."""

    async def read(self) -> Notices:
        """Read the notices that a worker must know."""
        ...

    async def pause(self, pause: Pause) -> bool:
        """Ask workers to lease nothing from a queue. False: it was paused already; the first pause stands."""
        ...

    async def resume(self, queue: str) -> bool:
        """Let workers lease again. False: it was not paused."""
        ...

    async def post(self, post: Post) -> bool:
        """Post a notice for every worker. False: one of this kind and name is there already, and stays as it is.

        An expired one does not count: it is replaced, or removed by a later `post`. Raises `BadArgument` for a name
        that cannot be kept, and while there are `notice.MOST_POSTS`.
        """
        ...

    async def withdraw(self, kind: PostKind, name: str) -> bool:
        """Take a post down. False: there was none."""
        ...

    async def tick(self, tick: Tick) -> bool:
        """Note the newest tick of a schedule. False: this one or a newer one was noted before."""
        ...

    async def ticks(self) -> list[Tick]:
        """The newest tick of every schedule, by name."""
        ...

    async def forget(self, schedule: str) -> bool:
        """Forget a schedule that is no more. False: it was not known."""
        ...

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Ask to be the one who does `name`. True: the turn is `token`'s for `seconds` from now.

        The holder renews it by asking again, and gives it up by asking for 0 seconds; it lapses by itself. False:
        another process has it, and for no longer than `seconds` from now. It saves work and decides nothing: what is
        done must be right if two do it.
        """
        ...


class ActLog(Protocol):
    """The audit log: what people and programs did from outside, and who they were."""

    async def record(self, acts: Sequence[Act]) -> None:
        """Keep acts, in this order."""
        ...

    async def read(self, before: int = 0, limit: int = 100) -> list[StoredAct]:
        """The newest acts before place `before` (0: of all), newest first."""
        ...

    async def prune(self, older_than_seconds: float) -> int:
        """Forget old acts; how many. A store that forgets by itself answers 0."""
        ...


class KeyValues(Protocol):
    """Small JSON documents by kind and name, changed by compare-and-set.

    One whose `expires_at` has passed, by the store's clock, counts as gone in every verb, even while its row is there.
    """

    async def get(self, kind: str, name: str) -> KeyValue | None:
        """Return one document. None: there is none."""
        ...

    async def list(self, kind: str) -> list[KeyValue]:
        """List all of a kind, by name. Of more than `key_value.MOST_LISTED`, this many: it is not said which."""
        ...

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Write if the document has this version; `expect=None`: if there is none. The new one, or None: it has not.

        Raises `BadArgument` for more than `key_value.MOST_BYTES`, and for a kind or name that cannot be kept.
        """
        ...

    async def remove(self, kind: str, name: str, *, expect: str | None = None) -> bool:
        """Remove a document, only in this version if one is given. False: it was not there, or has another version."""
        ...

    async def prune(self) -> int:
        """Remove those whose time is over; how many. A store that forgets by itself answers 0."""
        ...


class State(Protocol):
    """The seven ports behind one URL."""

    @property
    def ledger(self) -> Ledger:
        """Claims and done-records."""
        ...

    @property
    def records(self) -> Records:
        """Status, progress, checkpoints."""
        ...

    @property
    def roster(self) -> Roster:
        """Presence."""
        ...

    @property
    def journal(self) -> Journal:
        """Events."""
        ...

    @property
    def board(self) -> Board:
        """The posts of operators and schedules."""
        ...

    @property
    def acts(self) -> ActLog:
        """The audit log."""
        ...

    @property
    def key_values(self) -> KeyValues:
        """Small documents by kind and name."""
        ...

    def wall(self) -> float:
        """Wall time in Unix seconds, by the clock that all who use this state agree on.

        That is the store's own clock, as last read, and on a store of this machine the machine's.
        Costs no call: it is learned by `open`, and again by every `Board.read`. Schedules and `expires` go by it.
        """
        ...

    async def open(self) -> None:
        """Connect, and make what must exist."""
        ...

    async def close(self) -> None:
        """Let go of everything."""
        ...

    def twin(self) -> "State":
        """As `Broker.twin`."""
        ...
