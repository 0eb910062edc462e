"""A copy of a message in a physical queue: where it lies, as it is put there, as it is received, and the right to it.

Of one message there may be several copies; which of them counts stands in its entry (`entry.py`). Moved by `queues.py`.
"""

import msgspec

from tenure.adapters.aws.wire import Attribute


class Spot(msgspec.Struct, frozen=True):
    """One physical queue."""

    queue: str
    level: int


class Parcel(msgspec.Struct, frozen=True):
    """A copy of a message to be put into its queue."""

    spot: Spot
    id: str
    body: str
    delay: int = 0
    group: str = ""
    dedup: str = ""
    #: What stands beside the body (`wire.py`).
    head: str = ""
    attributes: dict[str, Attribute] = {}


class Copy(msgspec.Struct, frozen=True):
    """A copy that was received: it stays hidden until its visibility ends."""

    spot: Spot
    #: The logical id. None: it does not say.
    id: str | None
    sqs_id: str
    receipt: str
    body: str
    group: str | None
    receives: int
    #: Monotonic, and not later than the service's: until then nobody else is given it.
    hidden_until: float
    #: What stands beside the body: ours (`wire.py`), and other people's.
    head: str = ""
    attributes: dict[str, Attribute] = {}
    #: Wall time, by the service.
    sent_at: float | None = None


class Receipt(msgspec.Struct, frozen=True):
    """A right to speak about a copy, and for how long it is to be hidden."""

    spot: Spot
    receipt: str
    seconds: float = 0.0
