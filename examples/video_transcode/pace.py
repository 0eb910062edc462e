"""How long a video takes by its size, and how long a lease on it is. All in scaled time.

A minute of the size table takes two thirds of a second (`SPEED`, 90). All that is a time is divided by it: the work,
the leases, and so the beats, which come at each third of a lease. Their counts stay what they are.
"""

from tenure.timing.profile import SIZE_ESTIMATES, SizeEstimate, SizeTable, estimate_for_size

from .settings import IS_REAL, SPEED

MINUTE = 60.0
#: Of the test picture that ffmpeg gets (`clips.py`), about.
CLIP_BYTES_PER_SECOND = 80_000

#: A lease need not outlast the work, since beats renew it. Shorter: more beats. Longer: where no process can prove that
#: a worker is dead, as in the cloud, its video waits longer for another one.
SHORTEST_LEASE, LONGEST_LEASE = 10 * MINUTE / SPEED, 18 * MINUTE / SPEED
#: What waits is to begin within this time, and new workers stay for the cooldown.
TARGET_AGE, COOLDOWN = 1 * MINUTE / SPEED, 10 * MINUTE / SPEED


def _scaled(row: SizeEstimate) -> SizeEstimate:
    seconds = row.seconds / SPEED
    size_bytes = seconds * CLIP_BYTES_PER_SECOND if IS_REAL else row.size_bytes
    return SizeEstimate(size_bytes, seconds, row.lease_seconds / SPEED)


#: Download, transcoding and upload by size: the profile `transcoding` that ships with Tenure, in scaled time.
BY_SIZE = SizeTable(tuple(_scaled(row) for row in SIZE_ESTIMATES))


def lease_for(size_bytes: int) -> float:
    """Seconds of the lease on a video of that size: the first timeout of the size table, within the two bounds."""
    first = estimate_for_size(size_bytes, BY_SIZE.rows).lease_seconds
    return min(max(first, SHORTEST_LEASE), LONGEST_LEASE)


def expected_seconds(size_bytes: int) -> float:
    """How long a video of that size takes."""
    return BY_SIZE.seconds_for(size_bytes)
