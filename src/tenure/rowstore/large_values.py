"""Large values: bytes that are too large for one row, in rows of their own beside it.

DynamoDB takes 400 KB a row; a result, what was handed on with it, or a checkpoint may be larger. They are written
first, under a name that nobody else uses, and only then does the row that counts name them: whoever dies in between
leaves rows that nobody reads, and that are forgotten in time. Used by `ledger.py` and `records.py`.
"""

import os

from tenure.rowstore.entry import LargeValue
from tenure.rowstore.row_changes import Change, Kind, RowChanges
from tenure.table import RowKey, Write

#: What is smaller stays in the row itself.
INLINE = 100_000
#: Bytes in one row; JSON makes a third more of them.
_PAGE = 200_000

_BYTES = Kind(bytes)


async def keep(changes: RowChanges, part: str, data: bytes, *, forget_at: float | None = None) -> LargeValue:
    """Write bytes down; they are read when something names them. `forget_at` may be `NEVER`."""
    some = [data[start : start + _PAGE] for start in range(0, len(data), _PAGE)]
    bulk = LargeValue(os.urandom(8).hex(), len(some))
    until = changes.kept_after_the_queue() if forget_at is None else forget_at

    def decide(number: int, _known: bytes | None) -> Change[None]:
        return Change(None, some[number], forget_at=until)

    await changes.change(_BYTES, _places(part, bulk), decide, are_new=True)
    return bulk


async def load(changes: RowChanges, part: str, bulk: LargeValue) -> bytes | None:
    """The bytes. None: they are not there any more."""
    some = [one for one in await changes.get(_BYTES, _places(part, bulk)) if one is not None]
    return b"".join(some) if len(some) == bulk.pages else None


async def keep_no_longer(changes: RowChanges, part: str, bulk: LargeValue) -> None:
    """They were to be kept always, and may be forgotten in time now."""
    forget_at = changes.kept_after_the_queue()

    def decide(_number: int, known: bytes | None) -> Change[None]:
        return Change(None, known, forget_at=forget_at)

    await changes.change(_BYTES, _places(part, bulk), decide)


async def drop(changes: RowChanges, part: str, bulk: LargeValue) -> None:
    """Nothing names them any more."""
    await changes.table.write([Write(place, None, None) for place in _places(part, bulk)])


def _places(part: str, bulk: LargeValue) -> list[RowKey]:
    return [RowKey(part, f"x{bulk.name}-{number:04}") for number in range(bulk.pages)]
