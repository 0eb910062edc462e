"""Lending: leases ready messages, and renews leases.

Before: `sending.py`, or a return. After: `settling.py`, or `returning.py` if the lease ends without a settle.
"""

from collections.abc import Sequence

import msgspec

from tenure.adapters.memory import limiting
from tenure.adapters.memory.entry import MemoryEntry
from tenure.adapters.memory.store import MemoryDatabase, MemoryQueue
from tenure.adapters.memory.traits import clamped_lease
from tenure.lease import Lease, LeaseRequest, LeaseState
from tenure.message import MessageState
from tenure.owner import retired
from tenure.rules.queue_pattern import has_pattern, served_of
from tenure.rules.rotation import next_source


def lease(store: MemoryDatabase, request: LeaseRequest, now: float) -> list[Lease]:
    """Lend up to `want`. All of one call share a fence, which is higher than every one before."""
    if request.owner in store.members.banned:
        raise retired(request.owner)
    want = min(request.want, store.traits.batch_limit)
    fence, wall = store.next_fence(), store.clock.wall()
    lent: list[Lease] = []
    room = store.traits.lease_byte_limit
    for queue in _served(store, request):
        store.promote(queue, now)
        line = store.lines[queue]
        line.turn = store.next_turn()
        most = limiting.allowed(store, queue, request, want - len(lent), now) + len(lent) if request.limits else want
        while len(lent) < most and (entry := _next(store, line)) is not None:
            room -= len(entry.envelope)
            if lent and room < 0:
                return lent
            _lend(store, entry, request, fence, now)
            entry.leased_at = wall
            line.lent += 1
            if request.limits:
                limiting.take(store, queue, request, now)
            lent.append(entry.as_lease(now))
        if len(lent) >= want:
            break
    return lent


def _served(store: MemoryDatabase, request: LeaseRequest) -> list[str]:
    """The queues to ask: those that have something. The one comes first that was not served for the longest time."""
    if has_pattern(request.queues):
        queues = served_of(store.busy, request.queues, request.excluded)
    else:
        queues = [one for one in request.queues if one in store.busy and one not in request.excluded]
    return sorted(queues, key=lambda queue: store.busy[queue].turn)


def _next(store: MemoryDatabase, line: MemoryQueue) -> MemoryEntry | None:
    """The message to lend next, by `rules/rotation.py`."""
    levels = sorted(line.ready, reverse=True)
    heads = [head for level in levels if (head := line.ready[level].first()) is not None]
    if not heads:
        return None
    _place, id = next_source(heads, line.lent + 1, store.traits.fairness)
    return store.entries[id]


def _lend(store: MemoryDatabase, entry: MemoryEntry, request: LeaseRequest, fence: int, now: float) -> None:
    entry.owner, entry.fence, entry.request_id = request.owner, fence, request.request_id
    entry.seconds = _seconds(store, entry, request)
    entry.deadline = now + entry.seconds
    hold = store.traits.max_hold_seconds
    entry.hold_until = None if hold is None else now + hold
    entry.has_presence, entry.is_graced = request.has_presence, False
    entry.beats, entry.last_beat_at, entry.size, entry.predicted_seconds = 0, None, None, None
    entry.deliveries += 1
    store.place(entry, MessageState.LEASED, now)


def _seconds(store: MemoryDatabase, entry: MemoryEntry, request: LeaseRequest) -> float:
    """Return the lease's length: the message's own, else the task's, else the request's."""
    seconds = request.seconds
    if store.traits.lease_per_message:
        own = entry.overrides.lease_seconds
        seconds = request.seconds_by_task.get(entry.task, seconds) if own is None else own
    return clamped_lease(store.traits, seconds)


def touch(store: MemoryDatabase, leases: Sequence[Lease], now: float) -> list[Lease]:
    """Set each deadline to now + seconds. A deadline never becomes earlier, and touches do not add up."""
    return [_touch(store, lease, now) for lease in leases]


def _touch(store: MemoryDatabase, lease: Lease, now: float) -> Lease:
    entry = store.entries.get(lease.id)
    if entry is None or not entry.is_held_under(lease):
        return msgspec.structs.replace(lease, state=LeaseState.LOST)
    until = now + clamped_lease(store.traits, lease.seconds)
    if entry.hold_until is not None:
        until = min(until, entry.hold_until)
    store.date(entry, until if entry.deadline is None else max(entry.deadline, until))
    entry.is_graced = False
    entry.beats, entry.last_beat_at = entry.beats + 1, store.clock.wall()
    entry.size = entry.size if lease.size is None else lease.size
    told = lease.predicted_seconds
    entry.predicted_seconds = entry.predicted_seconds if told is None else told
    return msgspec.structs.replace(lease, state=LeaseState.HELD, deadline=max(lease.deadline, until))


def held(store: MemoryDatabase, owner: str, request_id: str | None, now: float) -> list[Lease]:
    """Return the leases that `owner` holds; with `request_id`, only those of that call of `lease`."""
    entries = store.held_by(owner)
    return [entry.as_lease(now) for entry in entries if request_id in (None, entry.request_id)]
