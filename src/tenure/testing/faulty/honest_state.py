"""A state whose ports pass every call on, unchanged, and a state in which one port is replaced.

A faulty ledger, or any other port, is a subclass that overrides what it does wrong. The same for a broker: `honest.py`.
"""

from collections.abc import Sequence
from typing import ClassVar

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
from tenure.state import KEPT_SAMPLES, ActLog, Board, Journal, KeyValues, Ledger, Records, Roster, State
from tenure.tally import Tally
from tenure.testing.virtual import VirtualClock


class HonestLedger:
    """Passes everything on to the state's ledger."""

    caught_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Stand in front of `inner.ledger`."""
        self.inner = inner.ledger
        self.clock = clock

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Pass it on."""
        return await self.inner.claim(batch)

    async def renew(self, tokens: Sequence[Token]) -> list[bool]:
        """Pass it on."""
        return await self.inner.renew(tokens)

    async def release(self, tokens: Sequence[Token]) -> list[bool]:
        """Pass it on."""
        return await self.inner.release(tokens)

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Pass it on."""
        return await self.inner.seal(batch)

    async def forget(self, scopes: Sequence[Scope]) -> None:
        """Pass it on."""
        await self.inner.forget(scopes)


class HonestRecords:
    """Passes everything on to the state's records."""

    caught_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Stand in front of `inner.records`."""
        self.inner = inner.records
        self.clock = clock

    async def get(self, id: str, queue: str | None = None) -> Record | None:
        """Pass it on."""
        return await self.inner.get(id, queue)

    async def get_many(self, wanted: Sequence[tuple[str, str | None]]) -> list[Record | None]:
        """Ask for each: a fault of `get` is one of this too."""
        return [await self.get(id, queue) for id, queue in wanted]

    async def find_ids(self, beginning: str, limit: int) -> list[str] | None:
        """Pass it on."""
        return await self.inner.find_ids(beginning, limit)

    async def progress(self, batch: Sequence[tuple[Lease, Progress]]) -> list[bool]:
        """Pass it on."""
        return await self.inner.progress(batch)

    async def checkpoint(self, lease: Lease, data: bytes) -> bool:
        """Pass it on."""
        return await self.inner.checkpoint(lease, data)

    async def load_checkpoint(self, id: str) -> bytes | None:
        """Pass it on."""
        return await self.inner.load_checkpoint(id)


class HonestRoster:
    """Passes everything on to the state's roster."""

    caught_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Stand in front of `inner.roster`."""
        self.inner = inner.roster
        self.clock = clock

    async def join(self, owner: Owner) -> None:
        """Pass it on."""
        await self.inner.join(owner)

    async def beat(self, owner: Owner) -> None:
        """Pass it on."""
        await self.inner.beat(owner)

    async def leave(self, owner: Owner) -> None:
        """Pass it on."""
        await self.inner.leave(owner)

    async def members(self) -> list[Member]:
        """Pass it on."""
        return await self.inner.members()

    async def remove(self, owner: str, silent_seconds: float) -> bool:
        """Pass it on."""
        return await self.inner.remove(owner, silent_seconds)


class HonestJournal:
    """Passes everything on to the state's journal."""

    caught_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Stand in front of `inner.journal`."""
        self.inner = inner.journal
        self.clock = clock

    async def append(self, events: Sequence[Event]) -> None:
        """Pass it on."""
        await self.inner.append(events)

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """Pass it on."""
        return await self.inner.read(after, limit)

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        """Pass it on."""
        return await self.inner.about(message_id, since=since, limit=limit)

    async def last(self) -> int:
        """Pass it on."""
        return await self.inner.last()

    async def first(self) -> int:
        """Pass it on."""
        return await self.inner.first()

    async def wait(self, after: int, seconds: float) -> None:
        """Pass it on."""
        await self.inner.wait(after, seconds)

    async def prune(self, older_than_seconds: float) -> int:
        """Pass it on."""
        return await self.inner.prune(older_than_seconds)

    async def erase(self, queue: str, after: str = "") -> Erased:
        """Pass it on."""
        return await self.inner.erase(queue, after)

    async def tally(self, batch: Sequence[Tally]) -> None:
        """Pass it on."""
        await self.inner.tally(batch)

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """Pass it on."""
        return await self.inner.tallies(step, since, until)

    async def sample(self, batch: Sequence[Sample]) -> None:
        """Pass it on."""
        await self.inner.sample(batch)

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = KEPT_SAMPLES) -> list[StoredSample]:
        """Pass it on."""
        return await self.inner.samples(queue, task, after=after, limit=limit)


class HonestBoard:
    """Passes everything on to the state's board."""

    caught_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Stand in front of `inner.board`."""
        self.inner = inner.board
        self.clock = clock

    async def read(self) -> Notices:
        """Pass it on."""
        return await self.inner.read()

    async def pause(self, pause: Pause) -> bool:
        """Pass it on."""
        return await self.inner.pause(pause)

    async def resume(self, queue: str) -> bool:
        """Pass it on."""
        return await self.inner.resume(queue)

    async def post(self, post: Post) -> bool:
        """Pass it on."""
        return await self.inner.post(post)

    async def withdraw(self, kind: PostKind, name: str) -> bool:
        """Pass it on."""
        return await self.inner.withdraw(kind, name)

    async def tick(self, tick: Tick) -> bool:
        """Pass it on."""
        return await self.inner.tick(tick)

    async def ticks(self) -> list[Tick]:
        """Pass it on."""
        return await self.inner.ticks()

    async def forget(self, schedule: str) -> bool:
        """Pass it on."""
        return await self.inner.forget(schedule)

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Pass it on."""
        return await self.inner.take_turn(name, token, seconds)


class HonestActLog:
    """Passes everything on to the state's audit log."""

    caught_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Stand in front of `inner.acts`."""
        self.inner = inner.acts
        self.clock = clock

    async def record(self, acts: Sequence[Act]) -> None:
        """Pass it on."""
        await self.inner.record(acts)

    async def read(self, before: int = 0, limit: int = 100) -> list[StoredAct]:
        """Pass it on."""
        return await self.inner.read(before, limit)

    async def prune(self, older_than_seconds: float) -> int:
        """Pass it on."""
        return await self.inner.prune(older_than_seconds)


class HonestKeyValues:
    """Passes everything on to the state's key-values."""

    caught_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Stand in front of `inner.key_values`."""
        self.inner = inner.key_values
        self.clock = clock

    async def get(self, kind: str, name: str) -> KeyValue | None:
        """Pass it on."""
        return await self.inner.get(kind, name)

    async def list(self, kind: str) -> list[KeyValue]:
        """Pass it on."""
        return await self.inner.list(kind)

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Pass it on."""
        return await self.inner.put(kind, name, data, expect=expect, expires_at=expires_at)

    async def remove(self, kind: str, name: str, *, expect: str | None = None) -> bool:
        """Pass it on."""
        return await self.inner.remove(kind, name, expect=expect)

    async def prune(self) -> int:
        """Pass it on."""
        return await self.inner.prune()


class HonestWall:
    """Passes the store's wall time on; faults override it."""

    #: The suites that are expected to catch it.
    caught_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Stand in front of `inner.wall`."""
        self.inner = inner
        self.clock = clock

    def wall(self) -> float:
        """Pass it on."""
        return self.inner.wall()


class HonestState:
    """Passes everything on, but for the one port that is replaced."""

    def __init__(self, inner: State, part: object) -> None:
        """`part` replaces the port of `inner` that it imitates."""
        self.inner = inner
        self._ledger: Ledger = part if isinstance(part, HonestLedger) else inner.ledger
        self._records: Records = part if isinstance(part, HonestRecords) else inner.records
        self._roster: Roster = part if isinstance(part, HonestRoster) else inner.roster
        self._journal: Journal = part if isinstance(part, HonestJournal) else inner.journal
        self._board: Board = part if isinstance(part, HonestBoard) else inner.board
        self._acts: ActLog = part if isinstance(part, HonestActLog) else inner.acts
        self._key_values: KeyValues = part if isinstance(part, HonestKeyValues) else inner.key_values
        self._wall = part.wall if isinstance(part, HonestWall) else inner.wall

    @property
    def ledger(self) -> Ledger:
        """The ledger, perhaps with the fault."""
        return self._ledger

    @property
    def records(self) -> Records:
        """The records, perhaps with the fault."""
        return self._records

    @property
    def roster(self) -> Roster:
        """The roster, perhaps with the fault."""
        return self._roster

    @property
    def journal(self) -> Journal:
        """The journal, perhaps with the fault."""
        return self._journal

    @property
    def board(self) -> Board:
        """The board, perhaps with the fault."""
        return self._board

    @property
    def acts(self) -> ActLog:
        """The audit log, perhaps with the fault."""
        return self._acts

    @property
    def key_values(self) -> KeyValues:
        """The key-values, perhaps with the fault."""
        return self._key_values

    def wall(self) -> float:
        """The wall time, perhaps with the fault."""
        return self._wall()

    async def open(self) -> None:
        """Pass it on."""
        await self.inner.open()

    async def close(self) -> None:
        """Pass it on."""
        await self.inner.close()

    def twin(self) -> State:
        """Return a twin without the fault: no test asks a faulty state for one."""
        return self.inner.twin()
