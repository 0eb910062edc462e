"""Bulk: bytes that are too large for one row, in rows of their own beside it.

DynamoDB takes 400 KB a row; a result, what was handed on with it, or a checkpoint may be larger. They are written
first, under a name that nobody else uses, and only then does the row that counts name them: whoever dies in between
leaves rows that nobody reads, and that are forgotten in time. Used by `ledger.py` and `records.py`.
"""

import os

from tenure.adapters.aws.desk import Change, Desk, Kind
from tenure.adapters.aws.entry import Bulk
from tenure.table import Place, Write

#: What is smaller stays in the row itself.
INLINE = 100_000
#: Bytes in one row; JSON makes a third more of them.
_PAGE = 200_000

_BYTES = Kind(bytes)


async def keep(desk: Desk, part: str, data: bytes) -> Bulk:
    """Write bytes down; they are read when something names them."""
    some = [data[start : start + _PAGE] for start in range(0, len(data), _PAGE)]
    bulk = Bulk(os.urandom(8).hex(), len(some))
    forget_at = desk.kept_after_the_queue()

    def decide(number: int, _known: bytes | None) -> Change[None]:
        return Change(None, some[number], forget_at=forget_at)

    await desk.change(_BYTES, _places(part, bulk), decide, are_new=True)
    return bulk


async def load(desk: Desk, part: str, bulk: Bulk) -> bytes | None:
    """The bytes. None: they are not there any more."""
    some = [one for one in await desk.get(_BYTES, _places(part, bulk)) if one is not None]
    return b"".join(some) if len(some) == bulk.pages else None


async def drop(desk: Desk, part: str, bulk: Bulk) -> None:
    """Nothing names them any more."""
    await desk.table.write([Write(place, None, None) for place in _places(part, bulk)])


def _places(part: str, bulk: Bulk) -> list[Place]:
    return [Place(part, f"x{bulk.name}-{number:04}") for number in range(bulk.pages)]
