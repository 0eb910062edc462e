"""Expected durations before any was measured: profiles of services, and of files by their size.

Data, to be overridden by your own. Seconds everywhere. `timing/margin.py` makes a lease of them.
"""

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from tenure.errors import BadArgument


class Profile(msgspec.Struct, frozen=True):
    """The expected duration of one service's messages."""

    #: One in a hundred is as fast.
    p1: float
    #: Half of them are faster.
    typical: float
    p95: float
    worst: float


PROFILES: dict[str, Profile] = {
    "content-collector": Profile(30, 90, 180, 300),
    "content-processor": Profile(10, 45, 90, 120),
    "markdown-generator": Profile(5, 30, 45, 60),
    "site-publisher": Profile(30, 90, 180, 300),
}

_MIB = 1 << 20


class SizeEstimate(msgspec.Struct, frozen=True):
    """The expected duration of a file of that size, and the first lease where no heartbeat renews it."""

    size_bytes: float
    seconds: float
    lease_seconds: float


#: Download, transcoding on a small GPU, upload.
SIZE_ESTIMATES: tuple[SizeEstimate, ...] = (
    SizeEstimate(100 * _MIB, 180, 300),
    SizeEstimate(500 * _MIB, 420, 600),
    SizeEstimate(2048 * _MIB, 1140, 1200),
    SizeEstimate(4096 * _MIB, 1860, 2100),
    SizeEstimate(6144 * _MIB, 2880, 3000),
)


def estimate_for_size(size_bytes: float, rows: Sequence[SizeEstimate] = SIZE_ESTIMATES) -> SizeEstimate:
    """Between two rows on the line through them; below the first as the first; above the last in its proportion."""
    if not size_bytes >= 0 or not rows:
        msg = f"a size of {size_bytes!r} bytes says nothing about the time it takes"
        raise BadArgument(msg)
    first, last = rows[0], rows[-1]
    if size_bytes <= first.size_bytes:
        return SizeEstimate(size_bytes, first.seconds, first.lease_seconds)
    for low, high in pairwise(rows):
        if size_bytes <= high.size_bytes:
            part = (size_bytes - low.size_bytes) / (high.size_bytes - low.size_bytes)
            return SizeEstimate(
                size_bytes,
                low.seconds + part * (high.seconds - low.seconds),
                low.lease_seconds + part * (high.lease_seconds - low.lease_seconds),
            )
    times = size_bytes / last.size_bytes
    return SizeEstimate(size_bytes, last.seconds * times, last.lease_seconds * times)


class SizeTable(msgspec.Struct, frozen=True):
    """Expected durations of files by size, in rows that grow."""

    rows: tuple[SizeEstimate, ...] = SIZE_ESTIMATES

    def seconds_for(self, size_bytes: float) -> float:
        """Return the expected duration of a file of that size."""
        return estimate_for_size(size_bytes, self.rows).seconds


SIZE_TABLES: dict[str, SizeTable] = {"transcoding": SizeTable()}
