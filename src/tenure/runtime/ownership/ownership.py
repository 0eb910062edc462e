"""The three calls, over one broker and one ledger. The package's docstring says what each promises."""

from collections.abc import Callable, Sequence

from tenure.broker import Broker
from tenure.client.claim_check import ClaimCheck
from tenure.clock import Clock
from tenure.foreign import Router
from tenure.lease import Lease
from tenure.runtime.ownership.blob_fetch import BlobFetch
from tenure.runtime.ownership.owned import Concluded, Mine, Owned, Reading, Settled
from tenure.runtime.ownership.routing import Routing
from tenure.runtime.ownership.settler import Settler
from tenure.runtime.ownership.taker import Taker
from tenure.state import Ledger
from tenure.verdict import Verdict


class Ownership:
    """Takes messages and gives them up."""

    def __init__(
        self,
        broker: Broker,
        ledger: Ledger,
        clock: Clock,
        *,
        wall: Callable[[], float],
        has_presence: bool,
        router: Router | None = None,
        max_attempts: int = 1,
        claim_check: ClaimCheck | None = None,
    ) -> None:
        """Take and settle, with or without presence. `wall` is the store's time, by which messages expire.

        A route of `router` that fails is asked again, `max_attempts` times in all. `claim_check` fetches large bodies.
        """
        routing = Routing(router, max_attempts)
        self._taking = Taker(broker, ledger, clock, wall=wall, has_presence=has_presence, routing=routing)
        self._settling = Settler(broker, ledger, claim_check)
        #: `bodies.bring(owned)` fetches a body from the blob store. Its `open` and `run` are the caller's to call.
        self.bodies = BlobFetch(claim_check, broker.traits, clock)

    async def take(
        self, leases: Sequence[Lease], owner: str, own: Callable[[Reading], tuple[Mine, Verdict | None]]
    ) -> list[tuple[Mine, Verdict | None]]:
        """Claim each message.

        None: the caller may work on it. A verdict: the caller may not, and settles it with that verdict.

        `own` turns what was read into the caller's own object, and may refuse the message before anything is claimed;
        `owned` refuses nothing. Work goes on under the claim's fence, `Owned.fence`. An outage raises nothing: messages
        that cannot be claimed are given back.
        """
        return await self._taking.take(leases, owner, own)

    async def settle(self, batch: Sequence[Concluded[Mine]]) -> Settled[Mine]:
        """Seal, then settle. Takes at most the broker's `batch_limit` messages."""
        return await self._settling.settle(batch)


def owned(reading: Reading) -> tuple[Owned, Verdict | None]:
    """Make an `Owned`, for callers that need no object of their own and renew leases only by touching them."""
    return Owned(reading.lease, reading.message, is_routed=reading.is_routed, is_renewed=False), reading.verdict
