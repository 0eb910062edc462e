"""Foresight: what runs of a task usually take, as it was known at one moment.

A value, so that the heartbeat's thread may ask it while the worker's loop goes on learning. Pure. Made by
`timing/learned.py`.
"""

import msgspec

from tenure.timing.fit import FittedLine
from tenure.timing.prior import Prior


class Foresight(msgspec.Struct, frozen=True):
    """The expected duration of a run."""

    q50: float | None
    line: FittedLine | None
    sized_q50: float | None
    prior: Prior

    def seconds(self, size: float | None = None) -> float | None:
        """Return the median duration of a run of that size. None: unknown."""
        if size is not None and self.line is not None and self.sized_q50 is not None:
            return self.line.at(size) * self.sized_q50
        if self.q50 is not None:
            return self.q50
        estimate = self.prior.estimate(size)
        return None if estimate is None else estimate.seconds
