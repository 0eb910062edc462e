"""The lease policy: how long to ask for, and how often to beat.

With the heartbeat on, the lease is the crash window and nothing else: short means fast recovery, and the length of
the work does not matter. With it off the lease is not renewed: the lease must outlast the work, and is learned
(`timing/learned.py`) unless its length was given.
"""

import msgspec

#: A beat at a third of the lease: two may fail before the lease ends.
BEATS_PER_LEASE = 3.0
#: A beat that failed comes again after this part of its interval.
_AGAIN = 0.25
#: But while a lease still stands, after no more than this part of what is left of it; and not sooner than that.
_AGAIN_OF_REST = 0.25
_SOONEST_SECONDS = 0.25


class LeasePolicy(msgspec.Struct, frozen=True):
    """The lease for one kind of work."""

    seconds: float = 30.0
    #: Ends a hung handler. None: never.
    max_hold_seconds: float | None = None
    #: False: the lease is not renewed while the handler runs.
    heartbeat: bool = True
    #: No length was given, and no heartbeat renews it.
    is_learned: bool = False


def beat_interval(lease_seconds: float) -> float:
    """Seconds between two touches of a lease of that length."""
    return lease_seconds / BEATS_PER_LEASE


def beat_again(interval_seconds: float) -> float:
    """Seconds until a touch that failed is tried again."""
    return _AGAIN * interval_seconds


def beat_again_within(lease_seconds: float, left_seconds: float) -> float:
    """The same for a lease with so much time left: sooner towards its end, so that many tries are made before it.

    What was lent for less than it needs has an interval longer than what is left.
    """
    usual = beat_again(beat_interval(lease_seconds))
    return usual if left_seconds <= 0.0 else min(usual, max(_SOONEST_SECONDS, _AGAIN_OF_REST * left_seconds))


#: The part of a lease after which no first beat is left out: what is left is time for several more tries.
LATEST_FIRST_BEAT = 2.0 / 3.0


def first_beat(lease_seconds: float, usual_seconds: float | None) -> float:
    """Return when the first beat is due, in seconds from the lease.

    At a third of it, as all others; later, at two thirds, only if 99 of 100 runs (`usual_seconds`) are over by then but
    not by a third: those would need no beat at all. A run that goes on is renewed anyway. It has a third of the
    lease for its tries instead of two: only a worker that is cut off for longer, just then, can lose by it.
    """
    usual, latest = lease_seconds / BEATS_PER_LEASE, lease_seconds * LATEST_FIRST_BEAT
    return latest if usual_seconds is not None and usual < usual_seconds <= latest else usual
