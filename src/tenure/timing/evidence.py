"""The evidence on one task: its runs, faded, as a line through their sizes and a sketch of actual ÷ predicted.

A run counts half after `HALF_LIFE_SECONDS`, and half after `HALF_LIFE_RUNS` others. Instead of making old ones smaller,
new ones weigh more, and once in a long while everything is made smaller at once. Runs are counted many at a
time, because that takes half as long: on the path of a message, recording a run only appends to a list.

Made of `sketch.py` and `fit.py`, and of `doubt.py` for what is too strange to be counted in full; `learned.py` draws
the conclusions. Pure; `at` is any clock in seconds.
"""

import math
from collections.abc import Sequence
from operator import mul

from tenure.timing.doubt import Doubt, Run
from tenure.timing.fit import Fit, FittedLine
from tenure.timing.sketch import GAMMA, Sketch

HALF_LIFE_SECONDS = 3 * 86_400.0
HALF_LIFE_RUNS = 2_000.0
#: This many are counted at once.
TOLD_AT_ONCE = 64

_POWER_A_RUN = 1.0 / HALF_LIFE_RUNS
_POWER_A_SECOND = 1.0 / HALF_LIFE_SECONDS
_LARGEST_POWER = 64.0
_LOG_GAMMA = math.log(GAMMA)
_LEAST_SECONDS = 1e-9
#: This many runs with a size are remembered one by one, until the line through them is a good one.
_FIRST_RUNS = 256
_ROUNDS = 4
_DRAWN_EVERY = 64
_SHAPED_BY = 4
_ALIKE_SECONDS = 3600.0

#: Size, seconds, weight.
_Sized = tuple[float, float, float]


class Evidence:
    """Runs of one task."""

    __slots__ = (
        "_doubt", "_first", "_fit", "_line", "_origin", "_power", "_ratios", "_rebuilt_at", "_seconds", "_undrawn",
        "_unit", "at", "count", "longest", "told",
    )  # fmt: skip

    def __init__(self) -> None:
        """Begin with none."""
        #: How many were counted, faded or not.
        self.count = 0
        #: When the newest one ended.
        self.at = -math.inf
        #: Seconds of the longest one, strange or not. None: there is none.
        self.longest: float | None = None
        #: Not counted yet: seconds, size, when.
        self.told: list[Run] = []
        self._doubt = Doubt()
        self._seconds = Sketch()
        # Of runs with a size.
        self._ratios = Sketch()
        self._fit = Fit()
        self._line: FittedLine | None = None
        #: The first ones, as they were: what was measured by a line through two or three is measured again.
        self._first: list[_Sized] | None = []
        self._rebuilt_at = 4
        #: Runs since the line was drawn.
        self._undrawn = 0
        # The weight of a run is 2 to a power that grows with time and number; `_unit` is the weight of the heaviest.
        self._origin = 0.0
        self._power = 0.0
        self._unit = 1.0

    def take_in(self) -> None:
        """Count one run."""
        told = self.told
        if not told:
            return
        self.told = []
        seconds, sizes, ended = zip(*told, strict=True)
        newest = max(ended)
        if self.count == 0:
            self._origin = newest
        self.count += len(told)
        self.at = max(self.at, newest)
        self.longest = max(self.longest or 0.0, *seconds)
        ratios = None if self._line is None else self._line.ratios(seconds, sizes)
        compared = seconds if ratios is None and sizes[0] is None else ratios
        # For the first runs with a size an outlier cannot be recognised: the effect of size is not known yet.
        parts = None if compared is None else self._doubt.believed(told, compared)
        if parts is not None:
            seconds = tuple(map(mul, seconds, parts))
            ratios = None if ratios is None else list(map(mul, ratios, parts))
        if self._power + (newest - self._origin) * _POWER_A_SECOND > _LARGEST_POWER:
            self._lighten()
        weights = self._weights(ended, newest)
        self._unit = max(self._unit, *weights)
        self._seconds.add_all(seconds, weights)
        if ratios is not None and self._first is None and 0.0 not in ratios:
            # The usual case, once there are many: of those at once a few are enough for the shape of the line.
            shaping = list(zip(sizes[::_SHAPED_BY], seconds[::_SHAPED_BY], weights[::_SHAPED_BY], strict=True))
            self._count_sized(shaping, ratios, weights)
        else:
            runs = zip(sizes, seconds, weights, strict=True)
            sized = [(size, took, weight) for size, took, weight in runs if size is not None]
            if sized:
                self._take_in_first(sized)

    def _weights(self, ended: Sequence[float], newest: float) -> list[float]:
        """Weigh runs by age. If all ended within an hour, one weight serves all: they differ by a hundredth at most."""
        self._power += len(ended) * _POWER_A_RUN
        if newest - min(ended) > _ALIKE_SECONDS:
            return [2.0 ** (self._power + (at - self._origin) * _POWER_A_SECOND) for at in ended]
        return [2.0 ** (self._power + (newest - self._origin) * _POWER_A_SECOND)] * len(ended)

    def _take_in_first(self, runs: list[_Sized]) -> None:
        line = self._line
        if line is None:
            line = self._line = FittedLine(max(runs[0][1], _LEAST_SECONDS))
            self._doubt = Doubt()  # from now on it is ratios that are compared
        if self._first is not None:
            by_size = [size for size, _, _ in runs]
            self._doubt.see(min(by_size), max(by_size))
            self._first += runs
            if len(self._first) >= self._rebuilt_at:
                self._rebuild(self._first, line)
                return
        self._count_sized(
            runs, line.ratios([run[1] for run in runs], [run[0] for run in runs]), [run[2] for run in runs]
        )

    def _count_sized(self, shaping: list[_Sized], ratios: Sequence[float], weights: Sequence[float]) -> None:
        """Count ratios; by what is `shaping` the line is drawn again now and then."""
        line = self._line
        if line is None:
            return
        self._ratios.add_all(ratios, weights)
        self._fit.add_all(shaping, line)
        by_size = [size for size, _, _ in shaping]
        self._doubt.see(min(by_size), max(by_size))
        self._undrawn += len(ratios)
        if self._undrawn >= _DRAWN_EVERY:
            self._undrawn = 0
            self._redraw(line)

    def _rebuild(self, runs: list[_Sized], old: FittedLine) -> None:
        """Count the first runs again, by a line that is drawn through all of them."""
        line = old
        for _ in range(_ROUNDS):  # each weighs by per cent more truly than the one before
            self._fit = Fit()
            self._fit.add_all(runs, line)
            line = self._fit.line() or line
        self._fit, self._ratios, self._line = Fit(), Sketch(), line
        self._fit.add_all(runs, line)
        self._ratios.add_all(line.ratios([run[1] for run in runs], [run[0] for run in runs]), [run[2] for run in runs])
        self._doubt.scale(old.at(self.mean_size) / line.at(self.mean_size))
        self._rebuilt_at *= 2
        if len(runs) >= _FIRST_RUNS:
            self._first = None

    def _lighten(self) -> None:
        """Scale all weights down, so that new ones begin at 1 again."""
        factor = 2.0 ** -(self._power + (self.at - self._origin) * _POWER_A_SECOND)
        for part in (self._seconds, self._ratios, self._fit):
            part.fade(factor)
        if self._first is not None:
            self._first = [(size, took, weight * factor) for size, took, weight in self._first]
        self._origin, self._power, self._unit = self.at, 0.0, 1.0

    @property
    def runs(self) -> float:
        """The number of runs to rely on: faded ones count less."""
        return self._seconds.count / self._unit

    @property
    def doubted(self) -> float | None:
        """Seconds of the longest run that is not counted in full. None: there is none."""
        return self._doubt.seconds

    @property
    def line(self) -> FittedLine | None:
        """Seconds by size, at a level of its own. None: no run had a size."""
        return self._line

    @property
    def mean_size(self) -> float:
        """About; of runs with a size."""
        return self._fit.mean_size

    def quantile(self, q: float) -> float | None:
        """Seconds that a part `q` of all runs stays within."""
        return self._seconds.quantile(q)

    def ratio(self, q: float) -> float | None:
        """The same of actual ÷ predicted, for runs with a size."""
        return self._ratios.quantile(q)

    def _redraw(self, old: FittedLine) -> None:
        """Draw the line again, and let the ratios that were measured by the old one mean the same seconds.

        Only its shape matters, so its level is chosen such that all ratios move by whole buckets: no error adds up.
        """
        new = self._fit.line()
        if new is None:
            return
        size = self._fit.mean_size
        steps = round(math.log(old.at(size) / new.at(size)) / _LOG_GAMMA)
        self._line = new.times(old.at(size) / (new.at(size) * GAMMA**steps))
        if steps:
            self._ratios.shift(steps)
            self._doubt.scale(GAMMA**steps)
