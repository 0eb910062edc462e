"""Doubt: a run that took far longer than any other is not believed until it happens again.

A laptop sleeps for six hours, a disk stops answering, a machine is frozen: all runs of that moment take hours instead
of seconds, once. Where there are few runs the longest one decides, and a lease of half a day would follow from what
happened once. So a run of more than ten times the longest usual one counts as ten times that, and in full only if it
began after another such run had ended, within a few hours: runs that were under way together are one mishap, however
many they are. Work that really takes so long costs one lease that is too short, and is believed from then on.

Of work with a size it is actual ÷ predicted that is compared, and only among sizes that were seen before: what another
size takes is not known beforehand. Pure; asked by `evidence.py` for what it counts.
"""

import math
from collections.abc import Sequence
from statistics import median

#: This many times as long as the longest usual one is strange.
STRANGE_FACTOR = 10.0
#: What took less is never strange: the shortest leases are about as long anyway.
LEAST_STRANGE_SECONDS = 10.0
#: From the end of a strange run to the begin of the one that confirms it.
CONFIRMED_WITHIN_SECONDS = 6 * 3600.0
#: Fewer runs do not show what is usual.
_LEAST_RUNS = 3
#: By each run, what was the longest usual one counts a little less: it fades by half in seven hundred.
_FADE = 0.999


#: Seconds, size, when it ended.
Run = tuple[float, float | None, float]


class Doubt:
    """The usual times of one task, and whether an outlier has happened lately."""

    __slots__ = ("_ended", "_largest", "_longest", "_runs", "_smallest", "seconds")

    def __init__(self) -> None:
        """Begin without any run."""
        self._runs = 0
        self._longest = 0.0
        # Of the sizes seen.
        self._smallest, self._largest = math.inf, 0.0
        #: When the first strange run of a mishap ended. None: there was none.
        self._ended: float | None = None
        #: The longest run that was not counted in full, and has not been confirmed since. None: there is none.
        self.seconds: float | None = None

    def believed(self, runs: Sequence[Run], compared: Sequence[float]) -> list[float] | None:
        """Return the weights of runs (seconds, size, when they ended). None: all count in full.

        Compared are seconds, or what they were over what was predicted. Asked of all runs: where nothing is strange it
        must cost next to nothing.
        """
        most = max(compared)
        self._runs += len(runs)
        if self._runs < _LEAST_RUNS:
            self._longest = max(self._longest, most)
            return None
        self._longest = self._longest or median(compared)
        limit = STRANGE_FACTOR * self._longest
        if most <= limit:
            self._longest = max(most, self._longest * _FADE ** len(runs))
            return None
        return [self._part(limit, *pair) for pair in zip(compared, runs, strict=True)]

    def see(self, smallest: float, largest: float) -> None:
        """Sizes between these were measured."""
        self._smallest, self._largest = min(self._smallest, smallest), max(self._largest, largest)

    def scale(self, factor: float) -> None:
        """Rescale: runs are now compared with another line."""
        self._longest *= factor

    def _part(self, limit: float, compared: float, run: Run) -> float:
        seconds, size, at = run
        is_new = size is not None and not self._smallest <= size <= self._largest
        if compared <= limit or seconds <= LEAST_STRANGE_SECONDS or is_new:
            self._longest = max(self._longest, compared)
            return 1.0
        if self._confirms(at - seconds):
            self._longest = max(self._longest, compared)
            self.seconds = None
            return 1.0
        self.seconds = max(self.seconds or 0.0, seconds)
        if self._ended is None or at - seconds > self._ended:  # the one before was too long ago
            self._ended = at
        return max(limit / compared, LEAST_STRANGE_SECONDS / seconds)

    def _confirms(self, began: float) -> bool:
        return self._ended is not None and self._ended <= began <= self._ended + CONFIRMED_WITHIN_SECONDS
