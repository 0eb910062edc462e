"""An interval: moments at its multiples since 1970-01-01T00:00Z.

It knows neither time zones nor when a worker was started, so all workers agree on the moments without talking.
Moments are wall times (Unix seconds). Pure. Used by `tasks/schedule.py`.
"""

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from tenure.errors import BadSchedule

_SHORTEST_SECONDS = 1.0
_LONGEST_SECONDS = 366 * 86_400.0
_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))


@dataclass(frozen=True)
class Every:
    """Moments at a fixed interval: its multiples since the epoch."""

    seconds: float

    def __post_init__(self) -> None:
        """Refuse an invalid interval."""
        number: object = self.seconds
        if isinstance(number, bool) or not isinstance(number, int | float) or not _is_interval(number):
            msg = f"every={number!r} is not an interval from 1 second to 366 days; nothing was registered"
            raise BadSchedule(msg)
        object.__setattr__(self, "seconds", float(number))

    @property
    def spec(self) -> str:
        """The interval for people: "every 5 min"."""
        for unit, name in _UNITS:
            if self.seconds % unit == 0:
                return f"every {self.seconds / unit:g} {name}"
        return f"every {self.seconds:.10g} s"

    def iso(self, moment: float) -> str:
        """The moment as ISO 8601, in UTC."""
        return datetime.fromtimestamp(moment, UTC).isoformat()

    def next_after(self, wall: float) -> float:
        """The first tick after `wall`."""
        count = math.floor(wall / self.seconds)
        return self.seconds * next(n for n in range(count, count + 3) if self.seconds * n > wall)

    def last_between(self, after: float, until: float) -> float | None:
        """The last tick after `after` that is not after `until`. None: there is none."""
        count = math.floor(until / self.seconds) + 1
        found = self.seconds * next(n for n in range(count, count - 3, -1) if self.seconds * n <= until)
        return found if found > after else None


def _is_interval(number: float) -> bool:
    return _SHORTEST_SECONDS <= number <= _LONGEST_SECONDS
