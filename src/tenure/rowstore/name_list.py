"""Lists of names in the table: which queues there are, and which queues have dead letters.

A service lists queues, but it cannot say which of them Tenure uses, and an account may have thousands of others. So
whoever sends to a queue or is lent something from it notes its name, and goes on noting it now and then: every five
minutes at most, so that it costs nothing a message. A name that was not noted for an hour may be taken off the list, if
nothing is there; by then nobody relies on an earlier note any more, so a send at that very moment notes it anew.

    queues <queue>     every queue            shelves <queue>    queues with dead letters

Used by `queue_list.py` and `dead_letter_index.py`.
"""

from collections.abc import Iterable, Sequence

import msgspec

from tenure.rowstore.row_changes import Change, Kind, RowChanges
from tenure.table import Row, RowKey, Write

#: Whoever noted a name does not look again for so long, and does not write again what was written so recently.
_TRUSTED_SECONDS, _FRESH_SECONDS = 300.0, 30.0
#: A name that was not noted for so long may go. Whoever noted it last may have used it for as long as it trusts a look.
OLD_SECONDS = 3600.0 + _TRUSTED_SECONDS + _FRESH_SECONDS
_PAGE = 1000


class Noted(msgspec.Struct, omit_defaults=True):
    """When a name was noted, on the table's line; and whether somebody took it off the list meanwhile."""

    at: float = 0.0
    #: It is not shown any more. Its row stays for a while, for those who still trust an earlier look.
    is_off: bool = False


#: Rows of earlier versions say only the name.
_NOTED: Kind[Noted | str] = Kind(Noted | str)  # type: ignore[arg-type]


class NameList:
    """One list of names."""

    def __init__(self, changes: RowChanges, part: str, looked: dict[str, float]) -> None:
        """The names of `part`. `looked`: when each was last noted here; shared by all of one process."""
        self._rows = changes
        self._part = part
        self._looked = looked

    async def note(self, names: Iterable[str]) -> list[str]:
        """Note names; those that were not noted here for a while."""
        now = self._rows.now()
        due = [name for name in names if now - self._looked.get(name, -_TRUSTED_SECONDS) >= _TRUSTED_SECONDS]
        if not due:
            return due

        def decide(_number: int, known: Noted | str | None) -> Change[None]:
            if isinstance(known, Noted) and not known.is_off and now - known.at < _FRESH_SECONDS:
                return Change(None)
            return Change(None, Noted(now))

        await self._rows.change(_NOTED, [self._place(name) for name in due], decide)
        self._looked.update(dict.fromkeys(due, now))
        return due

    async def read(self) -> list[tuple[Row, Noted]]:
        """Every row, in the order of the names; also those that are off the list and not removed yet."""
        found: list[tuple[Row, Noted]] = []
        after = ""
        while True:
            rows = await self._rows.table.page(self._part, after=after, limit=_PAGE)
            for row in rows:
                noted = _NOTED.read(row)
                found.append((row, noted if isinstance(noted, Noted) else Noted()))
            if len(rows) < _PAGE:
                return found
            after = rows[-1].place.sort

    async def take_off(self, name: str) -> bool:
        """Show it no more. False: it is not on the list, or was noted at this moment."""
        (row,) = await self._rows.table.get([self._place(name)])
        noted = _NOTED.read(row)
        if row is None or (isinstance(noted, Noted) and noted.is_off):
            return False
        text = msgspec.json.encode(Noted(self._rows.now(), is_off=True)).decode()
        self._looked.pop(name, None)  # first: a sender of this process that looks now notes it anew, and wins
        (done,) = await self._rows.table.write([Write(row.place, text, row.version)])
        return done is not None

    def is_old(self, noted: Noted) -> bool:
        """Whether it may be removed."""
        least = 2 * (_TRUSTED_SECONDS + _FRESH_SECONDS) if noted.is_off else OLD_SECONDS
        return self._rows.now() - noted.at >= least

    async def remove(self, rows: Sequence[Row]) -> None:
        """Remove rows, unless somebody noted the name since they were read."""
        if rows:
            await self._rows.table.write([Write(row.place, None, row.version) for row in rows])
            for row in rows:
                self._looked.pop(row.place.sort, None)

    def _place(self, name: str) -> RowKey:
        return RowKey(self._part, name)
