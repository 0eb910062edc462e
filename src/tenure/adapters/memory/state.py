"""The state ports on the store, and three ways for tests to let things go wrong."""

from tenure.adapters.memory.acts import MemoryActLog
from tenure.adapters.memory.board import MemoryBoard
from tenure.adapters.memory.entry import Entry
from tenure.adapters.memory.journal import MemoryJournal
from tenure.adapters.memory.key_values import MemoryKeyValues
from tenure.adapters.memory.ledger import MemoryLedger
from tenure.adapters.memory.records import MemoryRecords
from tenure.adapters.memory.roster import MemoryRoster
from tenure.adapters.memory.store import Store
from tenure.errors import BadArgument, MessageNotFound
from tenure.message import MessageState


class MemoryState:
    """Ledger, records, roster, journal, board, audit log and key-values of one store."""

    def __init__(self, store: Store) -> None:
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
        """Presence."""
        return self._roster

    @property
    def journal(self) -> MemoryJournal:
        """Events."""
        return self._journal

    @property
    def board(self) -> MemoryBoard:
        """What operators and schedules say."""
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
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to let go of."""

    def twin(self) -> "MemoryState":
        """Itself: any thread's loop may call it."""
        return self

    def kill(self, owner_id: str) -> None:
        """For tests: from now on this owner counts as dead, as if the lock of its process had been found free."""
        with self._store.lock:
            if owner_id not in self._store.members.joined:
                msg = f"{owner_id} is not on the roster, so nothing can be proven about it; let it join first"
                raise BadArgument(msg)
            self._store.members.killed.add(owner_id)

    def drop_deadline(self, message_id: str) -> None:
        """For tests: this leased message is now lent without a deadline, as after a stamp that was lost."""
        with self._store.lock:
            self._store.date(self._entry(message_id, MessageState.LEASED), None)

    def damage(self, message_id: str, envelope: bytes = b"\x00 damaged") -> bytes:
        """For tests: the stored envelope of this message now is `envelope`, which nobody can read."""
        with self._store.lock:
            self._entry(message_id, *MessageState).envelope = envelope
        return envelope

    def _entry(self, message_id: str, *states: MessageState) -> Entry:
        entry = self._store.entries.get(message_id)
        if entry is None or entry.state not in states:
            msg = f"no message {message_id} is {' or '.join(states)} here, so nothing was changed"
            raise MessageNotFound(msg)
        return entry
