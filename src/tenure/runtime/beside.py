"""Beside the path: what keeps a worker's leases and knows the world, while handlers may block its loop.

Heartbeat, sweeper, liveness tick, board, watchdog and pruner, on a loop and thread of their own with connections of
their own (`twin`); in virtual time in the one loop there is. What they find out is told on the worker's loop.

Made by `path.py`, which is the `Listener`.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Protocol

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.event import Event
from tenure.notice import Notices
from tenure.owner import Owner
from tenure.probe import SYSTEM_PROBE, Probe
from tenure.runtime.delivery import Delivery
from tenure.runtime.entrusting import EntrustedHeartbeat
from tenure.runtime.heartbeat import Heartbeat
from tenure.runtime.noticing import Noticing
from tenure.runtime.options import WorkerOptions
from tenure.runtime.pruning import Pruner
from tenure.runtime.sideloop import OwnThread, SameLoop, Side
from tenure.runtime.sweeper import Sweeper
from tenure.runtime.tether import Tether
from tenure.runtime.watchdog import Watchdog
from tenure.state import State

Job = Callable[[], Coroutine[Any, Any, None]]


class Listener(Protocol):
    """Who is told, always on the worker's loop."""

    @property
    def owner(self) -> Owner:
        """Whose life the roster is told of."""
        ...

    def on_lost(self, delivery: Delivery) -> None:
        """Its lease is gone."""
        ...

    def on_overheld(self, delivery: Delivery) -> None:
        """It ran longer than `max_hold`."""
        ...

    def on_beat_failed(self, count: int, error: str) -> None:
        """So many leases could not be renewed for now."""
        ...

    def on_blocked(self, seconds: float, stack: str) -> None:
        """The worker's loop, or its whole process, stood still."""
        ...

    def on_paused(self, queues: frozenset[str]) -> None:
        """These queues are paused now, and no others."""
        ...

    def publish(self, events: Sequence[Event]) -> None:
        """Something happened."""
        ...


class Beside:
    """The jobs beside the path of one worker."""

    def __init__(
        self, broker: Broker, state: State, clock: Clock, listener: Listener, options: WorkerOptions, *,
        tether: Tether | None = None, probe: Probe = SYSTEM_PROBE,
    ) -> None:  # fmt: skip
        """Nothing runs yet. Made on the worker's loop. With a `tether`, the supervisor may keep the leases."""
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        twin_broker, twin_state = broker.twin(), state.twin()
        self._twins = [twin for twin, own in ((twin_broker, broker), (twin_state, state)) if twin is not own]
        make = Heartbeat if tether is None or not tether.keeps_leases else partial(EntrustedHeartbeat, tether)
        self.heartbeat: Heartbeat = make(
            twin_broker, twin_state.ledger, clock,
            on_lost=lambda delivery: self._tell(listener.on_lost, delivery),
            on_overheld=lambda delivery: self._tell(listener.on_overheld, delivery),
            on_failed=lambda count, error: self._tell(listener.on_beat_failed, count, error),
        )  # fmt: skip
        self._sweeper = Sweeper(
            twin_broker,
            twin_state.roster,
            clock,
            lambda events: self._tell(listener.publish, events),
            request=options.sweep,
            board=twin_state.board,
            probe=probe,
        )
        self._noticing = Noticing(
            twin_state.board, clock, options.queues,
            on_paused=lambda paused: self._tell(listener.on_paused, paused),
            on_cancelled=self.heartbeat.check_now,
            every=options.liveness_seconds,
        )  # fmt: skip
        self._pruner = Pruner(twin_state.journal, options.journal_keep_seconds)
        self._watchdog = Watchdog(self._loop, clock, lambda s, stack: self._tell(listener.on_blocked, s, stack))
        self._own_thread = options.own_thread
        self._liveness_seconds = options.liveness_seconds
        name = f"tenure-side-{listener.owner.nonce}"
        self._side: Side = OwnThread(name) if options.own_thread else SameLoop()

    async def start(self, guarded: Callable[[Job], Job]) -> None:
        """Run every job until `stop`."""
        await self._side.start([guarded(job) for job in self._jobs()], self._doors)

    async def stop(self) -> None:
        """End every job, and wait until they are gone."""
        await self._side.stop()

    def notice(self, notices: Notices) -> None:
        """Take the first reading of the board, before anything is leased and before `start`."""
        self._noticing.take(notices)

    def _jobs(self) -> list[Job]:
        every = self._liveness_seconds
        watch_roster = lambda: self._sweeper.watch(lambda: self._listener.owner, every)  # noqa: E731
        jobs = [self.heartbeat.run, self._sweeper.run, watch_roster, self._noticing.run, self._pruner.run]
        return [*jobs, self._watchdog.run] if self._own_thread else jobs

    @contextlib.asynccontextmanager
    async def _doors(self) -> AsyncIterator[None]:
        """The twins belong to the loop of these jobs: opened and closed there."""
        async with contextlib.AsyncExitStack() as stack:
            for twin in self._twins:
                await twin.open()
                stack.push_async_callback(twin.close)
            yield

    def _tell(self, function: Callable[..., None], *args: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *args)
