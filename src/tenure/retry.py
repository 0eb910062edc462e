"""When a failed message comes back, and when it does not: pure arithmetic.

Exponential backoff with full jitter on the upper half, so that a burst of failures does not return as a
burst. Applied by `runtime/handling.py`.
"""

from collections.abc import Callable

import msgspec

#: By default.
MAX_SNOOZES = 1000


class RetryPolicy(msgspec.Struct, frozen=True):
    """How often to try, and how long to wait in between."""

    max_attempts: int = 3
    #: Before the second attempt; doubles from then on.
    first_delay_seconds: float = 1.0
    max_delay_seconds: float = 300.0
    #: How often a handler may put its message off by `Snooze`; after that each time is a failed attempt.
    max_snoozes: int = MAX_SNOOZES

    def delay_seconds(self, attempt: int, draw: Callable[[], float]) -> float:
        """Seconds to wait after failed attempt number `attempt` (from 1). `draw` gives 0.0 to 1.0."""
        # Past 2**30 the cap has long won; the bound keeps the power from growing without end.
        full = min(self.max_delay_seconds, self.first_delay_seconds * 2.0 ** min(attempt - 1, 30))
        return full * (0.5 + 0.5 * draw())

    def is_exhausted(self, attempts: int) -> bool:
        """Whether `attempts` failed attempts are all there may be."""
        return attempts >= self.max_attempts
