"""Housekeeping: what a server does beside requests, as every worker does, so that stores without workers are swept too.

    sweeper     returns overdue leases, whenever it has the turn
    liveness    returns what proven dead workers held
    pruner      forgets old events and acts
    rollup      sums up figures
    tallying    stores what the sweeps of this process counted

With `sweeps=False` (`tenure serve --view`) nothing of this runs; only the store's time is kept.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from tenure.app import Tenure
from tenure.errors import BrokerError
from tenure.event import Event
from tenure.runtime.bus import Bus
from tenure.runtime.depths import DepthWriter
from tenure.runtime.pruning import Pruner
from tenure.runtime.rollup import Rollup
from tenure.runtime.sideloop import cancel
from tenure.runtime.statistics import Statistics
from tenure.runtime.sweeper import Sweeper
from tenure.runtime.tallying import Tallying
from tenure.timing.tallied import store_seconds

logger = logging.getLogger("tenure.server")

Job = Callable[[], Coroutine[Any, Any, None]]

#: How often the store's time is learned again, where no worker of this process does it.
_TIME_SECONDS = 30.0
#: The sweep is late when nobody has been seen with the turn for so many intervals.
_LATE_INTERVALS = 2.0
#: And never earlier than this: a busy machine is no late sweep.
_LEAST_LATE_SECONDS = 10.0


class Housekeeping:
    """The jobs of one server."""

    def __init__(self, app: Tenure, *, sweeps: bool) -> None:
        """Nothing runs yet. The app is open."""
        self._app = app
        state, clock = app.state, app.clock
        self._bus = Bus(state.journal)
        self._statistics = Statistics()
        self._sweeper = Sweeper(
            app.broker, state.roster, clock, self._publish, request=app.sweep_request(), board=state.board
        )
        self._every = store_seconds(app.broker.traits.snapshot_seconds)
        self._tallying = Tallying(
            self._statistics, state.journal, state.wall, nonce=os.urandom(8).hex(), every_seconds=self._every
        )
        self._sweeps = sweeps
        self._jobs: list[asyncio.Task[None]] = []
        self._telling: asyncio.Task[None] | None = None
        #: What a part died of. A server that lost one must not look ready.
        self.failure: BaseException | None = None

    async def start(self) -> None:
        """Begin."""
        self._sweeper.note_check()
        create = asyncio.get_running_loop().create_task
        self._jobs = [create(self._guarded(job), name=f"tenure-server-{job.__qualname__}") for job in self._made()]
        self._telling = create(self._bus.run())

    async def stop(self) -> None:
        """End every job, and store what is left to tell."""
        await cancel(self._jobs)
        if self._sweeps:
            await self._tallying.close()
        self._bus.close()
        if self._telling is not None:
            await asyncio.gather(self._telling, return_exceptions=True)

    @property
    def sweep_is_late(self) -> bool | None:
        """Whether nobody has swept for a while. None: this server does not look."""
        if not self._sweeps:
            return None
        late = max(_LATE_INTERVALS * self._app.settings.sweep_interval_seconds, _LEAST_LATE_SECONDS)
        return self._app.clock.monotonic() - self._sweeper.checked_at > late

    def _made(self) -> list[Job]:
        if not self._sweeps:
            return [self._keep_time]
        app, state = self._app, self._app.state
        traits = app.broker.traits
        depths = DepthWriter(app.broker, state.journal, app.clock, state.wall) if traits.depth_is_exact else None
        rollup = Rollup(state.journal, state.board, state.wall, depths, store_seconds=self._every)
        pruner = Pruner(state, app.settings.journal_keep_seconds)
        return [
            self._sweeper.run, self._sweeper.look_for_dead, pruner.run, rollup.run, self._tallying.run, self._keep_time
        ]  # fmt: skip

    async def _keep_time(self) -> None:
        """The store's wall time is learned whenever the board is read."""
        while True:
            await asyncio.sleep(_TIME_SECONDS)
            try:
                await self._app.state.board.read()
            except BrokerError as error:
                logger.debug("the store's time was not asked for; the next try is in %g s: %s", _TIME_SECONDS, error)

    async def _guarded(self, job: Job) -> None:
        try:
            await job()
        except Exception as error:
            self.failure = self.failure or error
            logger.critical("%s died; the server is not ready any more: restart it", job.__qualname__, exc_info=error)

    def _publish(self, events: Sequence[Event]) -> None:
        self._statistics.note_events(events)
        self._bus.publish(events)
