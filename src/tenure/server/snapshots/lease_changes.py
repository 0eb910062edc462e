"""The changes of the leases between two snapshots. Pure."""

from collections.abc import Sequence

import msgspec

from tenure.query import HeldLease
from tenure.server.snapshots.entity_tag import still_lease


class LeaseChanges(msgspec.Struct, frozen=True, kw_only=True):
    """How to make the rows of now from those of before: remove, put the changed ones in, sort by `deadline`."""

    #: True: begin with no row; `changed` are all of them.
    is_whole: bool
    #: New rows, and rows that differ; `deadline` says how long each has left.
    changed: tuple[HeldLease, ...]
    #: Ids of messages that are not among the rows any more.
    removed: tuple[str, ...] = ()
    #: More leases are held than the rows show.
    is_cut: bool


def changes(before: Sequence[HeldLease] | None, now: Sequence[HeldLease], *, is_cut: bool) -> LeaseChanges:
    """Return the changes from `before` (None: nothing was shown yet) to `now`. A message has one lease, so one row."""
    if before is None:
        return LeaseChanges(is_whole=True, changed=tuple(now), is_cut=is_cut)
    known = {one.id: still_lease(one) for one in before}
    changed = tuple(one for one in now if known.get(one.id) != still_lease(one))
    ids = {one.id for one in now}
    removed = tuple(one.id for one in before if one.id not in ids)
    return LeaseChanges(is_whole=False, changed=changed, removed=removed, is_cut=is_cut)
