"""A running fit: how long work of a size takes, as far as runs of other sizes show.

A fixed time and a time for each unit of size, by least squares over runs that fade. What counts is by how many per cent
a run was off, not by how many seconds: so the small ones say what is fixed and the large ones what grows. Never
negative, never shorter for what is larger; beyond the sizes seen it goes on as a straight line. The level need not be
exact: `timing/learned.py` measures actual ÷ predicted, and corrects by it. Pure.
"""

import math
from collections.abc import Sequence

import msgspec

#: Shorter runs count as this: what takes no time has no size.
_LEAST_SECONDS = 1e-3
#: However short: what is predicted is divided by.
_LEAST_PREDICTED = 1e-9
#: Of the mean size, the spread from which on sizes differ.
_LEAST_SPREAD = 0.02
#: Runs, after which a line is drawn through them.
_LEAST_RUNS = 4


class FittedLine(msgspec.Struct, frozen=True):
    """`fixed` seconds, and `each` second for every unit of size."""

    fixed: float
    each: float = 0.0

    def at(self, size: float) -> float:
        """Seconds for that size; more than 0."""
        return max(self.fixed + self.each * size, _LEAST_SECONDS)

    def ratios(self, seconds: Sequence[float], sizes: Sequence[float | None]) -> list[float]:
        """Actual ÷ predicted; 0 of what has no size."""
        fixed, each = self.fixed + _LEAST_PREDICTED, self.each
        try:
            return [took / (fixed + each * size) for took, size in zip(seconds, sizes, strict=True)]  # type: ignore[operator]
        except TypeError:
            pairs = zip(seconds, sizes, strict=True)
            return [0.0 if size is None else took / (fixed + each * size) for took, size in pairs]

    def times(self, factor: float) -> "FittedLine":
        """The same shape at another level."""
        return FittedLine(self.fixed * factor, self.each * factor)


class Fit:
    """Sums over runs of known size."""

    __slots__ = ("_runs", "_w", "_wx", "_wxx", "_wxy", "_wy")

    def __init__(self) -> None:
        """Begin with nothing."""
        self._runs = 0
        self._w = self._wx = self._wxx = self._wy = self._wxy = 0.0

    def add_all(self, runs: Sequence[tuple[float, float, float]], expected: FittedLine) -> None:
        """Count runs: size, seconds, weight. By `expected` they weigh by per cent instead of seconds.

        By what they took, where that is more: neither a first guess that was far too low nor a run that got stuck
        may outweigh all others.
        """
        fixed, each = max(expected.fixed, _LEAST_SECONDS), expected.each
        sum_w, sum_wx, sum_wxx, sum_wy, sum_wxy = self._w, self._wx, self._wxx, self._wy, self._wxy
        for size, seconds, weight in runs:
            predicted = fixed + each * size
            w = weight / (predicted * predicted if predicted > seconds else seconds * seconds)
            wx = w * size
            sum_w += w
            sum_wx += wx
            sum_wxx += wx * size
            sum_wy += w * seconds
            sum_wxy += wx * seconds
        self._w, self._wx, self._wxx, self._wy, self._wxy = sum_w, sum_wx, sum_wxx, sum_wy, sum_wxy
        self._runs += len(runs)

    def fade(self, factor: float) -> None:
        """Let every run counted so far count `factor` times as much."""
        self._w, self._wx, self._wxx = self._w * factor, self._wx * factor, self._wxx * factor
        self._wy, self._wxy = self._wy * factor, self._wxy * factor

    @property
    def mean_size(self) -> float:
        """The mean size of the counted runs; 0 if there are none."""
        return self._wx / self._w if self._w else 0.0

    def line(self) -> FittedLine | None:
        """The best line; flat where all sizes are about the same. None: nothing was counted."""
        if self._w <= 0.0:
            return None
        x, y = self._wx / self._w, self._wy / self._w
        spread = self._wxx / self._w - x * x
        if self._runs < _LEAST_RUNS or spread <= (_LEAST_SPREAD * x) ** 2 or not math.isfinite(spread):
            return FittedLine(max(y, _LEAST_SECONDS))
        each = (self._wxy / self._w - x * y) / spread
        if each <= 0.0:
            return FittedLine(max(y, _LEAST_SECONDS))
        fixed = y - each * x
        if fixed < 0.0:
            return FittedLine(0.0, self._wxy / self._wxx)
        return FittedLine(fixed, each)
