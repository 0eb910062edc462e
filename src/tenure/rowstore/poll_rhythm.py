"""The rhythm: when each physical queue is asked next, where one worker serves many of them.

A request is paid for, whether it brings something or not. So a queue that brought a full batch is asked again at
once; one that brought less, with a poll; one that brought nothing more and more rarely, from every 5 to every 30
seconds. What this process itself put into a queue, or returned to it, makes it due at that moment. Pure: no time, no
calls. Used by `prefetch.py` and `receiving.py`.
"""

import math
from collections.abc import Collection, Iterator

from tenure.delivery_queue import PhysicalQueue

#: Seconds from the begin of one poll to that of the next, after the first one that brought nothing, and at most.
FIRST_SECONDS, BOUND_SECONDS = 5.0, 30.0
#: What is expected of a queue to which this process has sent something.
_HEARD = 1


class Rhythm:
    """What is known of many physical queues."""

    def __init__(self) -> None:
        """Every queue is due."""
        #: The longest pause.
        self.bound = BOUND_SECONDS
        self._due: dict[PhysicalQueue, float] = {}
        self._pause: dict[PhysicalQueue, float] = {}
        #: Those that probably have something, in the order in which they are asked, and about how much.
        self._hot: dict[PhysicalQueue, int] = {}
        #: When something will be there, by our own account.
        self._later: dict[PhysicalQueue, float] = {}

    def ended(self, physical: PhysicalQueue, began: float, now: float, count: int, wanted: int) -> None:
        """It was asked at `began` for `wanted`, and brought `count`."""
        self._hot.pop(physical, None)
        if count:
            self._pause.pop(physical, None)
            self._due[physical] = now
            if count >= wanted:
                self._hot[physical] = count
            return
        pause = self._pause.get(physical, FIRST_SECONDS * self.bound / BOUND_SECONDS)
        self._due[physical] = min(began + pause, self._later.get(physical, math.inf))
        self._pause[physical] = min(self.bound, 2 * pause)

    def failed(self, physical: PhysicalQueue, now: float) -> None:
        """It could not be asked: the others come first for a while."""
        self._hot.pop(physical, None)
        self._due[physical], self._pause[physical] = now + min(FIRST_SECONDS, self.bound), self.bound

    def heard(self, physical: PhysicalQueue, at: float, now: float) -> None:
        """From `at` on something may be there."""
        if at <= now:
            self._hot.setdefault(physical, _HEARD)
            self._due[physical] = min(now, self._due.get(physical, now))
        else:
            self._later[physical] = min(at, self._later.get(physical, at))
            self._due[physical] = min(at, self._due.get(physical, at))
        self._pause.pop(physical, None)

    def hot(
        self, served: Collection[PhysicalQueue], polled: Collection[PhysicalQueue], room: int, now: float
    ) -> list[PhysicalQueue]:
        """Which to ask at once to fill `room`, as far as one can tell; those that waited longest first.

        Not those of `polled`: what is there is on its way.
        """
        self._promote(now)
        chosen: list[PhysicalQueue] = []
        for physical, expected in self._hot.items():
            if room <= 0:
                break
            if physical in served and physical not in polled:
                chosen.append(physical)
                room -= expected
        return chosen

    def has_hot(self, served: Collection[PhysicalQueue], polled: Collection[PhysicalQueue], now: float) -> bool:
        """Whether `hot` would name one."""
        self._promote(now)
        return any(physical in served and physical not in polled for physical in self._hot)

    def _promote(self, now: float) -> None:
        """What was to be there later, and is by now."""
        for physical in [physical for physical, at in self._later.items() if at <= now]:
            del self._later[physical]
            self._hot.setdefault(physical, _HEARD)

    def due(self, physicals: Collection[PhysicalQueue], now: float) -> Iterator[PhysicalQueue]:
        """Those that are to be polled now, due for longest first. Those that have something need no poll."""
        hot = self._hot
        ready = [
            (at, number, physical)
            for number, physical in enumerate(physicals)
            if (at := self._due.get(physical, 0.0)) <= now and physical not in hot
        ]
        ready.sort(key=lambda one: one[:2])
        return (physical for _, _, physical in ready)

    def next_due(self, physicals: Collection[PhysicalQueue], now: float) -> float:
        """When the next of those is due that are not yet."""
        return min((at for physical in physicals if (at := self._due.get(physical, 0.0)) > now), default=float("inf"))
