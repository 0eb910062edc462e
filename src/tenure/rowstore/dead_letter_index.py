"""The index of dead letters: which of them a queue has, in the order in which they came there.

Only a list of ids: each letter's entry says whether it is one, and where it stands. Written before the entry, so that
none is missing; whoever dies in between leaves a line that stands for nothing. Read by `browsing.py`, which passes over
those, and takes the old ones off.
"""

from collections.abc import AsyncIterator, Sequence

from tenure.message import MessageState
from tenure.rowstore.entry import Entry
from tenure.rowstore.row_changes import Change, Kind
from tenure.rowstore.store import Store
from tenure.table import Row, RowKey, Write

_ID = Kind(str)
_PAGE = 200
#: A line whose letter is not dead yet may be about to be.
_OLD_SECONDS = 3600.0


async def add(store: Store, queue: str, id: str, *, at: float | None = None) -> int:
    """Add a dead letter; its place in the index, for its entry. The queue is listed before.

    `at`: when it died. Then the same letter gets the same place again.
    """
    await store.dead_letter_queues.note([queue])
    place = max(1, int((store.clock.wall() if at is None else at) * 1e6))

    def decide(known: str | None) -> Change[bool]:
        is_ours = at is not None and known == id
        return Change(known is None or is_ours, id if known is None else None)

    while not await store.rows.change_one(_ID, _row(queue, place), decide):
        place += 1
    return place


async def add_all(store: Store, letters: Sequence[tuple[str, str]]) -> list[int]:
    """As `add`, for several: queue and id of each. Their places are probably free, so nothing is read before."""
    await store.dead_letter_queues.note(sorted({queue for queue, _ in letters}))
    begin = max(1, int(store.clock.wall() * 1e6))
    places = list(range(begin, begin + len(letters)))
    rows = [_row(queue, place) for (queue, _), place in zip(letters, places, strict=True)]

    def decide(number: int, known: str | None) -> Change[bool]:
        return Change(known is None, letters[number][1] if known is None else None)

    is_free = await store.rows.change(_ID, rows, decide, are_new=True)
    for number, (queue, id) in enumerate(letters):
        if not is_free[number]:
            places[number] = await add(store, queue, id)
    return places


async def queues(store: Store) -> list[str]:
    """The queues that have dead letters, or had some lately."""
    return [row.place.sort for row, _ in await store.dead_letter_queues.read()]


async def has_any(store: Store, queue: str) -> bool:
    """Whether there is a line in the index."""
    return bool(await store.table.page(f"dead#{queue}", limit=1))


async def page(store: Store, queue: str, *, after: str, limit: int, backwards: bool) -> list[tuple[int, str, Row]]:
    """Place, id and row of some letters beyond the place `after`."""
    rows = await store.table.page(f"dead#{queue}", after=after, limit=limit, backwards=backwards)
    return [(int(row.place.sort), _ID.read(row) or "", row) for row in rows]


async def walk(store: Store, queue: str, after: int = 0) -> AsyncIterator[tuple[int, str, Row]]:
    """Place and id of each letter from `after` on."""
    sort = f"{after:020}"
    while rows := await store.table.page(f"dead#{queue}", after=sort, limit=_PAGE):
        for row in rows:
            yield int(row.place.sort), _ID.read(row) or "", row
        sort = rows[-1].place.sort


async def count(store: Store, queue: str) -> int:
    """How many letters there are, and perhaps a few lines that stand for nothing."""
    number = 0
    async for _ in walk(store, queue):
        number += 1
    return number


def is_letter(entry: Entry | None, place: int) -> bool:
    """Whether the line at `place` stands for a dead letter."""
    return entry is not None and entry.shelf == place and (entry.state == MessageState.DEAD or entry.is_half_redriven)


def is_litter(store: Store, entry: Entry | None, place: int) -> bool:
    """Whether the line at `place` stands for nothing, and never will."""
    if is_letter(entry, place) or (entry is not None and entry.state == MessageState.LEASED):
        return False
    is_elsewhere = entry is not None and entry.state == MessageState.DEAD
    return is_elsewhere or place / 1e6 < store.clock.wall() - _OLD_SECONDS


async def take(store: Store, rows: Sequence[Row]) -> None:
    """These lines stand for nothing."""
    if rows:
        await store.table.write([Write(row.place, None, row.version) for row in rows])


async def take_off(store: Store, id: str, entry: Entry) -> None:
    """It is no letter any more."""
    if entry.shelf:

        def decide(known: str | None) -> Change[None]:
            return Change(None, remove=known == id)

        await store.rows.change_one(_ID, _row(entry.queue, entry.shelf), decide)


def _row(queue: str, place: int) -> RowKey:
    return RowKey(f"dead#{queue}", sort_of(place))


def sort_of(place: int) -> str:
    """A place in the index as the table orders it."""
    return f"{place:020}"
