"""Convert a duration to a lease, and back: how long to ask for, and whether a given lease is enough.

Only for leases that no heartbeat renews: with a heartbeat the lease is the crash window, whatever the work takes. Too
short a lease lets a message run twice; too long a one only makes a crashed worker's message wait. Pure.
"""

import math
from collections.abc import Sequence
from enum import StrEnum

from tenure.errors import BadArgument

#: For slow networks, retries, and the runs that take longer than the one it is made of.
SAFETY_BUFFER = 0.75
_STEP_SECONDS = 30.0
FLOOR_SECONDS = 30.0

_RISKY = 0.8
_TOO_SHORT = 0.9
_LONGER = 1.5
_QUANTILE = 0.99
#: Of a division: 90 / 30 is 3, whatever floats make of it.
_DUST = 1e-9


class TimeoutRisk(StrEnum):
    """Whether a run came close to the end of its lease."""

    OK = "OK"
    HIGH = "HIGH"


def lease_seconds_for(seconds: float, *, floor: float = FLOOR_SECONDS, ceiling: float = math.inf) -> float:
    """A lease for work that takes `seconds`: × 1.75, rounded up to the next 30 s, within the broker's bounds."""
    if not 0.0 <= seconds < math.inf:
        msg = f"{seconds!r} s is not a duration; no lease can be made of it"
        raise BadArgument(msg)
    steps = math.ceil(seconds * (1.0 + SAFETY_BUFFER) / _STEP_SECONDS - _DUST)
    return max(floor, min(steps * _STEP_SECONDS, ceiling))


def utilization(lease_seconds: float, duration_seconds: float) -> float:
    """The part of the lease that was used; over 1 is past its end."""
    if not lease_seconds > 0.0 or not duration_seconds >= 0.0:
        msg = f"a lease of {lease_seconds!r} s cannot be compared with a run of {duration_seconds!r} s"
        raise BadArgument(msg)
    return duration_seconds / lease_seconds


def risk_of(lease_seconds: float, duration_seconds: float) -> TimeoutRisk:
    """High from 80 % on."""
    return TimeoutRisk.HIGH if utilization(lease_seconds, duration_seconds) >= _RISKY - _DUST else TimeoutRisk.OK


def advised_lease_seconds(lease_seconds: float, duration_seconds: float) -> float:
    """The lease to use instead: half as much again from 90 % on, else the same."""
    used = utilization(lease_seconds, duration_seconds)
    return lease_seconds * _LONGER if used >= _TOO_SHORT - _DUST else lease_seconds


def slowest_usual(durations: Sequence[float]) -> float:
    """The duration that 99 of 100 runs stay within; of fewer runs, the longest."""
    ordered = sorted(durations)
    return ordered[math.ceil(_QUANTILE * len(ordered) - _DUST) - 1]
