"""Returning: puts messages back whose lease was not settled.

`sweep` returns what is overdue; `retire` returns everything of a dead owner. Before: `lending.py`. After: the message
is in its queue again at its old position, or a dead letter.
"""

from tenure.adapters.memory.entry import MemoryEntry
from tenure.adapters.memory.queues import forget_empty
from tenure.adapters.memory.settling import bury, put_back
from tenure.adapters.memory.store import MemoryDatabase
from tenure.broker import SweepRequest, Swept
from tenure.record import Ending
from tenure.rules.lapse import lapse


def sweep(store: MemoryDatabase, request: SweepRequest, now: float) -> Swept:
    """Return overdue leases, oldest deadline first. After an outage, leases get a fresh window (`Swept.grace`)."""
    outage = _was_outage(store, request, now)
    store.last_sweep, store.sweep_seconds = now, request.interval_seconds
    grace = outage and _grant_grace(store, now)
    adopted = _adopt(store, now + request.lease_seconds)
    returned: list[str] = []
    dead: list[str] = []
    queues: dict[str, str] = {}
    for entry in _overdue(store, request.limit, now):
        (returned if _return_overdue(store, entry, request, now) else dead).append(entry.id)
        queues[entry.id] = entry.queue
    forget_empty(store, now)
    return Swept(returned=tuple(returned), dead=tuple(dead), adopted=adopted, grace=grace, queues=queues)


def _was_outage(store: MemoryDatabase, request: SweepRequest, now: float) -> bool:
    """Whether no sweep ran for two intervals, so that holders may have been unable to renew.

    A first sweep cannot know how long that was. It matters only if something is leased.
    """
    if not store.by_owner:
        return False
    return store.last_sweep is None or now - store.last_sweep > 2 * request.interval_seconds


def _grant_grace(store: MemoryDatabase, now: float) -> bool:
    """A fresh window for each lease that had none since it was touched; whether any was given."""
    grace = False
    for held in store.by_owner.values():
        for entry in held.values():
            if entry.deadline is not None and not entry.is_graced and entry.deadline < now + entry.seconds:
                store.date(entry, now + entry.seconds)
                entry.is_graced = grace = True
    return grace


def _adopt(store: MemoryDatabase, deadline: float) -> tuple[str, ...]:
    """Give a deadline to messages that are leased without one. Otherwise they would never come back."""
    adopted = tuple(sorted(store.undated))
    for id in adopted:
        store.date(store.entries[id], deadline)
    return adopted


def _overdue(store: MemoryDatabase, limit: int, now: float) -> list[MemoryEntry]:
    """Up to `limit` messages whose deadline is past. They leave the index of deadlines here."""
    found: list[MemoryEntry] = []
    while len(found) < limit and (first := store.deadlines.first()) and first[0][0] < now:
        found.append(store.entries[first[1]])
        store.deadlines.remove(first[1])
    return found


def _return_overdue(store: MemoryDatabase, entry: MemoryEntry, request: SweepRequest, now: float) -> bool:
    """Count what happened, and move the message. True: it is in its queue again; False: it is dead."""
    limit = request.max_attempts if entry.overrides.max_attempts is None else entry.overrides.max_attempts
    lapsed = lapse(
        entry.counters,
        owner=entry.owner,
        has_presence=entry.has_presence,
        was_touched=entry.beats > 0,
        max_attempts=limit,
        at=store.clock.wall(),
    )
    entry.attempts += lapsed.attempts
    entry.lost += lapsed.lost
    entry.history.extend(lapsed.endings)
    entry.reason = lapsed.reason or entry.reason
    if lapsed.is_dead and lapsed.reason is not None:
        bury(store, entry, lapsed.reason, now)
    else:
        put_back(store, entry, 0.0, now)
    return not lapsed.is_dead


def retire(store: MemoryDatabase, owner: str, now: float, limit: int, *, crashed: bool) -> Swept:
    """Ban `owner`, end its claims, and return what it holds. No grace: it is known to be gone."""
    declared = store.members.ban(owner, left=not crashed)
    store.keys.release_owner(owner)
    held = store.held_by(owner)
    entries, more = held[:limit], len(held) > limit
    for entry in entries:
        if crashed:
            entry.crashes += 1
            entry.history.append(Ending(store.clock.wall(), "crashed", owner))
        put_back(store, entry, 0.0, now)
    if not more:
        store.members.finish(owner)
    queues = {entry.id: entry.queue for entry in entries}
    return Swept(returned=tuple(queues), more=more, declared=declared, queues=queues)
