"""The audit log: acts as pages of the table, kept for 400 days; the table may remove their pages by itself then."""

from collections.abc import Sequence

from tenure.act import KEPT_SECONDS, Act, StoredAct
from tenure.rowstore.log_pages import LogPages
from tenure.rowstore.row_changes import RowChanges

_ACTS = "acts"


class RowStoreActLog:
    """What people and programs did from outside."""

    def __init__(self, changes: RowChanges) -> None:
        """Stand on `changes`."""
        self._rows = changes
        self._pages: LogPages[Act] = LogPages(changes, Act)

    async def record(self, acts: Sequence[Act]) -> None:
        if acts:
            newest = max(act.at for act in acts)
            await self._pages.append(_ACTS, acts, newest, forget_at=self._rows.clock.wall() + KEPT_SECONDS)

    async def read(self, before: int = 0, limit: int = 100) -> list[StoredAct]:
        return [StoredAct(seq, act) for seq, act in await self._pages.read_back(_ACTS, before, limit)]

    async def prune(self, older_than_seconds: float) -> int:
        oldest = self._rows.clock.wall() - older_than_seconds
        return await self._pages.drop(_ACTS, lambda act: act.at < oldest)
