"""The lease policy: how long to ask for, and how often to beat.

With the heartbeat on, the lease is the crash window and nothing else: short means fast recovery, and the
length of the work does not matter.
"""

import msgspec

#: A beat at a third of the lease: two may fail before the lease ends.
BEATS_PER_LEASE = 3.0
#: A beat that failed comes again after this part of its interval.
_AGAIN = 0.25


class LeasePolicy(msgspec.Struct, frozen=True):
    """The lease for one kind of work."""

    seconds: float = 30.0
    #: Ends a hung handler. None: never.
    max_hold_seconds: float | None = None


def beat_interval(lease_seconds: float) -> float:
    """Seconds between two touches of a lease of that length."""
    return lease_seconds / BEATS_PER_LEASE


def beat_again(interval_seconds: float) -> float:
    """Seconds until a touch that failed is tried again."""
    return _AGAIN * interval_seconds
