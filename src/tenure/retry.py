"""Retries: when a failed message comes back, and when it does not. Pure arithmetic.

The pauses are those of `rules/backoff.py`. For failed messages the policy is applied by `runtime/verdicts.py`; stores
that are away, and requests to a cloud, are tried again by a policy of their own (`runtime/outage.py`,
`standalone/trying.py`, adapters).
"""

from collections.abc import Callable

import msgspec

from tenure.rules.backoff import backoff_seconds

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
        return backoff_seconds(attempt, self.first_delay_seconds, self.max_delay_seconds, draw)

    def is_exhausted(self, attempts: int) -> bool:
        """Whether `attempts` failed attempts are all there may be."""
        return attempts >= self.max_attempts
