"""The seven ports over one table."""

from tenure.adapters.aws.acts import AwsActLog
from tenure.adapters.aws.board import AwsBoard
from tenure.adapters.aws.journal import AwsJournal
from tenure.adapters.aws.key_values import AwsKeyValues
from tenure.adapters.aws.ledger import AwsLedger
from tenure.adapters.aws.records import AwsRecords
from tenure.adapters.aws.roster import AwsRoster
from tenure.adapters.aws.store import Store


class AwsState:
    """State in a table, of DynamoDB or of another store."""

    def __init__(self, store: Store) -> None:
        """Made by `connect`."""
        self._store = store

    @property
    def ledger(self) -> AwsLedger:
        return self._store.ledger

    @property
    def records(self) -> AwsRecords:
        return self._store.records

    @property
    def roster(self) -> AwsRoster:
        return self._store.roster

    @property
    def journal(self) -> AwsJournal:
        return self._store.journal

    @property
    def board(self) -> AwsBoard:
        return self._store.board

    @property
    def acts(self) -> AwsActLog:
        return self._store.acts

    @property
    def key_values(self) -> AwsKeyValues:
        return self._store.key_values

    def wall(self) -> float:
        return self._store.table.wall()

    async def open(self) -> None:
        await self._store.open()

    async def close(self) -> None:
        await self._store.close()

    def twin(self) -> "AwsState":
        return AwsState(self._store.twin())
