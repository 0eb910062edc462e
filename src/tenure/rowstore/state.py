"""The seven ports over one table."""

from tenure.rowstore.act_log import RowStoreActLog
from tenure.rowstore.board import RowStoreBoard
from tenure.rowstore.journal import RowStoreJournal
from tenure.rowstore.key_values import RowStoreKeyValues
from tenure.rowstore.ledger import RowStoreLedger
from tenure.rowstore.records import RowStoreRecords
from tenure.rowstore.roster import RowStoreRoster
from tenure.rowstore.store import Store


class RowStoreState:
    """State in a table, whichever store keeps it."""

    def __init__(self, store: Store) -> None:
        """Made by `connect`."""
        self._store = store

    @property
    def ledger(self) -> RowStoreLedger:
        return self._store.ledger

    @property
    def records(self) -> RowStoreRecords:
        return self._store.records

    @property
    def roster(self) -> RowStoreRoster:
        return self._store.roster

    @property
    def journal(self) -> RowStoreJournal:
        return self._store.journal

    @property
    def board(self) -> RowStoreBoard:
        return self._store.board

    @property
    def acts(self) -> RowStoreActLog:
        return self._store.acts

    @property
    def key_values(self) -> RowStoreKeyValues:
        return self._store.key_values

    def wall(self) -> float:
        return self._store.table.wall()

    async def open(self) -> None:
        await self._store.open()

    async def close(self) -> None:
        await self._store.close()

    def twin(self) -> "RowStoreState":
        return RowStoreState(self._store.twin())
