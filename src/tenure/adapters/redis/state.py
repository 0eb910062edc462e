"""The state on Redis: the seven ports over the store that the broker stands on too."""

from tenure.adapters.redis.acts import RedisActLog
from tenure.adapters.redis.board import RedisBoard
from tenure.adapters.redis.journal import RedisJournal
from tenure.adapters.redis.key_values import RedisKeyValues
from tenure.adapters.redis.ledger import RedisLedger
from tenure.adapters.redis.records import RedisRecords
from tenure.adapters.redis.roster import RedisRoster
from tenure.adapters.redis.store import RedisStore


class RedisState:
    """Ledger, records, roster, journal, board, audit log and key-values on one server."""

    def __init__(self, store: RedisStore) -> None:
        """Stand on `store`, which the broker may share."""
        self._store = store
        self._ledger = RedisLedger(store)
        self._records = RedisRecords(store)
        self._roster = RedisRoster(store)
        self._journal = RedisJournal(store)
        self._board = RedisBoard(store)
        self._acts = RedisActLog(store)
        self._key_values = RedisKeyValues(store)

    @property
    def ledger(self) -> RedisLedger:
        """Claims and done-records."""
        return self._ledger

    @property
    def records(self) -> RedisRecords:
        """Status, progress, checkpoints."""
        return self._records

    @property
    def roster(self) -> RedisRoster:
        """The roster of workers."""
        return self._roster

    @property
    def journal(self) -> RedisJournal:
        """The journal of events."""
        return self._journal

    @property
    def board(self) -> RedisBoard:
        """The board: pauses, ticks and posts."""
        return self._board

    @property
    def acts(self) -> RedisActLog:
        """The audit log."""
        return self._acts

    @property
    def key_values(self) -> RedisKeyValues:
        """Small documents by kind and name."""
        return self._key_values

    def wall(self) -> float:
        """Return the server's wall time."""
        return self._store.wall.now()

    async def open(self) -> None:
        """Connect, unless the broker has."""
        await self._store.open()

    async def close(self) -> None:
        """Let go of the connections, unless the broker still uses them."""
        await self._store.close()

    def twin(self) -> "RedisState":
        """Connections of its own, for another loop."""
        return RedisState(self._store.twin())
