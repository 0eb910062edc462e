"""A distribution: how long runs took, in a bounded number of buckets that a plot can draw. Pure."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from tenure.timing.tallied import bucket_of, lower_border

#: At most this many; beyond, neighbours share one.
MOST_BUCKETS = 48


class DurationBucket(msgspec.Struct, frozen=True):
    """Runs that took at least `from_seconds` and less than `to_seconds`. Buckets without runs are left out."""

    from_seconds: float
    to_seconds: float
    runs: int


def distribution(seconds: Sequence[float]) -> tuple[DurationBucket, ...]:
    """The shortest first. 16 buckets from each power of two to the next; fewer where runs differ by much."""
    fine = Counter(map(bucket_of, seconds))
    shift = 0
    while len({key >> shift for key in fine}) > MOST_BUCKETS:
        shift += 1
    coarse: Counter[int] = Counter()
    for key, number in fine.items():
        coarse[key >> shift] += number
    return tuple(
        DurationBucket(lower_border(key << shift), lower_border((key + 1) << shift), coarse[key])
        for key in sorted(coarse)
    )
