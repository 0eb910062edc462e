"""How a row store works, whichever services it stands on: read from a URL by the vendor's adapter."""

import msgspec

from tenure.rowstore.wire import ENVELOPE


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a broker and its state are told once."""

    #: How messages are written (`wire.py`). Both forms are read.
    wire: str = ENVELOPE
    #: How long finished messages and done keys are remembered.
    keep_seconds: float = 7 * 86_400.0
    #: How long one delivery may be held, however often it is touched. None: without end.
    hold_seconds: float | None = 11.5 * 3600.0
    body_limit: int
    #: Where the state is, for people.
    state_place: str
