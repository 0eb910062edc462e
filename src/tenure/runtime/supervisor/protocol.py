"""The protocol of a child worker and its supervisor: frames as in `processes/frames.py`, over a socket pair.

The first four frames of the child are about its start and end, one answers with its metrics. The others hand its
leases over to the supervisor (`remote_heartbeat.py` in the child, `lease_keeper.py` in the supervisor) and are used
only with `--heartbeat supervisor`.
"""

import msgspec

from tenure.claim import Token
from tenure.lease import Lease
from tenure.monitoring.metrics.sample import Sample
from tenure.owner import Owner
from tenure.runtime.processes.frames import Frame

# -- from the child --------------------------------------------------------------------------------


class Arrived(Frame, frozen=True):
    """The app is loaded; the place of its messages."""

    url: str


class Enlisted(Frame, frozen=True):
    """The child is on the roster, as this owner."""

    owner: Owner


class Working(Frame, frozen=True):
    """The child has begun to lease."""


class Farewell(Frame, frozen=True):
    """The child has stopped; these are its counts."""

    #: How often each kind of event happened there, and why messages were given back.
    counts: dict[str, int]
    given_back: dict[str, int]
    #: Why it has left, where an operator had it leave: no other takes its place.
    left: str = ""
    #: Its last metrics.
    samples: tuple[Sample, ...] = ()


class MetricsShown(Frame, frozen=True):
    """The child's metrics."""

    question: int
    samples: list[Sample]


class EntrustedLease(msgspec.Struct, frozen=True):
    """One lease that the supervisor is to keep. Its envelope stays with the child."""

    number: int
    lease: Lease
    token: Token | None
    #: False: its handler has begun, and its lease must not be renewed.
    is_renewed: bool = True
    first_beat: float | None = None


class Hold(Frame, frozen=True):
    """Keep these leases alive."""

    entries: list[EntrustedLease]


class Begin(Frame, frozen=True):
    """The handler of a waiting message begins; from now on its lease must not be renewed."""

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


class ShowMetrics(Frame, frozen=True):
    """Say your metrics: somebody scrapes them."""

    question: int


class HandedOver(Frame, frozen=True):
    """The latest leases, in the order of the question. None: it is lost."""

    question: int
    leases: list[Lease | None]


class Touched(Frame, frozen=True):
    """The result of a touch; `code` is that of a `TenureError`, or empty if it was renewed."""

    question: int
    code: str = ""
    text: str = ""


class Extended(Frame, frozen=True):
    """Leases that were renewed: number and new deadline, on the monotonic clock of the host."""

    deadlines: list[tuple[int, float]]


class Missed(Frame, frozen=True):
    """Leases that could not be renewed for now."""

    numbers: list[int]
    error: str


class LeaseGone(Frame, frozen=True):
    """The lease is lost."""

    number: int


Keeping = Hold | Begin | HandOver | TouchNow | CheckNow
FromWorker = Arrived | Enlisted | Working | Farewell | MetricsShown | Keeping
News = HandedOver | Touched | Extended | Missed | LeaseGone
ToWorker = Hurry | ShowMetrics | News

from_worker: msgspec.msgpack.Decoder[FromWorker] = msgspec.msgpack.Decoder(FromWorker)
to_worker: msgspec.msgpack.Decoder[ToWorker] = msgspec.msgpack.Decoder(ToWorker)
