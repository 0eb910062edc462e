"""What a child worker and its supervisor say to each other: frames as in `wire.py`, over a socket pair.

The first four of the child's are about its life. The others hand its leases over to the supervisor's keeping
(`entrusting.py` in the child, `keeping.py` in the supervisor) and are said only where that was asked for.
"""

import msgspec

from tenure.claim import Token
from tenure.lease import Lease
from tenure.owner import Owner
from tenure.runtime.wire import Frame

# -- from the child --------------------------------------------------------------------------------


class Arrived(Frame, frozen=True):
    """The app is loaded; this is where its messages are."""

    url: str


class Enlisted(Frame, frozen=True):
    """It is on the roster, as this owner."""

    owner: Owner


class Working(Frame, frozen=True):
    """It has begun to lease."""


class Farewell(Frame, frozen=True):
    """It has stopped, and this is what it did."""

    #: How often each kind of event happened there, and why messages were given back.
    counts: dict[str, int]
    given_back: dict[str, int]


class Entry(msgspec.Struct, frozen=True):
    """One lease on its way into the supervisor's keeping. Its envelope stays with the child."""

    number: int
    lease: Lease
    token: Token | None
    #: False: its handler has begun, and nobody is to renew its lease.
    is_renewed: bool = True
    first_beat: float | None = None


class Hold(Frame, frozen=True):
    """Keep these leases alive."""

    entries: list[Entry]


class Begin(Frame, frozen=True):
    """The handler of one begins that was held waiting; from here on nobody is to renew its lease."""

    number: int


class HandOver(Frame, frozen=True):
    """Stop beating for these, and give up their latest leases."""

    question: int
    numbers: list[int]


class TouchNow(Frame, frozen=True):
    """Renew one at once."""

    question: int
    number: int
    seconds: float | None


class CheckNow(Frame, frozen=True):
    """Beat at once for these messages, which may have been cancelled. None: for all."""

    ids: list[str] | None = None


# -- from the supervisor ---------------------------------------------------------------------------


class Hurry(Frame, frozen=True):
    """Give everything back now, and end."""


class HandedOver(Frame, frozen=True):
    """The latest leases, in the order of the question. None: it is lost."""

    question: int
    leases: list[Lease | None]


class Touched(Frame, frozen=True):
    """How a touch ended; `code` is that of a `TenureError`, or empty if it was renewed."""

    question: int
    code: str = ""
    text: str = ""


class Extended(Frame, frozen=True):
    """Leases that were renewed: number and new deadline, on the monotonic clock of the host."""

    deadlines: list[tuple[int, float]]


class Missed(Frame, frozen=True):
    """So many could not be renewed for now."""

    count: int
    error: str


class Gone(Frame, frozen=True):
    """The lease is lost."""

    number: int


Keeping = Hold | Begin | HandOver | TouchNow | CheckNow
FromWard = Arrived | Enlisted | Working | Farewell | Keeping
News = HandedOver | Touched | Extended | Missed | Gone
ToWard = Hurry | News

from_ward: msgspec.msgpack.Decoder[FromWard] = msgspec.msgpack.Decoder(FromWard)
to_ward: msgspec.msgpack.Decoder[ToWard] = msgspec.msgpack.Decoder(ToWard)
