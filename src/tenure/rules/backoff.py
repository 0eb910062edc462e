"""Backoff: how long to wait before the next try. Each pause is twice the one before, up to the longest.

Everything that is tried again with growing pauses asks this function: failed messages, stores that are away and the
standalone pieces (by `retry.RetryPolicy`), processes that die (`runtime/supervisor`), and Redis subscriptions.
"""

from collections.abc import Callable


def backoff_seconds(failures: int, first: float, longest: float, draw: Callable[[], float] | None = None) -> float:
    """Seconds to wait after this many failures in a row, from 1.

    `draw` gives 0.0 to 1.0 and spreads the pause over its upper half, so that what failed together is not tried again
    together. None: no spread.
    """
    # Past 2**30 the longest pause is reached; the bound keeps the power from growing without end.
    full = min(longest, first * 2.0 ** min(failures - 1, 30))
    return full if draw is None else full * (0.5 + 0.5 * draw())
