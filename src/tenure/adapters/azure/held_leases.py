"""Who holds what: a lease by its name, and a list of all leases. Nothing here changes anything.

Everything is told by the lives (`entry.py`). One lease is one look-up. The list is one query over the lives of a part,
of which the service returns those that are leased, a thousand to a request; what is waiting, and what is completed, has
no life and is not read. Lives of dead and delayed messages are passed over by the service. The sweeps are told by the
row that each sweep writes anyway.
"""

import asyncio
import heapq
from collections.abc import AsyncIterator, Sequence

from tenure.adapters.azure.entry import BRIEF, Life, read_life
from tenure.adapters.azure.lending import lease_of
from tenure.adapters.azure.queue_filter import of_queues
from tenure.adapters.azure.rows import Row
from tenure.adapters.azure.store import COMMON, Store
from tenure.adapters.azure.where import EQ
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.query import HeldLease, Leases
from tenure.rules.queue_pattern import matches


async def find(store: Store, id: str, owner: str, fence: int) -> Lease | None:
    """The lease that `owner` has on a message under `fence`. None: it has ended."""
    now, local = store.timeline.latest(), store.clock.monotonic()
    kept = await store.find(id)
    if kept is None or kept.life.state is not MessageState.LEASED:
        return None
    life = kept.life
    if (life.owner, life.fence) != (owner, fence):
        return None
    raw = await store.envelope(kept)
    return lease_of(kept, raw, local + (now if life.deadline is None else life.deadline) - now)


async def leases(store: Store, queues: Sequence[str] | None, limit: int) -> Leases:
    """What is held now, soonest deadline first. A thousand leases are one request; the bodies are not read."""
    swept, found = await asyncio.gather(store.rows.get(COMMON, "swept"), _soonest(store, queues, limit))
    now, wall = store.timeline.now(), store.wall()
    last, following = _sweeps(swept)
    return Leases(
        leases=tuple(_told(life, now, wall) for life in found[:limit]),
        is_cut=len(found) > limit,
        now=wall,
        last_sweep_at=None if last is None else last - now + wall,
        next_sweep_at=None if following is None else following - now + wall,
    )


async def _soonest(store: Store, queues: Sequence[str] | None, limit: int) -> list[Life]:
    """Those that end first, and one more if there is one."""
    if limit <= 0:
        return []
    parts = await asyncio.gather(*(_of_part(store, part, queues, limit + 1) for part in store.parts))
    return heapq.nsmallest(limit + 1, (life for part in parts for life in part), key=_order)


async def _of_part(store: Store, part: str, queues: Sequence[str] | None, most: int) -> list[Life]:
    found: list[Life] = []
    async for life in _leased(store, part, queues):
        found.append(life)
        if len(found) >= 2 * most:
            found = heapq.nsmallest(most, found, key=_order)
    return found


async def _leased(store: Store, part: str, queues: Sequence[str] | None) -> AsyncIterator[Life]:
    where = EQ("State", MessageState.LEASED.value)
    named = of_queues(queues)
    async for row in store.rows.between(part, "m:", "m;", where & named if named else where, only=BRIEF):
        life = read_life(row).life
        if queues is None or matches(life.queue, queues):
            yield life


def _order(life: Life) -> tuple[float, str]:
    return life.deadline or 0.0, life.id


def _sweeps(row: Row | None) -> tuple[float | None, float | None]:
    """When the last sweep was, and when the next is due. An older version wrote no interval."""
    if row is None:
        return None, None
    at, interval = float(row.fields["At"]), row.fields.get("Interval")
    return at, None if interval is None else at + float(interval)


def _told(life: Life, now: float, wall: float) -> HeldLease:
    deadline = now if life.deadline is None else life.deadline  # one that was lent without gets its own from a sweep
    return HeldLease(
        id=life.id,
        queue=life.queue,
        task=life.task or None,
        owner=life.owner or "",
        fence=life.fence,
        attempt=life.attempts + 1,
        leased_at=None if life.leased_at is None else life.leased_at - now + wall,
        deadline=deadline - now + wall,
        deadline_in=deadline - now,
        seconds=life.seconds,
        beats=life.beats,
        last_beat_at=None if life.last_beat is None else life.last_beat - now + wall,
        progress=life.progress,
        size=life.size,
        predicted_seconds=life.predicted_seconds,
        has_presence=not life.lacks_presence,
    )
