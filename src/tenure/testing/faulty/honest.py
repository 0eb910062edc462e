"""A broker and a state that pass every word on, unchanged. The faulty ones change one word each.

A faulty broker is a subclass that overrides what it does wrong. What it must remember for that is shared
with its twins, so that a second connection has the same fault.
"""

import copy
from collections.abc import Sequence
from typing import ClassVar

from tenure.broker import Broker, BrokerTraits, Browsed, Depth, Sent, SweepRequest, Swept
from tenure.claim import ClaimAnswer, ClaimRequest, Scope, Seal, Token
from tenure.event import Event, StoredEvent
from tenure.finding import Finding
from tenure.lease import Lease, LeaseRequest
from tenure.message import MessageState, Outgoing
from tenure.notice import Notices, Pause, Tick
from tenure.owner import DeadOwner, Owner
from tenure.record import Progress, Record
from tenure.sample import Sample, StoredSample
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Settlement
from tenure.state import KEPT_SAMPLES, Board, Journal, Ledger, Records, Roster, State
from tenure.testing.virtual import VirtualClock


class HonestBroker:
    """Passes everything on to `inner`."""

    #: Names of the suites that are expected to catch the fault.
    caught_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self, inner: Broker, clock: VirtualClock) -> None:
        """Stand in front of `inner`, in the time of `clock`."""
        self.inner = inner
        self.clock = clock

    @property
    def traits(self) -> BrokerTraits:
        """As `inner` says."""
        return self.inner.traits

    async def open(self) -> None:
        """Pass it on."""
        await self.inner.open()

    async def close(self) -> None:
        """Pass it on."""
        await self.inner.close()

    def twin(self) -> Broker:
        """A second connection with the same fault and the same memory."""
        inner = self.inner.twin()
        if inner is self.inner:
            return self
        twin = copy.copy(self)
        twin.inner = inner
        return twin

    async def check(self, queues: Sequence[str]) -> list[Finding]:
        """Pass it on."""
        return await self.inner.check(queues)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Pass it on."""
        return await self.inner.send(batch)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Pass it on."""
        return await self.inner.lease(request)

    async def wait(self, queues: Sequence[str], seconds: float) -> None:
        """Pass it on."""
        await self.inner.wait(queues, seconds)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Pass it on."""
        return await self.inner.touch(leases)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Pass it on."""
        return await self.inner.ack(batch)

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Pass it on."""
        return await self.inner.nack(batch)

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """Pass it on."""
        return await self.inner.give_back(batch)

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Pass it on."""
        return await self.inner.dead_letter(batch)

    async def redrive(self, ids: Sequence[str]) -> list[str]:
        """Pass it on."""
        return await self.inner.redrive(ids)

    async def delete(self, ids: Sequence[str]) -> list[str]:
        """Pass it on."""
        return await self.inner.delete(ids)

    async def cancel(self, ids: Sequence[str]) -> list[MessageState | None]:
        """Pass it on."""
        return await self.inner.cancel(ids)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Pass it on."""
        return await self.inner.sweep(request)

    async def held(self, owner: str, request_id: str | None = None) -> list[Lease]:
        """Pass it on."""
        return await self.inner.held(owner, request_id)

    async def retire(self, owner: str, *, crashed: bool) -> Swept:
        """Pass it on."""
        return await self.inner.retire(owner, crashed=crashed)

    async def browse(self, queue: str, state: MessageState, *, limit: int = 100, after: int = 0) -> list[Browsed]:
        """Pass it on."""
        return await self.inner.browse(queue, state, limit=limit, after=after)

    async def depth(self, queues: Sequence[str] | None = None) -> list[Depth]:
        """Pass it on."""
        return await self.inner.depth(queues)


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

    async def get(self, id: str) -> Record | None:
        """Pass it on."""
        return await self.inner.get(id)

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

    async def alive(self) -> list[Owner]:
        """Pass it on."""
        return await self.inner.alive()

    async def dead(self) -> list[DeadOwner]:
        """Pass it on."""
        return await self.inner.dead()


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

    async def prune(self, older_than_seconds: float) -> int:
        """Pass it on."""
        return await self.inner.prune(older_than_seconds)

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


class HonestState:
    """Passes everything on, but for the one port that is replaced."""

    def __init__(self, inner: State, part: object) -> None:
        """`part` stands for the port of `inner` that it imitates."""
        self.inner = inner
        self._ledger: Ledger = part if isinstance(part, HonestLedger) else inner.ledger
        self._records: Records = part if isinstance(part, HonestRecords) else inner.records
        self._roster: Roster = part if isinstance(part, HonestRoster) else inner.roster
        self._journal: Journal = part if isinstance(part, HonestJournal) else inner.journal
        self._board: Board = part if isinstance(part, HonestBoard) else inner.board

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

    async def open(self) -> None:
        """Pass it on."""
        await self.inner.open()

    async def close(self) -> None:
        """Pass it on."""
        await self.inner.close()

    def twin(self) -> State:
        """Without the fault: nobody asks a faulty state for a twin."""
        return self.inner.twin()
