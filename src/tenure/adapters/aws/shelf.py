"""The shelf: which dead letters a queue has, in the order in which they came there.

Only a list of ids: each letter's entry says whether it is one. Written before the entry, so that none is missing; read
by `looking.py`, which passes over those that are none.
"""

from collections.abc import AsyncIterator

from tenure.adapters.aws.desk import Change, Kind
from tenure.adapters.aws.store import Store
from tenure.adapters.aws.table import Place, Row, Write

_ID = Kind(str)
_PAGE = 200


async def add(store: Store, queue: str, id: str) -> None:
    """Put a letter on the shelf."""
    place = max(1, int(store.clock.wall() * 1e6))

    def decide(known: str | None) -> Change[bool]:
        return Change(known in (None, id), id if known is None else None)

    while not await store.desk.change_one(_ID, Place(f"dead#{queue}", f"{place:020}"), decide):
        place += 1


async def walk(store: Store, queue: str, after: int = 0) -> AsyncIterator[tuple[int, str, Row]]:
    """Place and id of each letter from `after` on."""
    sort = f"{after:020}"
    while rows := await store.table.page(f"dead#{queue}", after=sort, limit=_PAGE):
        for row in rows:
            yield int(row.place.sort), _ID.read(row) or "", row
        sort = rows[-1].place.sort


async def take(store: Store, rows: list[Row]) -> None:
    """These are no letters any more."""
    if rows:
        await store.table.write([Write(row.place, None, row.text) for row in rows])
