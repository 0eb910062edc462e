"""The fleet: as many workers as are wanted now, and what they cost.

Without scaling it is as large as the scenario says from the beginning to the end. With it, a scaler looks at the queue
once a minute and asks for more or fewer. The workers to stop are chosen at random, because an autoscaler does not
know which of them are busy, unless they report it (`idle_first`). They stop as after SIGTERM, with a grace. Used by
`running.py`.
"""

import asyncio
import random
from collections.abc import Callable

import msgspec

from tenure.broker import Broker
from tenure.errors import BadArgument
from tenure.simulation.scenario import Scenario
from tenure.simulation.virtual_worker import QUEUE, VirtualWorker
from tenure.testing.virtual import VirtualClock
from tenure.timing.scaling import Backlog, Pace, ScalingRules, desired_workers, visible_only
from tenure.timing.span import EXAMPLES, seconds_in

LOOK_SECONDS = 60.0
_TAIL = 0.99
_USUAL_COOLDOWN = 600.0
_MOST_COOLDOWN = 86_400.0


class Scaling(msgspec.Struct, frozen=True):
    """A rule for how many workers there are."""

    #: False: only what waits is looked at, and what runs is forgotten.
    counts_running: bool
    #: After workers were added, none is taken away for this long.
    cooldown_seconds: float

    @property
    def name(self) -> str:
        """The rule of scaling as it is written on the command line."""
        return f"{'backlog' if self.counts_running else 'visible'}:{self.cooldown_seconds:g}"


def scaling_of(text: str) -> Scaling:
    """Parse `backlog` or `visible`, alone or with a cooldown: `visible:1500`, `visible:25m`. Raises `BadArgument`."""
    word, _, number = text.strip().partition(":")
    cooldown = seconds_in(number) if number else _USUAL_COOLDOWN
    if word not in ("backlog", "visible") or cooldown is None or cooldown > _MOST_COOLDOWN:
        msg = (
            f"{text!r} is not a rule for scaling; write backlog or visible, alone or with a cooldown of a day at most, "
            f"visible:COOLDOWN, as {EXAMPLES}; nothing was simulated"
        )
        raise BadArgument(msg)
    return Scaling(word == "backlog", cooldown)


class FleetView(msgspec.Struct, frozen=True, gc=False):
    """The workers and their queue at one moment."""

    at: float
    workers: int
    ready: int
    leased: int


class Fleet:
    """Seats that come and go."""

    def __init__(self, make: Callable[[int], VirtualWorker], clock: VirtualClock, scenario: Scenario) -> None:
        """Take the settings of the fleet; `make` makes the worker of a number."""
        self._make = make
        self._clock = clock
        self._idle_first = scenario.idle_first
        self._chance = random.Random(f"{scenario.seed}/leaving")  # noqa: S311 - chance, not a secret
        self._seats: dict[VirtualWorker, float] = {}
        self._made = 0
        self._leaving: set[asyncio.Task[None]] = set()
        #: Of those that left.
        self._seconds = 0.0

    def __len__(self) -> int:
        """Seats that are to stay."""
        return len(self._seats)

    @property
    def worker_seconds(self) -> float:
        """The time that workers existed, summed over all."""
        return self._seconds + sum(self._clock.now - since for since in self._seats.values())

    async def become(self, wanted: int) -> None:
        """Set the number of workers. Returns before those that stop are gone."""
        while len(self._seats) < wanted:
            seat = self._make(self._made)
            self._made += 1
            self._seats[seat] = self._clock.now
            await seat.start()
        for seat in self._who_goes(len(self._seats) - wanted):
            since = self._seats.pop(seat)
            leaving = asyncio.get_running_loop().create_task(self._let_go(seat, since))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)

    def _who_goes(self, count: int) -> list[VirtualWorker]:
        lots = self._chance.sample(list(self._seats), len(self._seats)) if count else []
        if self._idle_first:
            lots.sort(key=lambda seat: seat.is_busy)
        return lots[:count]

    async def _let_go(self, seat: VirtualWorker, since: float) -> None:
        try:
            await seat.stop()
        finally:
            self._seconds += self._clock.now - since

    async def end(self) -> None:
        """Everybody ends where they are."""
        for leaving in list(self._leaving):
            leaving.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)
        self._seconds = self.worker_seconds
        seats, self._seats = list(self._seats), {}
        for seat in seats:
            await seat.end()


class Scaler:
    """Asks for more workers, and for fewer."""

    def __init__(self, crew: Fleet, broker: Broker, scenario: Scenario, scaling: Scaling, clock: VirtualClock) -> None:
        """Look at the queue of `broker`; the pace of the work is known, as if it had been measured."""
        self._crew = crew
        self._broker = broker
        self._scaling = scaling
        self._clock = clock
        seconds = sorted(work.seconds for work in scenario.works)
        self._pace = Pace(sum(seconds) / len(seconds), seconds[int(_TAIL * (len(seconds) - 1))], len(seconds))
        self._rules = ScalingRules(
            target_age_seconds=scenario.target_age_seconds,
            slots=scenario.slots,
            maximum=scenario.workers,
            cooldown_seconds=scaling.cooldown_seconds,
        )
        self._added_at = float("-inf")
        #: What was seen at each look.
        self.seen: list[FleetView] = []

    async def run(self) -> None:
        """Look for ever."""
        began = self._clock.now
        while True:
            (depth,) = await self._broker.depth([QUEUE])
            backlog = Backlog(ready=depth.ready, leased=depth.leased)
            current = len(self._crew)
            rule = desired_workers if self._scaling.counts_running else visible_only
            since_added = self._clock.now - self._added_at
            wanted = rule(backlog, self._pace, self._rules, current=current, since_added_seconds=since_added).workers
            if wanted is not None and wanted != current:
                self._added_at = self._clock.now if wanted > current else self._added_at
                await self._crew.become(wanted)
            glance = FleetView(self._clock.now - began, len(self._crew), depth.ready or 0, depth.leased or 0)
            self.seen.append(glance)
            await asyncio.sleep(LOOK_SECONDS)
