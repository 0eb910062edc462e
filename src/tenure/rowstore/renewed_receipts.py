"""Receipts that are renewed: where hiding a copy gives it a new receipt, rows and leases learn of it.

Two queues behave differently. On SQS a receipt stays as it is, and nothing here is called. On Storage Queues each hide
answers a new one. So a copy that is touched is hidden for longer than its lease, and most beats need no hide at all;
what was hidden is written into the row, so that a sweep or a promotion can show the copy. A process that dies in
between leaves an old receipt in the row, and the copy comes back when the queue's own timer ends.

Used by `touch.py`, `lending.py` and `settling.py`.
"""

from collections.abc import Sequence

import msgspec

from tenure.delivery_queue import CopyReceipt
from tenure.lease import Lease
from tenure.rowstore.entry import Entry
from tenure.rowstore.receipts import receipt_from, receipt_of
from tenure.rowstore.row_changes import ENTRY, Change, entry_place
from tenure.rowstore.store import Store

#: A copy that is touched is hidden for so long at least, so that most beats need no hide.
LEAST_SECONDS = 120.0


async def hide(store: Store, ids: Sequence[str], receipts: Sequence[CopyReceipt]) -> dict[str, str]:
    """Hide copies, and write into their rows which receipts they have now; the new ones, by message."""
    told = await store.queue.hide(receipts)
    if not store.queue.traits.renews_receipts:
        return {}
    renewed = {
        id: (one.receipt, receipt)
        for id, one, receipt in zip(ids, receipts, told, strict=True)
        if receipt is not None and one.seconds
    }
    olds = list(renewed.items())

    def decide(number: int, entry: Entry | None) -> Change[None]:
        _, (old, new) = olds[number]
        if entry is None or entry.receipt != old:
            return Change(None)
        entry.receipt = new
        return Change(None, entry)

    await store.rows.change(ENTRY, [entry_place(id) for id in renewed], decide)
    return {id: new for id, (_, new) in renewed.items()}


async def hide_leased(store: Store, leases: Sequence[Lease], seconds: Sequence[float]) -> list[Lease]:
    """Hide the copies of leases until after their ends; the leases, with the receipts that are good now."""
    if not store.queue.traits.renews_receipts:
        await store.queue.hide([receipt_from(lease, more) for lease, more in zip(leases, seconds, strict=True)])
        return list(leases)
    now = store.clock.monotonic()
    due = [
        (lease, max(more, LEAST_SECONDS))
        for lease, more in zip(leases, seconds, strict=True)
        if store.memory.hidden_until(lease) < now + more - 1.0
    ]
    receipts = [current(store, lease, more) for lease, more in due]
    new = await hide(store, [lease.id for lease, _ in due], receipts)
    for lease, more in due:
        if lease.id in new:
            level = current(store, lease).physical.level
            store.memory.renew(lease, receipt_of(level, new[lease.id]), now + more)
    return [_renewed(store, lease, new.get(lease.id)) for lease in leases]


def _renewed(store: Store, lease: Lease, receipt: str | None) -> Lease:
    right = current(store, lease)
    return msgspec.structs.replace(lease, receipt=receipt_of(right.physical.level, receipt or right.receipt))


def learn(store: Store, id: str, entry: Entry) -> None:
    """Note the receipt in a row, before a change takes it away."""
    if store.queue.traits.renews_receipts and entry.owner is not None:
        store.memory.learn(id, entry.owner, entry.fence, receipt_of(entry.level, entry.receipt))


def current(store: Store, lease: Lease, seconds: float = 0.0) -> CopyReceipt:
    """The right to speak about the copy of a lease, also for a holder that shows an earlier version of it."""
    if store.queue.traits.renews_receipts:
        held = store.memory.get(lease.id, lease.owner, lease.fence)
        if held is not None and lease.receipt in held.earlier_receipts:
            return receipt_from(held.lease, seconds)
    return receipt_from(lease, seconds)
