"""The state on SQLite: the seven ports, over the store that the broker uses too."""

from tenure.adapters.sqlite.act_log import SqliteActLog
from tenure.adapters.sqlite.board import SqliteBoard
from tenure.adapters.sqlite.journal import SqliteJournal
from tenure.adapters.sqlite.key_values import SqliteKeyValues
from tenure.adapters.sqlite.ledger import SqliteLedger
from tenure.adapters.sqlite.records import SqliteRecords
from tenure.adapters.sqlite.roster import SqliteRoster
from tenure.adapters.sqlite.store import SqliteStore


class SqliteState:
    """Ledger, records, roster, journal, board, audit log and key-values in one file."""

    def __init__(self, store: SqliteStore) -> None:
        """Stand on `store`, which the broker may share."""
        self._store = store
        self._ledger = SqliteLedger(store)
        self._records = SqliteRecords(store)
        self._roster = SqliteRoster(store)
        self._journal = SqliteJournal(store)
        self._board = SqliteBoard(store)
        self._acts = SqliteActLog(store)
        self._key_values = SqliteKeyValues(store)

    @property
    def ledger(self) -> SqliteLedger:
        """Claims and done-records."""
        return self._ledger

    @property
    def records(self) -> SqliteRecords:
        """Status, progress, checkpoints."""
        return self._records

    @property
    def roster(self) -> SqliteRoster:
        """The roster of workers."""
        return self._roster

    @property
    def journal(self) -> SqliteJournal:
        """The journal of events."""
        return self._journal

    @property
    def board(self) -> SqliteBoard:
        """The board: pauses, ticks and posts."""
        return self._board

    @property
    def acts(self) -> SqliteActLog:
        """The audit log."""
        return self._acts

    @property
    def key_values(self) -> SqliteKeyValues:
        """Small documents by kind and name."""
        return self._key_values

    def wall(self) -> float:
        """The clock of this machine."""
        return self._store.clock.wall()

    async def open(self) -> None:
        """Open the file, unless the broker has."""
        await self._store.open()

    async def close(self) -> None:
        """Close the file, unless the broker still uses it."""
        await self._store.close()

    def twin(self) -> "SqliteState":
        """Itself: any loop may call it."""
        return self
