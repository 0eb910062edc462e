"""A limit of a queue: how many of its messages may run at once, and how many may start in a second, over all workers.

A task's code has one (`@app.task(rate="100/m", running=5)`), and an operator may set another, which counts instead of
it until it is cleared (`tenure limit`). Kept by `Broker.lease`, by the decisions of `rules/limits.py`.
"""

import math
import re
from collections.abc import Mapping

import msgspec

from tenure.errors import BadArgument

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_RATE = re.compile(r"(\d+(?:\.\d+)?) */ *(\d+)? *([smhd])")
_FASTEST, _SLOWEST = 1e6, 1 / _UNITS["d"] / 366


class Limit(msgspec.Struct, frozen=True):
    """At most so many leases of a queue at once, and so many new ones a second. None: no limit of that kind."""

    running: int | None = None
    per_second: float | None = None

    @property
    def burst(self) -> float:
        """So many may be leased at once after a pause: one second's worth, at least 1."""
        return math.inf if self.per_second is None else max(1.0, self.per_second)

    @property
    def is_none(self) -> bool:
        """Whether nothing is limited."""
        return self.running is None and self.per_second is None

    def __str__(self) -> str:
        """As people read it: `5 running, 100/m`."""
        parts = [] if self.running is None else [f"{self.running} running"]
        parts += [] if self.per_second is None else [rate_text(self.per_second)]
        return ", ".join(parts) or "no limit"


NO_LIMIT = Limit()
#: What a request without limits carries.
NO_LIMITS: Mapping[str, Limit] = {}


def limit_from(*, running: object = None, rate: object = None) -> Limit:
    """The limit that people describe: `running=5`, `rate="100/m"`. Raises `BadArgument`."""
    if running is not None and (not isinstance(running, int) or isinstance(running, bool) or running < 1):
        raise BadArgument(f"running={running!r} is not a whole number of at least 1")
    return Limit(running, None if rate is None else per_second(rate))


def per_second(rate: object) -> float:
    """Read a rate: `"100/m"`, `"5/s"`, `"1/10s"`, or a number a second. Raises `BadArgument`."""
    number = None
    if isinstance(rate, int | float) and not isinstance(rate, bool):
        number = float(rate)
    elif isinstance(rate, str) and (found := _RATE.fullmatch(rate.strip())) is not None:
        count, units, unit = found.groups()
        span = int(units or 1) * _UNITS[unit]
        number = float(count) / span if span else None
    if number is None or not _SLOWEST <= number <= _FASTEST:
        raise BadArgument(
            f"rate={rate!r} is not a rate: write a number for each s, m, h or d, such as 100/m, 5/s or 1/10s"
        )
    return number


def rate_text(rate: float) -> str:
    """A rate as people write it: in the shortest unit in which it is at least 1."""
    for unit, seconds in _UNITS.items():
        number = round(rate * seconds, 6)
        if number >= 1 and (unit == "d" or number == round(number, 2)):
            return f"{number:g}/{unit}"
    return f"1/{1 / rate:.6g}s"
