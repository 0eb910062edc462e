"""An autoscaler: as many workers as `app.operate.scaling` asks for.

It looks at what waits *and* at what runs. A rule that looks at what waits alone sees an empty queue as soon as the
workers have taken everything, and stops them in the middle of their work.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from tenure import Tenure

from .fleet import Fleet

_LOOK_SECONDS = 0.25


class Look(NamedTuple):
    """What the autoscaler saw and wanted at one moment. None: it could not be known."""

    waiting: int | None
    running: int | None
    workers: int
    wanted: int | None
    #: What a rule would want that looks at the waiting ones alone.
    waiting_only: int | None
    why: str


class Autoscaler:
    """Starts and drains workers of a fleet."""

    def __init__(
        self,
        app: Tenure,
        fleet: Fleet,
        *,
        target_age_seconds: float,
        cooldown_seconds: float,
        on_look: Callable[[Look], None],
    ) -> None:
        """Have what waits begun within the target age; keep new workers for the cooldown. `on_look`: what it sees."""
        self._app = app
        self._fleet = fleet
        self._target_age_seconds = target_age_seconds
        self._cooldown_seconds = cooldown_seconds
        self._on_look = on_look

    async def run(self) -> None:
        """Look and act until cancelled."""
        while True:
            report = await self._app.operate.scaling(
                self._target_age_seconds, slots=1, cooldown_seconds=self._cooldown_seconds
            )
            (need,) = report.queues
            running = len(self._fleet.running())
            self._on_look(Look(need.ready, need.leased, running, need.desired, need.visible_only, need.why))
            if need.desired is not None:  # None: it cannot be known now; then nothing is changed
                for _ in range(need.desired - running):
                    self._fleet.start()
                if need.desired < running:
                    await self._drain(running - need.desired)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _drain(self, count: int) -> None:
        """Have workers leave that hold nothing. Should one begin a video just now, it finishes that first."""
        running = self._fleet.running()
        workers = (await self._app.operate.workers()).workers
        idle = [one for one in workers if one.name in running and not one.holds]
        for one in idle[:count]:
            await self._app.operate.drain_worker(one.id)
            self._fleet.note_leaving(one.name)
