"""Holding: lists the current leases, one by its name or all of them. Nothing here changes anything."""

import heapq
from collections.abc import Sequence

from tenure.adapters.memory.entry import MemoryEntry
from tenure.adapters.memory.store import MemoryDatabase
from tenure.broker import Leases
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.query import HeldLease
from tenure.rules.queue_pattern import matches


def find(store: MemoryDatabase, id: str, owner: str, fence: int, now: float) -> Lease | None:
    """The lease of `owner` on message `id` under `fence`. None: there is none."""
    entry = store.entries.get(id)
    if entry is None or entry.state is not MessageState.LEASED or (entry.owner, entry.fence) != (owner, fence):
        return None
    return entry.as_lease(now)


def leases(store: MemoryDatabase, queues: Sequence[str] | None, limit: int, now: float) -> Leases:
    """The current leases, soonest deadline first, and the last sweep."""
    wall = store.clock.wall()
    found = [
        entry
        for held in store.by_owner.values()
        for entry in held.values()
        if queues is None or matches(entry.queue, queues)
    ]
    first = heapq.nsmallest(limit, found, key=lambda entry: (_deadline(entry, now), entry.seq))
    last_sweep = None if store.last_sweep is None else wall - (now - store.last_sweep)
    return Leases(
        leases=tuple(_held(entry, now, wall) for entry in first),
        is_cut=len(found) > limit,
        now=wall,
        last_sweep_at=last_sweep,
        next_sweep_at=None if last_sweep is None else last_sweep + store.sweep_seconds,
    )


def _deadline(entry: MemoryEntry, now: float) -> float:
    """Lent without a deadline: it ends now, as in `MemoryEntry.as_lease`."""
    return now if entry.deadline is None else entry.deadline


def _held(entry: MemoryEntry, now: float, wall: float) -> HeldLease:
    left = _deadline(entry, now) - now
    return HeldLease(
        id=entry.id,
        queue=entry.queue,
        task=entry.task,
        owner=entry.owner or "",
        fence=entry.fence or 0,
        attempt=entry.attempts + 1,
        leased_at=entry.leased_at,
        deadline=wall + left,
        deadline_in=left,
        seconds=entry.seconds,
        beats=entry.beats,
        last_beat_at=entry.last_beat_at,
        progress=entry.progress,
        size=entry.size,
        predicted_seconds=entry.predicted_seconds,
        has_presence=entry.has_presence,
    )
