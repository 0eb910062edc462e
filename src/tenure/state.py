"""The state ports: seven small things that a worker must remember outside itself.

    Ledger     who may run a keyed message, and what is done
    Records    status, progress and checkpoint of a message
    Roster     which workers there are
    Journal    events, kept in order, for replay; how long runs took; what was counted
    Board      what operators and schedules tell every worker; whose turn it is
    ActLog     what people did, kept for 400 days
    KeyValues  small documents by kind and name: access tokens, secrets, answers

One URL names the place for all seven (`State`). Implemented by `adapters/<vendor>/`; held to their word
by `tenure.testing.conformance`.
"""

from collections.abc import Sequence
from typing import Protocol

from tenure.act import Act, StoredAct
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
#: So many samples of each queue and task are kept.
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

        Repeated before anybody else claimed, it answers True again.
        """
        ...

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Done. From here on `claim` answers DONE with this result. False: no longer ours; nothing was written.

        Repeated with the same token, as after a lost reply, it answers True again.
        """
        ...

    async def forget(self, scopes: Sequence[Scope]) -> None:
        """Free keys: the message is dead or cancelled, so the same key may be sent again."""
        ...


class Records(Protocol):
    """What can be told about a message. Writes carry the lease: those of a stale holder change nothing."""

    async def get(self, id: str, queue: str | None = None) -> Record | None:
        """Everything known about a message. None: never seen, or forgotten by now.

        `queue` is a hint where to look first; a message that is not there is looked for everywhere.
        """
        ...

    async def find_ids(self, beginning: str, limit: int) -> list[str] | None:
        """Ids that begin with these characters, sorted, at most `limit` of them.

        For people who type the beginning of an id. None: the store cannot look ids up so. An id may be of a message
        that was forgotten since; `get` tells.
        """
        ...

    async def progress(self, batch: Sequence[tuple[Lease, Progress]]) -> list[bool]:
        """Write how far handlers are. False: the holder was stale."""
        ...

    async def checkpoint(self, lease: Lease, data: bytes) -> bool:
        """Keep what the next run of this message starts from. False: the holder was stale, nothing was kept."""
        ...

    async def load_checkpoint(self, id: str) -> bytes | None:
        """What an earlier run kept. None: nothing."""
        ...


class Roster(Protocol):
    """Who works here. It lists members and proves nothing: who is dead is judged by `rules/presence.py`.

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
        """Everybody on the roster, in the order in which they joined; and those whose retirement is not finished."""
        ...

    async def remove(self, owner: str, silent_seconds: float) -> bool:
        """Take an owner off the roster that was not heard for `silent_seconds` and holds nothing. False: it stays.

        It is not banned. If it takes a lease at this very moment no harm is done: its next `beat` puts it back.
        """
        ...


class Journal(Protocol):
    """Events in one order, replayable from any point until they are pruned; and samples, which all workers share."""

    async def append(self, events: Sequence[Event]) -> None:
        """Keep events, in this order. The same batch again, right after an error, is kept once if that can be told."""
        ...

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """The next events after place `after`, oldest first."""
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
        """The place of the oldest event that is kept; 0 if there is none. Whoever was further back has missed some."""
        ...

    async def wait(self, after: int, seconds: float) -> None:
        """Return when there may be an event behind place `after`, or after `seconds`. May be cancelled."""
        ...

    async def prune(self, older_than_seconds: float) -> int:
        """Forget old events; how many. Samples as old may be forgotten too.

        Tallies are forgotten too: by `tally.KEPT_SECONDS`, and those of hours with the events.
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
        """The next samples of a task after place `after`, oldest first. Places rise, with gaps perhaps."""
        ...


class Board(Protocol):
    """What operators and schedules tell every worker, who reads it once a second; and whose turn it is."""

    async def read(self) -> Notices:
        """Everything a worker must know."""
        ...

    async def pause(self, pause: Pause) -> bool:
        """Ask workers to lease nothing from a queue. False: it was paused already; the first pause stands."""
        ...

    async def resume(self, queue: str) -> bool:
        """Let workers lease again. False: it was not paused."""
        ...

    async def post(self, post: Post) -> bool:
        """Tell every worker something. False: a post of this kind and name stands already, and stays as it is.

        One whose time is over does not stand: it is replaced, or removed by a later `post`. Raises `BadArgument` for a
        name that cannot be kept, and while `notice.MOST_POSTS` stand.
        """
        ...

    async def withdraw(self, kind: PostKind, name: str) -> bool:
        """Take a post down. False: there was none."""
        ...

    async def tick(self, tick: Tick) -> bool:
        """Note the newest tick of a schedule. False: one as new was noted before, and stands."""
        ...

    async def ticks(self) -> list[Tick]:
        """The newest tick of every schedule, by name."""
        ...

    async def forget(self, schedule: str) -> bool:
        """Forget a schedule that is no more. False: it was not known."""
        ...

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Ask to be the one who does `name`. True: the turn is `token`'s for `seconds` from now.

        Whoever has it renews it by asking again, and gives it up by asking for 0 seconds; it lapses by itself. False:
        somebody else has it, and for no longer than `seconds` from now. It saves work and decides nothing: what is
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
        """One document. None: there is none."""
        ...

    async def list(self, kind: str) -> list[KeyValue]:
        """All of a kind, by name. Of more than `key_value.MOST_LISTED`, so many: it is not said which."""
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
        """What operators and schedules say."""
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

        That is the store's own clock, as far as its answers told it, and on a store of this machine the machine's.
        Asks nobody: it is learned by `open`, and again by every `Board.read`. Schedules and `expires` go by it.
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
