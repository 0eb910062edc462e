"""How far a migration is: one row of the new table, which also says that there is nothing to carry."""

import msgspec

from tenure.migration import Carried
from tenure.rowstore.row_changes import NEVER, Change, Kind, RowChanges
from tenure.table import RowKey

#: Nothing was there to carry; some was carried; all was.
NOTHING, CARRYING, DONE = "nothing", "carrying", "done"


class Progress(msgspec.Struct, frozen=True, omit_defaults=True):
    """A state, and where to go on."""

    state: str
    #: The last message that was carried: its part and the end of its rows' keys. Part -1: all were.
    part: int = 0
    word: str = ""
    carried: Carried = Carried()
    #: Queue and task of samples to carry.
    tasks: tuple[tuple[str, str], ...] = ()


_PROGRESS = Kind(Progress)
_PLACE = RowKey("earlier", "progress")


async def read(rows: RowChanges) -> Progress | None:
    """None: nobody has looked yet."""
    (found,) = await rows.get(_PROGRESS, [_PLACE])
    return found


async def write(rows: RowChanges, progress: Progress) -> None:
    """Keep it for ever: whoever starts asks for it."""
    await rows.change_one(_PROGRESS, _PLACE, lambda _: Change(None, progress, forget_at=NEVER))
