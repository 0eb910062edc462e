"""Lots: what each lease call lent, written down under its owner, so that `held`, `retire` and the sweep find it.

One row for a whole call, not one for each message: an index would cost two more writes a message. A lot may name
messages that were not lent, or are settled by now; the entry of each says what is true. It goes when all of its
messages are settled, or when a sweep finds nothing more in it.
"""

from collections.abc import Iterable, Sequence

import msgspec

from tenure.adapters.aws.desk import Change, Kind
from tenure.adapters.aws.store import Store
from tenure.adapters.aws.table import KEEP, Place, Row, Write
from tenure.lease import LeaseRequest

_MANY = 100_000


class Lot(msgspec.Struct):
    """The messages of one lease call."""

    ids: tuple[str, ...] = ()
    #: No lease of it ends before this.
    until: float = 0.0


LOT = Kind(Lot)


async def note(store: Store, request: LeaseRequest, ids: Sequence[str]) -> None:
    """Write down what a call is about to lend. If it lends less, nobody minds."""
    now = store.desk.now()

    def decide(number: int, known: Lot | None) -> Change[None]:
        if number:
            return Change(None, None if known is not None else Lot())
        before = () if known is None else known.ids
        return Change(None, Lot(tuple(dict.fromkeys([*before, *ids])), now), forget_at=store.desk.kept_until())

    places = [_place(request.owner, request.request_id)]
    if request.owner not in store.listed:
        places.append(Place("holders", request.owner))
    await store.desk.change(LOT, places, decide, are_new=True)
    store.listed.add(request.owner)


async def of(store: Store, owner: str) -> list[tuple[Row, Lot]]:
    """Everything that is written down under an owner."""
    rows = await store.table.page(f"o#{owner}", limit=_MANY)
    return [(row, lot) for row in rows if (lot := LOT.read(row)) is not None]


async def holders(store: Store) -> list[str]:
    """Everybody under whom something may be written down."""
    return [row.place.sort for row in await store.table.page("holders", limit=_MANY)]


async def drop(store: Store, over: Iterable[tuple[str, str]]) -> None:
    """Nothing is left of these calls, by owner and request."""
    writes = [Write(_place(owner, request), None, None) for owner, request in over]
    if writes:
        await store.table.write(writes)


async def rewrite(store: Store, row: Row, ids: Sequence[str], until: float) -> None:
    """What is left of a lot. Whoever was faster is right."""
    text = msgspec.json.encode(Lot(tuple(ids), until)).decode() if ids else None
    await store.table.write([Write(row.place, text, row.text, KEEP)])


async def forget(store: Store, owner: str) -> None:
    """Nothing more will be written down under an owner."""
    await store.table.write([Write(Place("holders", owner), None, None)])
    store.listed.discard(owner)


def _place(owner: str, request_id: str) -> Place:
    return Place(f"o#{owner}", request_id)
