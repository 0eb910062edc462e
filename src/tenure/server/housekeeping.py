"""Housekeeping: what a server does beside requests, as every worker does, so that stores without workers are swept too.

    sweeper     returns overdue leases, whenever it has the turn
    liveness    returns what proven dead workers held
    pruner      forgets old events and acts
    rollup      sums up figures
    tallying    stores what sweeps and consumers over HTTP counted
    deliveries  announces what has ended, and posts webhooks
    alerting    judges alerts, whenever it has the turn

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
from tenure.monitoring.metrics.bounded import BoundedLabels
from tenure.monitoring.metrics.sample import Sample
from tenure.monitoring.metrics.work import work_samples
from tenure.rules.health import late_after
from tenure.runtime.background.bus import Bus
from tenure.runtime.background.depths import DepthWriter
from tenure.runtime.background.journal_pruner import JournalPruner
from tenure.runtime.background.rollup import Rollup
from tenure.runtime.background.side_thread import cancel
from tenure.runtime.background.statistics import Statistics
from tenure.runtime.background.sweeper import Sweeper
from tenure.runtime.background.tallying import Tallying
from tenure.runtime.worker import Companion
from tenure.timing.tallied import store_seconds

logger = logging.getLogger("tenure.server")

Job = Callable[[], Coroutine[Any, Any, None]]

#: How often the store's time is learned again, where no worker of this process does it.
_TIME_SECONDS = 30.0
#: The sweep is never late earlier than this: a busy machine is no late sweep.
_LEAST_LATE_SECONDS = 10.0


class Housekeeping:
    """The jobs of one server."""

    def __init__(self, app: Tenure, *, sweeps: bool) -> None:
        """Do the jobs of `app`, which is open. `sweeps`: return overdue leases, too."""
        self._app = app
        state, clock = app.state, app.clock
        self._bus = Bus(state.journal, app.event_log())
        #: What sweeps and consumers over HTTP count.
        self.statistics = Statistics()
        self._sweeper = Sweeper(
            app.broker, state.roster, clock, self._publish, request=app.sweep_request(), board=state.board
        )
        self._every = store_seconds(app.broker.traits.snapshot_seconds)
        self._tallying = Tallying(
            self.statistics, state.journal, state.wall, nonce=os.urandom(8).hex(), every_seconds=self._every
        )
        self._sweeps = sweeps
        self._companions: tuple[Companion, ...] = (app.deliveries(), *app.alerting()) if sweeps else ()
        self._jobs: list[asyncio.Task[None]] = []
        self._telling: asyncio.Task[None] | None = None
        #: What a part died of. A server that lost one must not look ready.
        self.failure: BaseException | None = None

    async def start(self) -> None:
        """Start the jobs."""
        self._sweeper.note_check()
        create = asyncio.get_running_loop().create_task
        self._jobs = [create(self._guarded(job), name=f"tenure-server-{job.__qualname__}") for job in self._made()]
        self._telling = create(self._bus.run())
        for one in self._companions:
            await one.start()

    async def stop(self) -> None:
        """End every job, and store the remaining counts."""
        for one in self._companions:
            await one.stop()
        await cancel(self._jobs)
        if self._sweeps:
            await self._tallying.close()
        self._bus.close()
        if self._telling is not None:
            await asyncio.gather(self._telling, return_exceptions=True)

    def metrics(self, bounds: BoundedLabels) -> list[Sample]:
        """What these jobs did, as samples. Without sweeps there is nothing but the bus."""
        found = [
            Sample("tenure_journal_waiting_events", (), self._bus.waiting),
            Sample("tenure_journal_dropped_events_total", (), self._bus.dropped),
            *(Sample("tenure_events_total", (kind,), number) for kind, number in self._bus.counts.items()),
            *work_samples(self.statistics.series(), bounds),
        ]
        if self._sweeps:
            found += self.statistics.facts.samples(bounds.queues.of, bounds.tasks.of)
            interval = self._app.settings.sweep_interval_seconds
            found.append(Sample("tenure_sweep_interval_seconds", (), interval))
        return found + [sample for one in self._companions for sample in one.metrics()]

    @property
    def late_seconds(self) -> float:
        """After how long without a sweep it is late."""
        return late_after(self._app.settings.sweep_interval_seconds, _LEAST_LATE_SECONDS)

    @property
    def is_swept(self) -> bool | None:
        """Whether a sweep was seen lately. None: this server does not look."""
        if not self._sweeps:
            return None
        return self._app.clock.monotonic() - self._sweeper.checked_at <= self.late_seconds

    def _made(self) -> list[Job]:
        if not self._sweeps:
            return [self._keep_time]
        app, state = self._app, self._app.state
        traits = app.broker.traits
        depths = DepthWriter(app.broker, state.journal, app.clock, state.wall) if traits.depth_is_exact else None
        rollup = Rollup(state.journal, state.board, state.wall, depths, store_seconds=self._every)
        pruner = JournalPruner(state, app.settings.journal_keep_seconds)
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
                logger.debug("the store's time could not be read; the next try is in %g s: %s", _TIME_SECONDS, error)

    async def _guarded(self, job: Job) -> None:
        try:
            await job()
        except Exception as error:
            self.failure = self.failure or error
            logger.critical("%s died; the server is not ready any more: restart it", job.__qualname__, exc_info=error)

    def publish(self, events: Sequence[Event]) -> None:
        """Publish events of messages, which are counted where they were settled."""
        self._bus.publish(events)

    def _publish(self, events: Sequence[Event]) -> None:
        self.statistics.note_events(events)
        self._bus.publish(events)
