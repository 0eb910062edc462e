"""Holding: what is lent stays lent for as long as its holder says so; and who holds what, for whoever got no answer.

First the entry's deadline, by compare-and-set, then the copy's timer. Before: `lending.py`. After: `settling.py`.
"""

import contextlib
import math
from collections.abc import Sequence

import msgspec

from tenure.errors import BrokerUnavailable
from tenure.lease import Lease, LeaseState
from tenure.message import MessageState
from tenure.rowstore import lease_batches, renewed_receipts
from tenure.rowstore.entry import Entry
from tenure.rowstore.process_memory import OwnLease
from tenure.rowstore.receipts import receipt_of
from tenure.rowstore.row_changes import ENTRY, Change, entry_place
from tenure.rowstore.seen_copy import SeenCopy, lease_of
from tenure.rowstore.store import Store
from tenure.rowstore.traits import SLACK

#: A deadline that is off by less than this part of its lease is the same: to write it anew would be sold again.
_SAME = 0.01


async def touch(store: Store, leases: Sequence[Lease]) -> list[Lease]:
    """Set each deadline to now + seconds. It never adds up, never shortens, never takes a message back.

    A beat is counted in the same write. A worker renews the claim first (`ledger.py`), which counts it too.
    """
    before = store.clock.monotonic()
    granted: dict[int, float] = {}

    def decide(number: int, entry: Entry | None) -> Change[LeaseState]:
        lease = leases[number]
        if entry is not None and entry.is_sealed:
            # Done, and still to be deleted by us; or deleted by now.
            granted[number] = lease.seconds
            is_ours = store.memory.get(lease.id, lease.owner, lease.fence) is not None
            return Change(LeaseState.HELD if is_ours else LeaseState.LOST)
        if entry is None or not entry.is_held_under(lease):
            return Change(LeaseState.LOST)
        now = store.rows.latest()
        until = min(now + store.clamped(lease.seconds), entry.hold_until or math.inf)
        told = (lease.size, lease.predicted_seconds)
        store.memory.tell(lease.id, lease.owner, told)
        if entry.is_renewed and entry.deadline > until - _SAME * lease.seconds and not entry.graced:
            # Its claim was renewed a moment ago, and the lease with it: the same beat. What is new goes with the next.
            granted[number] = entry.deadline - now
            return Change(LeaseState.HELD)
        entry.deadline, entry.graced = max(entry.deadline, until), 0
        entry.beat(store.rows.now(), with_claim=False)
        entry.size, entry.predicted = told
        if entry.claim is not None and entry.claim.is_run_under(lease.owner, entry.claim.fence):
            entry.claim.until = max(entry.claim.until, entry.deadline)
        granted[number] = entry.deadline - now
        return Change(LeaseState.HELD, entry)

    states = await store.rows.change(ENTRY, [entry_place(lease.id) for lease in leases], decide)
    touched: list[Lease] = []
    hides: dict[int, float] = {}
    for number, (lease, state) in enumerate(zip(leases, states, strict=True)):
        deadline = lease.deadline
        if state is LeaseState.HELD:
            deadline = max(deadline, before + granted[number])
            hides[number] = granted[number] + SLACK
        touched.append(msgspec.structs.replace(lease, state=state, deadline=deadline))
    over = store.memory.lose([lease for lease in touched if lease.state is LeaseState.LOST])
    with contextlib.suppress(BrokerUnavailable):  # what stays is found empty by a sweep
        await lease_batches.drop(store, over)
    renewed = await renewed_receipts.hide_leased(store, [touched[number] for number in hides], list(hides.values()))
    for number, lease in zip(hides, renewed, strict=True):
        touched[number] = lease
    return touched


async def held(store: Store, owner: str, request_id: str | None) -> list[Lease]:
    """What `owner` holds; with the bodies of what this process was lent itself."""
    offered: dict[str, SeenCopy] = store.memory.offered(request_id)
    ids = [*offered, *(id for _, batch in await lease_batches.of(store, owner) for id in batch.ids)]
    entries = await store.rows.get(ENTRY, [entry_place(id) for id in ids])
    now, clock = store.rows.latest(), store.clock.monotonic()
    leases: list[Lease] = []
    for id, entry in dict(zip(ids, entries, strict=True)).items():
        if entry is None or entry.state != MessageState.LEASED or entry.owner != owner:
            continue
        known = store.memory.get(id, owner, entry.fence)
        if known is None and request_id == entry.request and id in offered and not entry.is_sealed:
            # ProcessMemory by a call that got no answer: only here is its body.
            lease = lease_of(offered[id], entry, owner, clock + entry.deadline - now - entry.seconds)
            store.memory.add([lease], entry.request, frozenset())
            if offered[id].message is None:
                store.memory.note(id, offered[id].copy.attributes)
            leases.append(lease)
            continue
        if request_id not in (None, entry.request) or (entry.is_sealed and known is None):
            continue
        leases.append(_lease(id, entry, owner, known, clock + entry.deadline - now))
    return leases


async def find(store: Store, id: str, owner: str, fence: int) -> Lease | None:
    """The lease of that name, from the message's entry; its envelope is empty unless this process was lent it.

    An entry is found by the id alone, so that a queue is no hint here. What is sealed has ended for everybody but the
    process that sealed it and is still to delete it.
    """
    (entry,) = await store.rows.get(ENTRY, [entry_place(id)])
    if entry is None or entry.state != MessageState.LEASED or (entry.owner, entry.fence) != (owner, fence):
        return None
    known = store.memory.get(id, owner, fence)
    if entry.is_sealed and known is None:
        return None
    return _lease(id, entry, owner, known, store.clock.monotonic() + entry.deadline - store.rows.latest())


def _lease(id: str, entry: Entry, owner: str, known: OwnLease | None, deadline: float) -> Lease:
    """A lease as its entry has it, with what only this process knows of it."""
    raw = b"" if known is None else known.lease.envelope
    receipt = receipt_of(entry.level, entry.receipt)
    lease = Lease(
        id, entry.queue, raw, owner, entry.fence, receipt, entry.seconds, deadline, entry.counters,
        size=entry.size, predicted_seconds=entry.predicted,
    )  # fmt: skip
    if known is None:
        return lease
    was = known.lease
    return msgspec.structs.replace(lease, attributes=was.attributes, sent_at=was.sent_at, generation=was.generation)
