"""The state in memory, and three ways for tests to make it fail."""

from tenure.adapters.memory.acts import MemoryActLog
from tenure.adapters.memory.board import MemoryBoard
from tenure.adapters.memory.entry import MemoryEntry
from tenure.adapters.memory.journal import MemoryJournal
from tenure.adapters.memory.key_values import MemoryKeyValues
from tenure.adapters.memory.ledger import MemoryLedger
from tenure.adapters.memory.records import MemoryRecords
from tenure.adapters.memory.roster import MemoryRoster
from tenure.adapters.memory.store import MemoryDatabase
from tenure.errors import BadArgument, MessageNotFound
from tenure.message import MessageState


class MemoryState:
    """Ledger, records, roster, journal, board, audit log and key-values of one store."""

    def __init__(self, store: MemoryDatabase) -> None:
        """Made by `connect`."""
        self._store = store
        self._ledger = MemoryLedger(store)
        self._records = MemoryRecords(store)
        self._roster = MemoryRoster(store)
        self._journal = MemoryJournal(store)
        self._board = MemoryBoard(store)
        self._acts = MemoryActLog(store)
        self._key_values = MemoryKeyValues(store)

    @property
    def ledger(self) -> MemoryLedger:
        """Claims and done-records."""
        return self._ledger

    @property
    def records(self) -> MemoryRecords:
        """Status, progress, checkpoints."""
        return self._records

    @property
    def roster(self) -> MemoryRoster:
        """The roster of workers."""
        return self._roster

    @property
    def journal(self) -> MemoryJournal:
        """The journal of events."""
        return self._journal

    @property
    def board(self) -> MemoryBoard:
        """The board: pauses, ticks and posts."""
        return self._board

    @property
    def acts(self) -> MemoryActLog:
        """The audit log."""
        return self._acts

    @property
    def key_values(self) -> MemoryKeyValues:
        """Small documents by kind and name."""
        return self._key_values

    def wall(self) -> float:
        """The clock of this machine."""
        return self._store.clock.wall()

    async def open(self) -> None:
        """Do nothing: there is no connection to open."""

    async def close(self) -> None:
        """Do nothing: there is no connection to close."""

    def twin(self) -> "MemoryState":
        """Itself: any thread's loop may call it."""
        return self

    def kill(self, owner_id: str) -> None:
        """Let this owner count as dead from now on, as if the lock of its process were free. For tests."""
        with self._store.lock:
            if owner_id not in self._store.members.joined:
                msg = f"{owner_id} is not on the roster, so nothing can be proven about it; let it join first"
                raise BadArgument(msg)
            self._store.members.killed.add(owner_id)

    def drop_deadline(self, message_id: str) -> None:
        """Remove the deadline of this leased message, as after a stamp that was lost. For tests."""
        with self._store.lock:
            self._store.date(self._entry(message_id, MessageState.LEASED), None)

    def damage(self, message_id: str, envelope: bytes = b"\x00 damaged") -> bytes:
        """Replace the stored envelope of this message with one that cannot be read. For tests."""
        with self._store.lock:
            self._entry(message_id, *MessageState).envelope = envelope
        return envelope

    def _entry(self, message_id: str, *states: MessageState) -> MemoryEntry:
        entry = self._store.entries.get(message_id)
        if entry is None or entry.state not in states:
            msg = f"no message {message_id} is {' or '.join(states)} here, so nothing was changed"
            raise MessageNotFound(msg)
        return entry
