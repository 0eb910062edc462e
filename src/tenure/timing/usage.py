"""How leases without a heartbeat are used, by service: the typical run, the lease, the part used, what is left.

The documented table (seconds):

    content-collector   90 → 180   50 %    90 left
    content-processor   45 →  90   50 %    45 left
    markdown-generator  30 →  60   50 %    30 left
    site-publisher      90 → 180   50 %    90 left

Pure; made of `profile.py` and `margin.py`.
"""

import math
from collections.abc import Mapping

import msgspec

from tenure.timing.margin import FLOOR_SECONDS, lease_seconds_for, utilization
from tenure.timing.profile import PROFILES, Profile


class Usage(msgspec.Struct, frozen=True):
    """One lease, and the run that it was made for."""

    typical_seconds: float
    lease_seconds: float
    #: Of the lease; from 80 on it is too short.
    utilization_percent: float
    #: From the end of the run to the end of the lease.
    safety_margin_seconds: float


def usage_of(seconds: float, *, floor: float = FLOOR_SECONDS, ceiling: float = math.inf) -> Usage:
    """Compute the lease usage of work that typically takes `seconds`."""
    lease = lease_seconds_for(seconds, floor=floor, ceiling=ceiling)
    return Usage(seconds, lease, 100.0 * utilization(lease, seconds), lease - seconds)


def usages(
    profiles: Mapping[str, Profile] = PROFILES, *, floor: float = FLOOR_SECONDS, ceiling: float = math.inf
) -> dict[str, Usage]:
    """Compute the lease usage of every service, by name."""
    return {name: usage_of(profile.typical, floor=floor, ceiling=ceiling) for name, profile in profiles.items()}
