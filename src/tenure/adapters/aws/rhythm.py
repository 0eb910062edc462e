"""The rhythm: when each physical queue is asked next, where one worker serves many of them.

A request to SQS is paid for, whether it brings something or not. So a queue that brought a full batch is asked again at
once; one that brought less, with a poll; one that brought nothing more and more rarely, from every 5 to every 30
seconds. What this process itself put into a queue, or returned to it, makes it due at that moment. Pure: no time, no
calls. Used by `stash.py` and `receiving.py`.
"""

import math
from collections.abc import Collection, Iterator

from tenure.adapters.aws.copy import Spot

#: Seconds from the begin of one poll to that of the next, after the first one that brought nothing, and at most.
FIRST_SECONDS, BOUND_SECONDS = 5.0, 30.0
#: What is expected of a queue to which this process has sent something.
_HEARD = 1


class Rhythm:
    """What is known of many physical queues."""

    def __init__(self) -> None:
        """Every queue is due."""
        self._due: dict[Spot, float] = {}
        self._pause: dict[Spot, float] = {}
        #: Those that probably have something, in the order in which they are asked, and about how much.
        self._hot: dict[Spot, int] = {}
        #: When something will be there, by our own account.
        self._later: dict[Spot, float] = {}

    def ended(self, spot: Spot, began: float, now: float, count: int, wanted: int) -> None:
        """It was asked at `began` for `wanted`, and brought `count`."""
        self._hot.pop(spot, None)
        if count:
            self._pause.pop(spot, None)
            self._due[spot] = now
            if count >= wanted:
                self._hot[spot] = count
            return
        pause = self._pause.get(spot, FIRST_SECONDS)
        self._due[spot] = min(began + pause, self._later.get(spot, math.inf))
        self._pause[spot] = min(BOUND_SECONDS, 2 * pause)

    def failed(self, spot: Spot, now: float) -> None:
        """It could not be asked: the others come first for a while."""
        self._hot.pop(spot, None)
        self._due[spot], self._pause[spot] = now + FIRST_SECONDS, BOUND_SECONDS

    def heard(self, spot: Spot, at: float, now: float) -> None:
        """From `at` on something may be there."""
        if at <= now:
            self._hot.setdefault(spot, _HEARD)
            self._due[spot] = min(now, self._due.get(spot, now))
        else:
            self._later[spot] = min(at, self._later.get(spot, at))
            self._due[spot] = min(at, self._due.get(spot, at))
        self._pause.pop(spot, None)

    def hot(self, served: Collection[Spot], polled: Collection[Spot], room: int, now: float) -> list[Spot]:
        """Which to ask at once to fill `room`, as far as one can tell; those that waited longest first.

        Not those of `polled`: what is there is on its way.
        """
        self._promote(now)
        chosen: list[Spot] = []
        for spot, expected in self._hot.items():
            if room <= 0:
                break
            if spot in served and spot not in polled:
                chosen.append(spot)
                room -= expected
        return chosen

    def has_hot(self, served: Collection[Spot], polled: Collection[Spot], now: float) -> bool:
        """Whether `hot` would name one."""
        self._promote(now)
        return any(spot in served and spot not in polled for spot in self._hot)

    def _promote(self, now: float) -> None:
        """What was to be there later, and is by now."""
        for spot in [spot for spot, at in self._later.items() if at <= now]:
            del self._later[spot]
            self._hot.setdefault(spot, _HEARD)

    def due(self, spots: Collection[Spot], now: float) -> Iterator[Spot]:
        """Those that are to be polled now, due for longest first. Those that have something are asked without a poll."""
        hot = self._hot
        ready = [
            (at, number, spot)
            for number, spot in enumerate(spots)
            if (at := self._due.get(spot, 0.0)) <= now and spot not in hot
        ]
        ready.sort(key=lambda one: one[:2])
        return (spot for _, _, spot in ready)

    def next_due(self, spots: Collection[Spot], now: float) -> float:
        """When the next of those is due that are not yet."""
        return min((at for spot in spots if (at := self._due.get(spot, 0.0)) > now), default=float("inf"))
