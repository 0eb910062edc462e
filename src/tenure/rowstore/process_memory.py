"""What this process was lent: so that a lease needs no second asking for its claim, and `held` can show the bodies.

Only a memory of what the state said; the state decides. Shared by all twins of a broker and its state, and so guarded.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import Any

import msgspec

from tenure.claim import ClaimRequest
from tenure.delivery_queue import PhysicalQueue
from tenure.lease import Lease
from tenure.rowstore.wire import Attributes
from tenure.settlement import Outcome
from tenure.table import Row, RowKey

#: So many lease calls without an answer are remembered.
_OFFERS = 100


class OwnLease:
    """One lease of this process."""

    __slots__ = (
        "attributes",
        "batch",
        "earlier_receipts",
        "has_claim",
        "hidden_until",
        "is_in_lot",
        "is_sealed",
        "is_unanswered",
        "lease",
        "outcome",
        "told",
        "tries",
    )

    def __init__(self, lease: Lease, batch: str, *, has_claim: bool) -> None:
        """`has_claim`: the claim came with the lease, and nobody asked for it yet."""
        self.lease = lease
        self.batch = batch
        self.has_claim = has_claim
        #: Until then its copy is hidden (monotonic), where that is of interest.
        self.hidden_until = 0.0
        #: Those that its copy had before, where hiding it renews the receipt.
        self.earlier_receipts: set[object] = set()
        #: Whether it counts for its lease call: what was done before it was lent does not.
        self.is_in_lot = has_claim
        self.is_sealed = False
        #: What its entry was told, while the queue has not heard of it yet.
        self.outcome: Outcome | None = None
        #: Size and predicted seconds, as the last touch told them.
        self.told: tuple[float | None, float | None] = (None, None)
        #: How often its delete was asked for, and whether an answer to that was lost.
        self.tries = 0
        self.is_unanswered = False
        #: Of one that is not ours: what stood beside its body.
        self.attributes: Attributes = {}


class ProcessMemory:
    """The leases of this process, by message."""

    def __init__(self) -> None:
        """Nothing was lent yet."""
        self._lock = threading.Lock()
        self._held: dict[str, OwnLease] = {}
        #: How many of each lease call are still held, by owner and request.
        self._batches: dict[tuple[str, str], int] = {}
        #: What lease calls that got no answer were about to lend, by request: nobody else has the bodies.
        self._offered: dict[str, dict[str, Any]] = {}
        #: Stores of this process that wait for many queues, by number: called when a copy was put into one.
        self.hearers: dict[int, Callable[[Collection[PhysicalQueue], float], None]] = {}
        #: When names were last noted here, by list (`name_list.py`).
        self.noted: dict[str, dict[str, float]] = {"queues": {}, "shelves": {}}
        #: What was written last about them, for `row_changes.py`.
        self.wrote: OrderedDict[RowKey, Row] = OrderedDict()

    def add(self, leases: list[Lease], batch: str, sealed: frozenset[str]) -> None:
        """One lease call lent these; those in `sealed` are done already."""
        with self._lock:
            for lease in leases:
                if lease.id in self._held:  # lost without a word, and lent again
                    self._remove(self._held[lease.id])
                held = self._held[lease.id] = OwnLease(lease, batch, has_claim=lease.id not in sealed)
                held.is_sealed = lease.id in sealed
                if held.is_in_lot:
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

    def get(self, id: str, owner: str, fence: int) -> OwnLease | None:
        """The lease of that owner and fence, if it is ours."""
        held = self._held.get(id)
        return held if held is not None and (held.lease.owner, held.lease.fence) == (owner, fence) else None

    def hidden_until(self, lease: Lease) -> float:
        """Until when the copy of a lease is hidden. 0: that is not known here."""
        held = self.get(lease.id, lease.owner, lease.fence)
        return 0.0 if held is None else held.hidden_until

    def renew(self, lease: Lease, receipt: str, until: float) -> None:
        """The copy of a lease has another receipt from now on, and is hidden until then."""
        held = self.get(lease.id, lease.owner, lease.fence)
        if held is not None:
            if receipt != held.lease.receipt:
                held.earlier_receipts |= {held.lease.receipt, lease.receipt}
                held.lease = msgspec.structs.replace(held.lease, receipt=receipt)
            held.hidden_until = until

    def learn(self, id: str, owner: str, fence: int, receipt: str) -> None:
        """The row of a message says which receipt its copy has: another process may have hidden it."""
        held = self.get(id, owner, fence)
        if held is None or receipt == held.lease.receipt or receipt in held.earlier_receipts:
            return
        held.earlier_receipts.add(held.lease.receipt)
        held.lease = msgspec.structs.replace(held.lease, receipt=receipt)

    def knows(self, id: str, owner: str) -> bool:
        """Whether `owner` was lent that message here."""
        held = self._held.get(id)
        return held is not None and held.lease.owner == owner

    def tell(self, id: str, owner: str, told: tuple[float | None, float | None]) -> None:
        """Keep what a touch told of the work until the claim is renewed: that write takes it along."""
        held = self._held.get(id)
        if held is not None and held.lease.owner == owner:
            held.told = told

    def told(self, id: str, owner: str) -> tuple[float | None, float | None] | None:
        """What the last touch told of the work. None: it is not held here."""
        held = self._held.get(id)
        return held.told if held is not None and held.lease.owner == owner else None

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
                over += self._remove(held)
        return over

    def lose(self, leases: list[Lease]) -> list[tuple[str, str]]:
        """These are others' now: as `drop`, but for those that the queue is still to be told about."""
        held = [self.get(lease.id, lease.owner, lease.fence) for lease in leases]
        return self.drop([one.lease for one in held if one is not None and one.outcome is None and not one.is_sealed])

    def lose_run(self, id: str, owner: str) -> None:
        """The claim of a run was lost: nothing more will be said of its lease. Its batch is found empty by a sweep."""
        held = self._held.get(id)
        if held is not None and held.lease.owner == owner:
            self.lose([held.lease])

    def _remove(self, held: OwnLease) -> list[tuple[str, str]]:
        """Forget one; its lease call, if that was the last of it."""
        del self._held[held.lease.id]
        place = (held.lease.owner, held.batch)
        if not held.is_in_lot or place not in self._batches:
            return []
        self._batches[place] -= 1
        if self._batches[place]:
            return []
        del self._batches[place]
        return [place]
