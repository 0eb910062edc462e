"""Returning: messages whose holder does not bring them back.

`sweep` returns what is overdue; `retire` returns everything of an owner that is gone. Before: `lending.py`.
After: the message is in its queue again at its old place, or with the dead letters.
"""

from tenure.adapters.memory.entry import Entry
from tenure.adapters.memory.settling import bury, put_back
from tenure.adapters.memory.store import Store
from tenure.broker import SweepRequest, Swept
from tenure.record import Ending
from tenure.verdict import Reason


def sweep(store: Store, request: SweepRequest, now: float) -> Swept:
    """Return overdue leases, oldest deadline first; or, after an outage, give everybody a fresh window."""
    outage = _was_outage(store, request, now)
    store.last_sweep = now
    if outage:
        _grant_grace(store, now)
        return Swept(grace=True)
    adopted = _adopt(store, now + request.lease_seconds)
    returned: list[str] = []
    dead: list[str] = []
    for entry in _overdue(store, request.limit, now):
        (returned if _return_overdue(store, entry, request, now) else dead).append(entry.id)
    return Swept(returned=tuple(returned), dead=tuple(dead), adopted=adopted)


def _was_outage(store: Store, request: SweepRequest, now: float) -> bool:
    """Nobody swept for two intervals, so holders may have been unable to touch.

    A first sweep cannot know how long nobody did. It matters only if something is lent.
    """
    if not store.by_owner:
        return False
    return store.last_sweep is None or now - store.last_sweep > 2 * request.interval_seconds


def _grant_grace(store: Store, now: float) -> None:
    for held in store.by_owner.values():
        for entry in held.values():
            if entry.deadline is not None:
                store.date(entry, max(entry.deadline, now + entry.seconds))


def _adopt(store: Store, deadline: float) -> tuple[str, ...]:
    """Give a deadline to what is lent without one: it would never come back."""
    adopted = tuple(sorted(store.undated))
    for id in adopted:
        store.date(store.entries[id], deadline)
    return adopted


def _overdue(store: Store, limit: int, now: float) -> list[Entry]:
    """Up to `limit` messages whose deadline is past. They leave the index of deadlines here."""
    found: list[Entry] = []
    while len(found) < limit and (first := store.deadlines.first()) and first[0][0] < now:
        found.append(store.entries[first[1]])
        store.deadlines.remove(first[1])
    return found


def _return_overdue(store: Store, entry: Entry, request: SweepRequest, now: float) -> bool:
    """Count what happened, and move the message. True: it is in its queue again; False: it is dead."""
    wall = store.clock.wall()
    if entry.owner in store.members.joined:
        # A worker with presence is not known to have failed; only its lease ended unseen.
        entry.lost += 1
        entry.history.append(Ending(wall, "lost", entry.owner))
        put_back(store, entry, 0.0, now)
        return True
    entry.attempts += 1
    entry.reason = Reason("lease_lapsed", f"{entry.owner} let its lease of {entry.seconds:g} s lapse")
    entry.history.append(Ending(wall, "failed", entry.owner, entry.reason))
    limit = request.max_attempts if entry.overrides.max_attempts is None else entry.overrides.max_attempts
    if entry.attempts < limit:
        put_back(store, entry, 0.0, now)
        return True
    text = f"{entry.attempts} of {limit} attempts are used; the last holder let its lease lapse"
    bury(store, entry, Reason("max_attempts", text), now)
    return False


def retire(store: Store, owner: str, now: float, limit: int, *, crashed: bool) -> Swept:
    """Ban `owner`, end its claims, and return what it holds. No grace: it is known to be gone."""
    declared = store.members.ban(owner, left=not crashed)
    store.keys.release_owner(owner)
    entries = store.held_by(owner)
    more = len(entries) > limit
    for entry in entries[:limit]:
        if crashed:
            entry.crashes += 1
            entry.history.append(Ending(store.clock.wall(), "crashed", owner))
        put_back(store, entry, 0.0, now)
    if not more:
        store.members.finish(owner)
    return Swept(returned=tuple(entry.id for entry in entries[:limit]), more=more, declared=declared)
