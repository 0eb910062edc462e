"""The gate: nothing works in the new table while an earlier one holds what nobody has carried.

Asked once in a process, when it opens. What it found is written down, so that from then on it is one look-up. Without
it a key that is done would be worked on again, a cancelled message would run, and dead letters would be out of sight.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from tenure.adapters.azure.migration import progress, standing
from tenure.adapters.azure.migration.earlier import EarlierTables
from tenure.adapters.azure.migration.progress import CARRYING, NOTHING, Progress
from tenure.errors import NotMigrated
from tenure.rowstore.row_changes import RowChanges

#: Opens the tables of earlier versions. None: there are none.
OpenEarlier = Callable[[], AbstractAsyncContextManager[EarlierTables | None]]


class Gate:
    """Lets through who may work."""

    def __init__(self, place: str, open_earlier: OpenEarlier, *, may_write: bool) -> None:
        """Of a store at `place`."""
        self._place = place
        self._open = open_earlier
        self._may_write = may_write
        self._is_open = False

    async def check(self, rows: RowChanges | None) -> None:
        """Raise `NotMigrated` unless all is carried, or there is nothing to carry. No rows: there is no table yet."""
        if self._is_open:
            return
        known = None if rows is None else await progress.read(rows)
        if known is None:
            await self._look()
            if rows is None:
                return
            if self._may_write:
                await progress.write(rows, Progress(NOTHING))
        elif known.state == CARRYING:
            raise NotMigrated(
                f"{self._place}: what an earlier version kept is carried over only in part; nothing was started. Run "
                "`tenure migrate store` with the same URL again: it goes on where it was"
            )
        self._is_open = True

    async def _look(self) -> None:
        async with self._open() as tables:
            if tables is not None and await tables.has_anything():
                found = await standing.unfinished(tables, tables.now(), most=standing.BRIEF)
                raise NotMigrated(refusal(self._place, standing.told(found)))


def refusal(place: str, unfinished: str) -> str:
    """Why nothing starts, and what to do; `unfinished`: what stands in the way of carrying it."""
    if unfinished:
        return (
            f"{place}: the tables of an earlier version are not finished with: {unfinished}; nothing was started, and "
            "nothing was changed. Let workers of the earlier version finish what is there, stop them, and run `tenure "
            "migrate` with the same URL (docs/how-to/upgrade.md)"
        )
    return (
        f"{place}: an earlier version kept dead letters, keys or settings here, unseen by this one; nothing was "
        "started. Run `tenure migrate store` with the same URL, first with --dry-run (docs/how-to/upgrade.md)"
    )
