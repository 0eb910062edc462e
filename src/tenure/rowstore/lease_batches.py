"""Lease batches: what each lease call lent, written under its owner, so that `held`, `retire` and the sweep find it.

One row for a whole call, not one for each message: an index would cost two more writes a message. A batch may name
messages that were not lent, or are settled by now; the entry of each says what is true. It goes when all of its
messages are settled, or when a sweep finds nothing more in it. Owners that have batches are listed. A sweep takes an
owner off the list that was listed for a day and has none; it lists itself again before it is lent anything.
"""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec

from tenure.lease import LeaseRequest
from tenure.message import MessageState
from tenure.rowstore.entry import Entry
from tenure.rowstore.row_changes import ENTRY, Change, Kind, entry_place
from tenure.rowstore.store import Store
from tenure.table import KEEP, Row, RowKey, Write

_MANY = 100_000
#: Seconds after which an owner lists itself again, and after which one who has nothing is taken off.
_LISTED, _UNHEARD = 6 * 3600.0, 24 * 3600.0
#: So many owners are asked for at once.
_AT_ONCE = 10


class LeaseBatch(msgspec.Struct):
    """The messages of one lease call; or, on the list of holders, when one listed itself."""

    ids: tuple[str, ...] = ()
    #: No lease of it ends before this.
    until: float = 0.0


LEASE_BATCH = Kind(LeaseBatch)


async def note(store: Store, request: LeaseRequest, ids: Sequence[str], seconds: float) -> None:
    """Write down what a call is about to lend, for `seconds` at least. If it lends less, nobody minds."""
    now = store.rows.now()

    def decide(number: int, known: LeaseBatch | None) -> Change[None]:
        if number:
            return Change(None, LeaseBatch((), now))
        before = () if known is None else known.ids
        batch = LeaseBatch(tuple(dict.fromkeys([*before, *ids])), now + seconds)
        return Change(None, batch, forget_at=store.rows.kept_until())

    places = [_place(request.owner, request.request_id)]
    listed_at = store.listed.get(request.owner)
    if listed_at is None or now - listed_at > _LISTED:
        places.append(RowKey("holders", request.owner))
    await store.rows.change(LEASE_BATCH, places, decide, are_new=True)
    if len(places) > 1:
        store.listed[request.owner] = now


def first_note(store: Store, request: LeaseRequest, ids: Sequence[str], seconds: float) -> list[Write]:
    """The same as a write, to go out with the leases: where a table changes many rows in one request of its own.

    None where the owner must list itself too; refused where this call was made before.
    """
    now, listed_at = store.rows.now(), store.listed.get(request.owner)
    if not store.rows.table_has_etags or listed_at is None or now - listed_at > _LISTED:
        return []
    text = msgspec.json.encode(LeaseBatch(tuple(dict.fromkeys(ids)), now + seconds)).decode()
    return [Write(_place(request.owner, request.request_id), text, None, store.rows.kept_until())]


async def of(store: Store, owner: str) -> list[tuple[Row, LeaseBatch]]:
    """Everything that is written down under an owner."""
    rows = await store.table.page(f"o#{owner}", limit=_MANY)
    return [(row, batch) for row in rows if (batch := LEASE_BATCH.read(row)) is not None]


async def all_(store: Store) -> list[tuple[Row, LeaseBatch]]:
    """Everything that is written down. Those who are listed for long and have nothing are taken off the list."""
    listed = await store.table.page("holders", limit=_MANY)
    found: list[tuple[Row, LeaseBatch]] = []
    gone: list[Write] = []
    for start in range(0, len(listed), _AT_ONCE):
        some = listed[start : start + _AT_ONCE]
        for row, theirs in zip(some, await asyncio.gather(*(of(store, one.place.sort) for one in some)), strict=True):
            found += theirs
            batch = LEASE_BATCH.read(row)
            if not theirs and batch is not None and batch.until < store.rows.now() - _UNHEARD:
                gone.append(Write(row.place, None, row.version))
    if gone:
        await store.table.write(gone)
    return found


class StillLeased(msgspec.Struct):
    """A message that is lent, as it was read, and the row of its batch."""

    id: str
    entry: Entry
    row: Row


async def lent(store: Store, found: Sequence[tuple[Row, LeaseBatch]]) -> list[StillLeased]:
    """What is still lent of these batches, by the word of each message's entry."""
    ids = [(id, row) for row, batch in found for id in batch.ids]
    entries = await store.rows.get(ENTRY, [entry_place(id) for id, _ in ids])
    return [
        StillLeased(id, entry, row)
        for (id, row), entry in zip(ids, entries, strict=True)
        if entry is not None
        and entry.state == MessageState.LEASED
        and (f"o#{entry.owner}", entry.request) == (row.place.part, row.place.sort)
    ]


async def soonest(store: Store, most: int) -> tuple[list[StillLeased], bool]:
    """What is held and not done, soonest deadline first; True: there are perhaps more than were looked at.

    Reads one row for each owner that is listed, the batches of each, and then one entry for each message of them, a
    hundred in one call: at most twice `most`, those first whose batches said to end first.
    """
    found = sorted(await all_(store), key=lambda one: one[1].until)
    some: list[tuple[Row, LeaseBatch]] = []
    count = 0
    for one in found:
        if some and count + len(one[1].ids) > 2 * most:
            break
        some.append(one)
        count += len(one[1].ids)
    held = [one for one in await lent(store, some) if not one.entry.is_sealed]
    held.sort(key=lambda one: (one.entry.deadline, one.id))
    return held[:most], len(held) > most or len(some) < len(found)


async def drop(store: Store, over: Iterable[tuple[str, str]]) -> None:
    """Nothing is left of these calls, by owner and request."""
    writes = [Write(_place(owner, request), None, None) for owner, request in over]
    if writes:
        await store.table.write(writes)


async def rewrite(store: Store, left: Sequence[tuple[Row, Sequence[str], float]]) -> None:
    """What is left of some batches, and until when none of it ends. Whoever was faster is right."""
    writes = [
        Write(
            row.place, msgspec.json.encode(LeaseBatch(tuple(ids), until)).decode() if ids else None, row.version, KEEP
        )
        for row, ids, until in left
    ]
    if writes:
        await store.table.write(writes)


async def forget(store: Store, owner: str) -> None:
    """Nothing more will be written down under an owner."""
    await store.table.write([Write(RowKey("holders", owner), None, None)])
    store.listed.pop(owner, None)


def _place(owner: str, request_id: str) -> RowKey:
    return RowKey(f"o#{owner}", request_id)
