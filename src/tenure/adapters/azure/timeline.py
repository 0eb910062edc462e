"""The time of the account: what all who use it agree on.

The service tells its time with every answer, to the second. Of many answers the latest bound is nearly exact: the time
of the service is never before what it said, and never a second after it. Deadlines in the table are on this line, so
the wall clocks of machines may be as wrong as they like. In virtual time the clock that is handed in is the line.

Whoever has heard few answers knows the time only to the second, and another one may know it better. So a deadline is
written by the latest that it may be, and judged by the earliest: no lease is over before its holder thinks so.
"""

from email.utils import parsedate_to_datetime

from tenure.clock import Clock, SystemClock

_SECOND = 1.0


class Timeline:
    """From our own monotonic clock to the time of the service."""

    def __init__(self, clock: Clock) -> None:
        """Start with our own wall clock, until the service said something."""
        self._clock = clock
        self.is_virtual = not isinstance(clock, SystemClock)
        #: What stands for the service's wall clock in virtual time: ours as it was, whatever is set here later.
        self._began = clock.wall() - clock.monotonic()
        self._offset = 0.0 if self.is_virtual else self._began
        #: The most that the offset may be.
        self._most = self._offset
        self._heard = False

    def now(self) -> float:
        """Seconds, on the line that everybody shares."""
        return self._clock.monotonic() + self._offset

    def latest(self) -> float:
        """The same, if it is as late as it may be: for the deadlines of leases."""
        return self._clock.monotonic() + self._most

    def wall(self) -> float:
        """The service's own wall time."""
        return self._clock.monotonic() + (self._began if self.is_virtual else self._offset)

    def hear(self, date: str | None, asked: float) -> None:
        """The service said `date` in an answer to what was asked at `asked` (monotonic)."""
        if self.is_virtual or not date:
            return
        try:
            told = parsedate_to_datetime(date).timestamp()
        except ValueError:
            return
        # It was at least `told` when the answer came, and at most a second more when we asked.
        least, most = told - self._clock.monotonic(), told + _SECOND - asked
        if not self._heard:
            self._offset, self._most, self._heard = least, most, True
        self._offset = min(max(self._offset, least), max(most, least))
        self._most = max(self._offset, min(self._most, most))
