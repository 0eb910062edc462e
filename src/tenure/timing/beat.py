"""The plan of beats for one message whose holder has only a receipt: when, and how much to ask for.

A touch sets the end of a lease to now + seconds; it does not add. So a beat that would gain nothing is not sent, none
ever shortens what is left, and none asks for more than a delivery may be held in all. A beat that failed is tried
again while there is time. Pure; moments are on one monotonic clock. Used by `standalone/visibility_heartbeat.py`.
"""

import math

import msgspec

from tenure.errors import BadArgument
from tenure.timing.policy import beat_again, beat_interval
from tenure.timing.why import duration

#: Asked for less than a service allows in all, because both sides count in whole seconds.
MARGIN_SECONDS = 2.0
_SHORTEST_RETRY_SECONDS = 0.05
#: Of a lease, the part that must be left when an interval is over; else the beat comes sooner.
_SPARE = 0.1


class BeatPlan(msgspec.Struct, frozen=True):
    """Ask for `extension_seconds` every `interval_seconds`, and hold nothing for longer than `hold_limit_seconds`."""

    extension_seconds: float
    interval_seconds: float
    hold_limit_seconds: float = math.inf

    @classmethod
    def of(cls, extension_seconds: float, interval_seconds: float | None, hold_limit_seconds: float) -> "BeatPlan":
        """A plan that can work; without an interval, a third of the extension."""
        interval = beat_interval(extension_seconds) if interval_seconds is None else interval_seconds
        if not 1.0 <= extension_seconds < math.inf or not 0.0 < interval < extension_seconds:
            msg = (
                f"a beat every {duration(interval)} that asks for {duration(extension_seconds)} cannot keep a lease: "
                "ask for 1 s or more, and beat sooner than that; no beat was sent"
            )
            raise BadArgument(msg)
        return cls(extension_seconds, interval, hold_limit_seconds)

    @property
    def forgives_a_missed_beat(self) -> bool:
        """Whether the lease outlasts one beat that never came."""
        return 2.0 * self.interval_seconds < self.extension_seconds

    def seconds_to_ask(self, now: float, began: float, deadline: float) -> int:
        """Whole seconds to ask for at `now`. 0: there is nothing to gain."""
        seconds = math.floor(min(math.ceil(self.extension_seconds), self._last_end(began) - now))
        return seconds if now + seconds > deadline else 0

    def is_at_limit(self, began: float, deadline: float) -> bool:
        """Whether the lease cannot be made longer by a second or more, whenever it is tried."""
        return deadline + 1.0 > self._last_end(began)

    def next_due(self, now: float, deadline: float) -> float:
        """Return when to beat next after a beat that worked."""
        due = now + self.interval_seconds
        left = deadline - now
        return due if due <= deadline - _SPARE * left else now + max(0.0, beat_interval(left))

    def retry_due(self, now: float, deadline: float) -> float:
        """Return when to beat again after a beat that failed."""
        left = min(self.interval_seconds, deadline - now) if deadline > now else self.interval_seconds
        return now + max(_SHORTEST_RETRY_SECONDS, beat_again(left))

    def _last_end(self, began: float) -> float:
        return began + self.hold_limit_seconds - MARGIN_SECONDS
