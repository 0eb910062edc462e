"""A remote delivery: one message that a client works on over HTTP, as the statistics and events of a worker see it."""

from tenure.claim import Token
from tenure.lease import Lease
from tenure.message import Message
from tenure.runtime.delivery import Delivery
from tenure.runtime.ownership.owned import Reading
from tenure.verdict import Verdict


class RemoteDelivery(Delivery):
    """One message leased to a client. Its run began with the lease, and ends with the client's outcome."""

    __slots__ = ("is_repeated",)

    def __init__(
        self,
        lease: Lease,
        message: Message | None,
        *,
        is_routed: bool = False,
        started: float | None = None,
        token: Token | None = None,
    ) -> None:
        """Begin with the broker's lease. `started`: when it was leased, on our own clock."""
        super().__init__(lease, message, None, is_routed=is_routed, token=token)
        self.started = started
        #: It is held for a client that may touch it, not by a heartbeat of ours.
        self.is_renewed = False
        #: An earlier settle got no answer: it may have taken effect.
        self.is_repeated = False

    def forget_body(self) -> None:
        """Drop a large body that was fetched: the client has it now."""
        self.fetched = None

    def conclude(self, verdict: Verdict, now: float) -> None:
        """Note what the client said, and when."""
        self.verdict = verdict
        self.finished = now


def received(reading: Reading, started: float) -> tuple[RemoteDelivery, Verdict | None]:
    """Make a delivery of what was read."""
    made = RemoteDelivery(reading.lease, reading.message, is_routed=reading.is_routed, started=started)
    return made, reading.verdict
