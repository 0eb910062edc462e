"""A sketch: how a quantity is distributed, in little memory, with every quantile right within 1 %.

Values are counted in buckets whose borders grow by a constant factor, as in DDSketch (Masson, Rim, Lee, 2019): a
bucket's middle is at most 1 % away from anything in it, whatever the distribution. Two sketches are merged by adding
their buckets. A value may count more or less than once: that is how old ones fade (`timing/learned.py`). Pure.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Self

#: Of a quantile, at most: |answer - truth| / truth.
RELATIVE_ERROR = 0.01
#: Each bucket's upper border over its lower one.
GAMMA = (1.0 + RELATIVE_ERROR) / (1.0 - RELATIVE_ERROR)
_BUCKETS_A_LOG = 1.0 / math.log(GAMMA)
#: A bucket's upper border, times this, is the value it represents.
_MIDDLE = 2.0 / (1.0 + GAMMA)
#: What is smaller counts as nothing.
_LEAST = 1e-9
#: Enough for values 17 orders of magnitude apart. Beyond, the smallest ones share a bucket: they are never asked for.
MOST_BUCKETS = 2048
#: Of a sum: 0.99 of 100 values are 99, whatever floats make of it.
_DUST = 1e-9

_log, _ceil = math.log, math.ceil


class Sketch:
    """Counts values that are not negative, and computes their quantiles."""

    __slots__ = ("_buckets", "_order", "_zeros", "count")

    def __init__(self) -> None:
        """Begin with nothing."""
        #: The sum of all weights; without weights, the number of values.
        self.count = 0.0
        self._zeros = 0.0
        self._buckets: defaultdict[int, float] = defaultdict(float)
        #: The buckets in order, while none was added.
        self._order: list[int] | None = None

    def add(self, value: float, weight: float = 1.0) -> None:
        """Count one value."""
        self.count += weight
        if value < _LEAST:
            self._zeros += weight
            return
        key = _ceil(_log(value) * _BUCKETS_A_LOG)
        buckets = self._buckets
        before = len(buckets)
        buckets[key] += weight
        if len(buckets) != before:
            self._order = None
            if len(buckets) > MOST_BUCKETS:
                self._collapse()

    def add_all(self, values: Sequence[float], weights: Sequence[float]) -> None:
        """Count many at once, which takes half the time."""
        if not values:
            return
        self.count += sum(weights)
        if min(values) < _LEAST:
            self._zeros += sum([weight for value, weight in zip(values, weights, strict=True) if value < _LEAST])
            weights = [weight for value, weight in zip(values, weights, strict=True) if value >= _LEAST]
            values = [value for value in values if value >= _LEAST]
        log, ceil, a_log = _log, _ceil, _BUCKETS_A_LOG
        buckets = self._buckets
        before = len(buckets)
        for key, weight in zip([ceil(log(value) * a_log) for value in values], weights, strict=True):
            buckets[key] += weight
        if len(buckets) != before:
            self._order = None
            if len(buckets) > MOST_BUCKETS:
                self._collapse()

    def merge(self, other: "Sketch") -> None:
        """Count everything that the other one counted."""
        buckets = self._buckets
        for key, weight in other._buckets.items():  # noqa: SLF001 - of its own class
            buckets[key] += weight
        self._zeros += other._zeros  # noqa: SLF001
        self.count += other.count
        self._order = None
        if len(buckets) > MOST_BUCKETS:
            self._collapse()

    def quantile(self, q: float) -> float | None:
        """The smallest value that a part `q` of all of them stays within. None: there are none."""
        if self.count <= 0.0:
            return None
        rank = (q - _DUST) * self.count
        below = self._zeros
        if below >= rank and below > 0.0:
            return 0.0
        key = 0
        buckets = self._buckets
        for key in self._sorted():
            below += buckets[key]
            if below >= rank:
                break
        return _MIDDLE * GAMMA**key

    def fade(self, factor: float) -> None:
        """Let everything counted so far count `factor` times as much."""
        self._buckets = defaultdict(float, {key: weight * factor for key, weight in self._buckets.items()})
        self._zeros *= factor
        self.count *= factor

    def shift(self, steps: int) -> None:
        """Multiply every value by `GAMMA ** steps`: no error is added."""
        self._buckets = defaultdict(float, {key + steps: weight for key, weight in self._buckets.items()})
        self._order = None

    def to_dict(self) -> dict[str, Any]:
        """Return the sketch as plain data, for JSON."""
        return {"zeros": self._zeros, "buckets": {str(key): weight for key, weight in sorted(self._buckets.items())}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read the data that `to_dict` wrote."""
        sketch = cls()
        sketch._zeros = float(data["zeros"])
        sketch._buckets.update({int(key): float(weight) for key, weight in data["buckets"].items()})
        sketch.count = sketch._zeros + sum(sketch._buckets.values())
        return sketch

    def __len__(self) -> int:
        """Return the number of buckets."""
        return len(self._buckets)

    def _sorted(self) -> list[int]:
        if self._order is None:
            self._order = sorted(self._buckets)
        return self._order

    def _collapse(self) -> None:
        """Put the smallest values together, a tenth of the buckets at once so that it is seldom done."""
        keys = self._sorted()
        last = keys[len(keys) - MOST_BUCKETS + MOST_BUCKETS // 10]
        small = [key for key in keys if key < last]
        self._buckets[last] += sum(self._buckets.pop(key) for key in small)
        self._order = None
