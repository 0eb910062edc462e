"""One message that we own, from its lease to its settle, and the arguments and answers of the three calls."""

from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec

from tenure.claim import Token
from tenure.errors import BrokerUnavailable
from tenure.lease import Lease
from tenure.message import Message
from tenure.settlement import Settlement
from tenure.verdict import Verdict

Mine = TypeVar("Mine", bound="Owned")

#: The code of what cannot be run here: a task that no live worker knows, or an envelope of a newer Tenure.
UNKNOWN_TASK = "unknown_task"


class Reading(msgspec.Struct, frozen=True, gc=False):
    """The result of reading a lease."""

    #: From its first touch on it lasts as long as the message asks.
    lease: Lease
    #: None: it cannot be read.
    message: Message | None
    #: Tenure did not send it: a route of the app says what it is.
    is_routed: bool = False
    #: What becomes of it at once. None: it may be worked on, as far as can be read.
    verdict: Verdict | None = None


class Owned:
    """One message leased to us. `taker.py` writes its claim, `blob_fetch.py` its body, `settler.py` its end.

    A caller may add fields of its own, as the worker's `Delivery` does.
    """

    __slots__ = (
        "claim_ended", "claim_lost", "fence", "fetched", "id", "is_renewed", "is_routed", "key_send_id", "lease",
        "message", "queue", "sealed", "token",
    )  # fmt: skip

    def __init__(  # by position too: for every message the worker calls it so, because that is faster
        self,
        lease: Lease,
        message: Message | None = None,
        is_routed: bool = False,  # noqa: FBT001, FBT002
        is_renewed: bool = True,  # noqa: FBT001, FBT002
        token: Token | None = None,
    ) -> None:
        """Begin with the broker's lease. `token`: it came with its claim, and the ledger is not asked again."""
        # Written here alone.
        self.id = lease.id
        self.queue = lease.queue
        #: As it was lent. The heartbeat has the latest one, where there is a heartbeat.
        self.lease = lease
        #: As it was sent. None: it cannot be read.
        self.message = message
        #: Tenure did not send it: a route of the app says what it is.
        self.is_routed = is_routed
        #: False: no heartbeat renews its lease while it is worked on.
        self.is_renewed = is_renewed
        # Written by `taker.py`.
        #: Of the claim where there is one, else of the lease.
        self.fence = lease.fence if token is None else token.fence
        #: By the claim of its key: which send its run belongs to. Empty: its own.
        self.key_send_id = "" if token is None else token.send_id
        #: Proof of the claim.
        self.token = token
        # Written by `blob_fetch.py`.
        #: The message with its body, where that lay in the blob store.
        self.fetched: Message | None = None
        # Written by `settler.py`.
        #: It was sealed or released: from here on it is not renewed.
        self.claim_ended = False
        #: The ledger says that another owner has the claim: nothing may be settled.
        self.claim_lost = False
        #: The ledger has it as done: whatever the broker says after that, it is completed.
        self.sealed = False

    @property
    def claim(self) -> Token | None:
        """The claim to renew, seal or release. None: there is no claim, or no longer."""
        return None if self.claim_ended else self.token

    @property
    def whole(self) -> Message | None:
        """The message with its body."""
        return self.fetched or self.message


class Concluded(msgspec.Struct, Generic[Mine], frozen=True, gc=False):
    """One message to settle: its verdict and its latest lease."""

    owned: Mine
    lease: Lease
    verdict: Verdict
    #: How long it was worked on. None: it was not, or that is not known.
    seconds: float | None = None
    #: It was tried before and no answer came, so it may have taken effect.
    is_repeated: bool = False


class Settled(msgspec.Struct, Generic[Mine], frozen=True, gc=False):
    """The result of settling a batch. Each message is in exactly one of the two fields."""

    #: How the settle ended. None: nothing was settled, because the lease or the claim is lost.
    settlements: Mapping[Mine, Settlement | None]
    #: The caller keeps these: it renews their leases, and tries again.
    open: list[Concluded[Mine]]
    #: Why they are open. None: one of several spoils the batch, so they are to be tried one at a time; or it was the
    #: only one, and goes to the dead letters by the verdict that it has now.
    outage: BrokerUnavailable | None = None
