"""Lending: messages go out under a lease, and leases are kept alive.

Before: `sending.py`, or a return. After: `settling.py`, or `returning.py` if the holder does not come back.
"""

from collections.abc import Sequence

import msgspec

from tenure.adapters.memory.entry import Entry
from tenure.adapters.memory.store import Line, Store
from tenure.adapters.memory.traits import clamped_lease
from tenure.lease import Lease, LeaseRequest, LeaseState
from tenure.message import MessageState
from tenure.owner import retired
from tenure.rules.queue_pattern import has_pattern, served_of


def lease(store: Store, request: LeaseRequest, now: float) -> list[Lease]:
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
        while len(lent) < want and (entry := _next(store, line)) is not None:
            room -= len(entry.envelope)
            if lent and room < 0:
                return lent
            _lend(store, entry, request, fence, now)
            entry.leased_at = wall
            line.lent += 1
            lent.append(entry.as_lease(now))
        if len(lent) >= want:
            break
    return lent


def _served(store: Store, request: LeaseRequest) -> list[str]:
    """The queues to ask: those that have something. The one comes first that was not served for the longest time."""
    if has_pattern(request.queues):
        queues = served_of(store.busy, request.queues, request.excluded)
    else:
        queues = [one for one in request.queues if one in store.busy and one not in request.excluded]
    return sorted(queues, key=lambda queue: store.busy[queue].turn)


def _next(store: Store, line: Line) -> Entry | None:
    """The message to lend next: of the highest priority, and of that the one that came first.

    Every `fairness`-th one is the first-come of all lower priorities instead, so that none starves.
    """
    levels = sorted(line.ready, reverse=True)
    heads = [head for level in levels if (head := line.ready[level].first()) is not None]
    if not heads:
        return None
    fairness = store.traits.fairness
    if fairness and (line.lent + 1) % fairness == 0 and len(heads) > 1:
        _place, id = min(heads[1:])
    else:
        _place, id = heads[0]
    return store.entries[id]


def _lend(store: Store, entry: Entry, request: LeaseRequest, fence: int, now: float) -> None:
    entry.owner, entry.fence, entry.request_id = request.owner, fence, request.request_id
    entry.seconds = _seconds(store, entry, request)
    entry.deadline = now + entry.seconds
    hold = store.traits.max_hold_seconds
    entry.hold_until = None if hold is None else now + hold
    entry.has_presence, entry.is_graced = request.has_presence, False
    entry.beats, entry.last_beat_at, entry.size, entry.predicted_seconds = 0, None, None, None
    entry.deliveries += 1
    store.place(entry, MessageState.LEASED, now)


def _seconds(store: Store, entry: Entry, request: LeaseRequest) -> float:
    """How long: the message's own wish, else the task's, else the request's."""
    seconds = request.seconds
    if store.traits.lease_per_message:
        own = entry.overrides.lease_seconds
        seconds = request.seconds_by_task.get(entry.task, seconds) if own is None else own
    return clamped_lease(store.traits, seconds)


def touch(store: Store, leases: Sequence[Lease], now: float) -> list[Lease]:
    """Set each deadline to now + seconds. It never adds up, never shortens, never takes a message back."""
    return [_touch(store, lease, now) for lease in leases]


def _touch(store: Store, lease: Lease, now: float) -> Lease:
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


def held(store: Store, owner: str, request_id: str | None, now: float) -> list[Lease]:
    """What `owner` holds; with `request_id`, what that one call of `lease` lent."""
    entries = store.held_by(owner)
    return [entry.as_lease(now) for entry in entries if request_id in (None, entry.request_id)]
