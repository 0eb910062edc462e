"""A tally: what one process counted in a few seconds, stored so that all processes can be summed.

Rows are keyed by (step, bucket, nonce, number) and replaced as a whole, so storing one twice changes nothing. A process
chooses the bucket by the store's time when it first tries to store the row, and keeps it when it tries again. Rows of
the shortest step are raw; the process that has the turn makes rows of the longer steps from them, also by replacing.

What `data` means is decided in one place, `timing/tallied.py`; stores keep it unread.
"""

import msgspec

#: The lengths of a bucket, in seconds.
TEN_SECONDS, MINUTE, HOUR = 10, 60, 3_600

#: Rows of each step are kept for this many seconds, with some to spare for summing up. Hours are kept as long as
#: events.
KEPT_SECONDS = {TEN_SECONDS: 3_900.0, MINUTE: 90_000.0}


class Tally(msgspec.Struct, frozen=True, gc=False):
    """One row."""

    #: Length of the bucket in seconds.
    step: int
    #: Its start in Unix seconds by the store's clock, a multiple of `step`.
    bucket: int
    #: The process that counted; empty for sums over all processes.
    nonce: str
    #: Numbers the rows of one process in one bucket.
    number: int
    data: bytes
