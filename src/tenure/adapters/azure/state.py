"""The state port on an account: its seven ports over one store."""

from tenure.adapters.azure.act_log import AzureActLog
from tenure.adapters.azure.board import AzureBoard
from tenure.adapters.azure.journal import AzureJournal
from tenure.adapters.azure.key_values import AzureKeyValues
from tenure.adapters.azure.ledger import AzureLedger
from tenure.adapters.azure.records import AzureRecords
from tenure.adapters.azure.roster import AzureRoster
from tenure.adapters.azure.store import Store


class AzureState:
    """What a worker remembers in the account's table."""

    def __init__(self, store: Store) -> None:
        """Made by `connect`."""
        self._store = store
        self._ledger = AzureLedger(store)
        self._records = AzureRecords(store)
        self._roster = AzureRoster(store)
        self._journal = AzureJournal(store)
        self._board = AzureBoard(store)
        self._acts = AzureActLog(store)
        self._key_values = AzureKeyValues(store)

    @property
    def ledger(self) -> AzureLedger:
        """Claims and done-records."""
        return self._ledger

    @property
    def records(self) -> AzureRecords:
        """Status, progress, checkpoints."""
        return self._records

    @property
    def roster(self) -> AzureRoster:
        """Presence."""
        return self._roster

    @property
    def journal(self) -> AzureJournal:
        """Events."""
        return self._journal

    @property
    def board(self) -> AzureBoard:
        """What operators and schedules say."""
        return self._board

    @property
    def acts(self) -> AzureActLog:
        """The audit log."""
        return self._acts

    @property
    def key_values(self) -> AzureKeyValues:
        """Small documents by kind and name."""
        return self._key_values

    def wall(self) -> float:
        """The account's, as its answers tell it; where the rows lie elsewhere, that store's."""
        return self._store.wall()

    async def open(self) -> None:
        """Connect, and make what must exist where that was asked for."""
        await self._store.open()

    async def close(self) -> None:
        """Let go of every connection."""
        await self._store.close()

    def twin(self) -> "AzureState":
        """Connections of its own for another loop."""
        return AzureState(self._store.twin())
