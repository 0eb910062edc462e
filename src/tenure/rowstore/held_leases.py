"""OwnLease leases: what is lent now, over all queues, as the entries know it.

Found by the batches of each owner (`lease_batches.py`), never by a scan. A look costs one read for the list of
holders, one for each holder, and one read unit of DynamoDB for each message that is held. The times of sweeps stand in
the row that every sweep writes anyhow. Used by `Broker.leases` and by `browsing.py`.
"""

from collections.abc import Sequence

from tenure.broker import MOST_LEASES
from tenure.query import HeldLease, Leases
from tenure.rowstore import lease_batches, returning
from tenure.rowstore.store import Store
from tenure.rules.queue_pattern import matches


async def leases(store: Store, queues: Sequence[str] | None, limit: int) -> Leases:
    """What is held now, soonest deadline first."""
    last, due = await returning.swept_at(store)
    # Filtered after reading: an owner's batches do not say of which queues they are.
    most = limit if queues is None else max(limit, MOST_LEASES)
    found, is_cut = await lease_batches.soonest(store, most) if limit > 0 else ([], False)
    if queues is not None:
        found = [one for one in found if matches(one.entry.queue, queues)]
    now, wall = store.rows.now(), store.table.wall()
    shift = wall - now
    return Leases(
        leases=tuple(_held(store, one, now, shift) for one in found[:limit]),
        is_cut=is_cut or len(found) > limit > 0,
        now=wall,
        last_sweep_at=None if last is None else last + shift,
        next_sweep_at=None if due is None else due + shift,
    )


def _held(store: Store, one: lease_batches.StillLeased, now: float, shift: float) -> HeldLease:
    entry = one.entry
    return HeldLease(
        id=one.id,
        queue=entry.queue,
        task=entry.task or None,
        owner=entry.owner or "",
        fence=entry.fence,
        attempt=entry.attempts + 1,
        # What is lent may be held for `hold_seconds` from that moment on.
        leased_at=entry.hold_until - store.hold_seconds + shift if entry.hold_until else None,
        deadline=entry.deadline + shift,
        deadline_in=entry.deadline - now,
        seconds=entry.seconds,
        beats=entry.beats,
        last_beat_at=entry.beaten + shift if entry.beats else None,
        progress=entry.progress,
        size=entry.size,
        predicted_seconds=entry.predicted,
        has_presence=not entry.lacks_presence,
    )
