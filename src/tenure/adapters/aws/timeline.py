"""A time line that all machines share without trusting their own clocks: the service's, as its answers tell it.

Every answer carries the second in which it was made (`Date`). It was made before it came and after it was asked for,
so each one bounds how far our monotonic clock is from the service's; some dozens of them bound it to milliseconds.
Between answers the monotonic clock goes on, which never jumps. In virtual time the test's clock is the line.

A process that has heard few answers knows the time only to the second, and another one may know it better. So the
deadline of a lease is written by the latest time that it may be, and judged by the earliest: no lease is taken before
its holder thinks it is over.

Used by `dynamo.py`: every deadline, due time and word of presence is a moment on this line.
"""

import math
from email.utils import parsedate_to_datetime

from tenure.clock import Clock, SystemClock

#: Bounds are loosened by so much a second: two clocks never run quite alike.
_DRIFT = 50e-6


class Timeline:
    """The service's time, in Unix seconds."""

    def __init__(self, clock: Clock) -> None:
        """Nothing was heard yet."""
        self._clock = clock
        self._is_virtual = not isinstance(clock, SystemClock)
        #: Replaces the service's wall clock in virtual time: ours as it was, whatever is set here later.
        self._began = clock.wall() - clock.monotonic()
        #: The service's time is our monotonic one plus something between these.
        self._least, self._most = -math.inf, math.inf
        self._heard = 0.0

    def now(self) -> float:
        """The service's time, as well as it is known; our wall clock's before the first answer."""
        now = self._clock.monotonic()
        if self._is_virtual:
            return now
        if math.isinf(self._least):
            return self._clock.wall()
        # The late end of the doubt is cut first by quick answers, so the early end is the better guess.
        return now + min(self._least + _HALF, (self._least + self._most) / 2)

    def earliest(self) -> float:
        """The service's time, if it is as early as it may be: to judge whether a lease is over."""
        return self.now() if self._is_virtual or math.isinf(self._least) else self._clock.monotonic() + self._least

    def latest(self) -> float:
        """The service's time, if it is as late as it may be: for the deadlines of leases."""
        return self.now() if self._is_virtual or math.isinf(self._most) else self._clock.monotonic() + self._most

    def wall(self) -> float:
        """The service's wall time: the same line, which in virtual time begins elsewhere."""
        return self._clock.monotonic() + self._began if self._is_virtual else self.now()

    def hear(self, date: str | None, asked: float) -> None:
        """An answer that was asked for at `asked` (monotonic) came just now, and says when it was made."""
        if self._is_virtual or not date:
            return
        try:
            told = parsedate_to_datetime(date).timestamp()
        except ValueError:
            return
        now = self._clock.monotonic()
        loosened = (now - self._heard) * _DRIFT
        self._heard = now
        least, most = told - now, told + 1.0 - asked
        self._least, self._most = max(self._least - loosened, least), min(self._most + loosened, most)
        if self._least > self._most:  # the service's own clock was set: what was known before is worth nothing
            self._least, self._most = least, most


_HALF = 0.5
