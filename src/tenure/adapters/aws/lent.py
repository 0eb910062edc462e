"""What this process was lent: so that a lease needs no second asking for its claim, and `held` can show the bodies.

Only a memory of what the state said; the state decides. Shared by all twins of a broker and its state, and so guarded.
"""

import threading
from collections import OrderedDict
from typing import Any

from tenure.adapters.aws.table import Place, Row
from tenure.adapters.aws.wire import Attributes
from tenure.claim import ClaimRequest
from tenure.lease import Lease
from tenure.settlement import Outcome

#: So many lease calls without an answer are remembered.
_OFFERS = 100


class Held:
    """One lease of this process."""

    __slots__ = ("attributes", "batch", "has_claim", "is_sealed", "is_unanswered", "lease", "outcome", "tries")

    def __init__(self, lease: Lease, batch: str, *, has_claim: bool) -> None:
        """`has_claim`: the claim came with the lease, and nobody asked for it yet."""
        self.lease = lease
        self.batch = batch
        self.has_claim = has_claim
        self.is_sealed = False
        #: What its entry was told, while the queue has not heard of it yet.
        self.outcome: Outcome | None = None
        #: How often its delete was asked for, and whether an answer to that was lost.
        self.tries = 0
        self.is_unanswered = False
        #: Of one that is not ours: what stood beside its body.
        self.attributes: Attributes = {}


class Lent:
    """The leases of this process, by message."""

    def __init__(self) -> None:
        """Nothing was lent yet."""
        self._lock = threading.Lock()
        self._held: dict[str, Held] = {}
        #: How many of each lease call are still held, by owner and request.
        self._batches: dict[tuple[str, str], int] = {}
        #: What lease calls that got no answer were about to lend, by request: nobody else has the bodies.
        self._offered: dict[str, dict[str, Any]] = {}
        #: What was written last about them, for the desks (`desk.py`).
        self.wrote: OrderedDict[Place, Row] = OrderedDict()

    def add(self, leases: list[Lease], batch: str, sealed: frozenset[str]) -> None:
        """One lease call lent these; those in `sealed` are done already."""
        with self._lock:
            for lease in leases:
                held = self._held[lease.id] = Held(lease, batch, has_claim=lease.id not in sealed)
                held.is_sealed = lease.id in sealed
                if lease.id not in sealed:
                    place = (lease.owner, batch)
                    self._batches[place] = self._batches.get(place, 0) + 1

    def offer(self, batch: str, seen: dict[str, Any]) -> None:
        """A lease call is about to lend some of these, by message; remembered until `withdraw`."""
        with self._lock:
            self._offered[batch] = seen
            while len(self._offered) > _OFFERS:
                del self._offered[next(iter(self._offered))]

    def withdraw(self, batch: str) -> None:
        """It is known what the call lent."""
        with self._lock:
            self._offered.pop(batch, None)

    def offered(self, batch: str | None) -> dict[str, Any]:
        """What a call without an answer was about to lend."""
        return self._offered.get(batch or "", {})

    def note(self, id: str, attributes: Attributes) -> None:
        """Keep what stood beside the body of one that is not ours."""
        with self._lock:
            held = self._held.get(id)
            if held is not None:
                held.attributes = attributes

    def get(self, id: str, owner: str, fence: int) -> Held | None:
        """The lease of that owner and fence, if it is ours."""
        held = self._held.get(id)
        return held if held is not None and (held.lease.owner, held.lease.fence) == (owner, fence) else None

    def knows(self, id: str, owner: str) -> bool:
        """Whether `owner` was lent that message here."""
        held = self._held.get(id)
        return held is not None and held.lease.owner == owner

    def take_claim(self, request: ClaimRequest) -> int | None:
        """The fence of the claim that came with the lease, once. None: there is none, ask the state."""
        with self._lock:
            held = self._held.get(request.id)
            if held is None or held.lease.owner != request.owner or not held.has_claim:
                return None
            held.has_claim = False
            return held.lease.fence

    def seal(self, id: str, owner: str) -> None:
        """It is done."""
        with self._lock:
            held = self._held.get(id)
            if held is not None and held.lease.owner == owner:
                held.is_sealed = True

    def drop(self, leases: list[Lease]) -> list[tuple[str, str]]:
        """These are not held any more; the lease calls of which nothing is left, by owner and request."""
        over = []
        with self._lock:
            for lease in leases:
                held = self._held.get(lease.id)
                if held is None or (held.lease.owner, held.lease.fence) != (lease.owner, lease.fence):
                    continue
                if held.is_sealed and held.lease.receipt != lease.receipt:
                    continue  # a copy of it has come back meanwhile, and is still to be deleted
                del self._held[lease.id]
                place = (lease.owner, held.batch)
                if place not in self._batches:
                    continue
                self._batches[place] -= 1
                if not self._batches[place]:
                    del self._batches[place]
                    over.append(place)
        return over
