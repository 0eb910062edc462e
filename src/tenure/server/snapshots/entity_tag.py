"""The entity tag of a snapshot: by what it says, not by when it was made. Pure.

Weak: two snapshots with one tag differ in their times only, and in figures that a viewer counts on by itself, such as
the seconds that a lease has left.
"""

import hashlib
import re

import msgspec

from tenure.client.operations.overview.rows import Headline
from tenure.query import HeldLease
from tenure.server.snapshots.parts import LeasesSnapshot, OverviewSnapshot, QueuesSnapshot

AnySnapshot = OverviewSnapshot | QueuesSnapshot | LeasesSnapshot

_NUMBER = re.compile(r"[0-9]+")


def tag_of(snapshot: AnySnapshot) -> str:
    """The value of `ETag`."""
    still = msgspec.structs.replace(
        snapshot,
        server_now=0.0,
        made_at=0.0,
        next_snapshot_in=0.0,
        last_sweep_at=_rounded(snapshot.last_sweep_at),
        next_sweep_at=_rounded(snapshot.next_sweep_at),
    )
    if not isinstance(still, QueuesSnapshot):
        still = msgspec.structs.replace(still, leases=tuple(map(still_lease, still.leases)))
    if isinstance(still, OverviewSnapshot):
        # "swept 3 s ago": the sweep's own time is in the snapshot.
        text = _NUMBER.sub("", still.headline.text)
        still = msgspec.structs.replace(still, headline=Headline(still.headline.mood, text))
    return f'W/"{hashlib.blake2b(msgspec.json.encode(still), digest_size=12).hexdigest()}"'


def still_lease(lease: HeldLease) -> HeldLease:
    """A lease without the seconds that pass."""
    return msgspec.structs.replace(
        lease,
        deadline_in=0.0,
        deadline=round(lease.deadline, 1),
        leased_at=_rounded(lease.leased_at),
        last_beat_at=_rounded(lease.last_beat_at),
    )


def _rounded(at: float | None) -> float | None:
    """On stores that do not count from 1970 a time is calculated at each read, and its last digits differ."""
    return None if at is None else round(at, 1)


def matches(if_none_match: str | None, tag: str) -> bool:
    """Whether the client has it already."""
    if not if_none_match:
        return False
    known = {one.strip().removeprefix("W/") for one in if_none_match.split(",")}
    return "*" in known or tag.removeprefix("W/") in known
