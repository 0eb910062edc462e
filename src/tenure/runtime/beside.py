"""Beside the path: what keeps a worker's leases and knows the world, while handlers may block its loop.

Heartbeat, sweeper, liveness tick, board, watchdog, pruner, answers to who asks where a handler is, and the look for a
suspended machine, on a loop and thread of their own with connections of their own (`twin`); in virtual time in the one
loop there is. What they find out is told on the worker's loop.

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
from tenure.runtime.depths import DepthWriter
from tenure.runtime.entrusting import EntrustedHeartbeat
from tenure.runtime.heartbeat import Heartbeat
from tenure.runtime.noticing import Noticing
from tenure.runtime.options import WorkerOptions
from tenure.runtime.pruning import Pruner
from tenure.runtime.rollup import Rollup
from tenure.runtime.sideloop import OwnThread, SameLoop, Side
from tenure.runtime.skewing import Skewing
from tenure.runtime.stacks.answers import StackAnswers
from tenure.runtime.stacks.look import Look, Runs
from tenure.runtime.suspension import Suspension
from tenure.runtime.sweeper import Sweeper
from tenure.runtime.tether import Tether
from tenure.runtime.watchdog import Watchdog
from tenure.state import State
from tenure.timing.tallied import store_seconds

Job = Callable[[], Coroutine[Any, Any, None]]


class Listener(Protocol):
    """Who is told, always on the worker's loop."""

    @property
    def owner(self) -> Owner:
        """Whose life the roster is told of."""
        ...

    @property
    def runs(self) -> Runs:
        """What runs in this worker, for who asks where a handler is."""
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

    def on_beats(self, names: Sequence[tuple[str, str]]) -> None:
        """Leases were renewed; the queue and task of each."""
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
            on_beats=lambda names: self._tell(listener.on_beats, names),
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
            on_asked=lambda posts: self._answers.ask(posts),  # noqa: PLW0108 - made below
            every=options.liveness_seconds,
        )  # fmt: skip
        # Where the supervisor keeps the leases, it looks itself.
        self._suspension = None if isinstance(self.heartbeat, EntrustedHeartbeat) else Suspension(
            clock, self.heartbeat.__len__, self.heartbeat.check_now, every=options.liveness_seconds
        )  # fmt: skip
        #: The store's wall time, learned once a second by `Noticing`.
        self.wall = twin_state.wall
        self._skewing = Skewing(listener.owner.name, clock, self.wall, options.liveness_seconds)
        self._pruner = Pruner(twin_state, options.journal_keep_seconds)
        self._rollup = Rollup(
            twin_state.journal, twin_state.board, twin_state.wall,
            DepthWriter(twin_broker, twin_state.journal, clock, twin_state.wall)
            if broker.traits.depth_is_exact else None,
            store_seconds=store_seconds(broker.traits.snapshot_seconds),
        )  # fmt: skip
        self._has_statistics = options.statistics
        self._watchdog = Watchdog(
            self._loop, lambda s, stack: self._tell(listener.on_blocked, s, stack),
            on_look=(lambda: None) if tether is None else tether.tick,
        )  # fmt: skip
        look = Look(
            lambda: listener.runs, clock, own_thread=options.own_thread, silent_seconds=self._watchdog.silent_seconds
        )
        self._answers = StackAnswers(
            twin_state.key_values, look, self.heartbeat.deliveries,
            owner=lambda: listener.owner.id, wall=twin_state.wall,
        )  # fmt: skip
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

    def serve(self, queues: Sequence[str]) -> None:
        """The queues that are served have changed."""
        self._noticing.queues = tuple(queues)

    def notice(self, notices: Notices) -> None:
        """Take the first reading of the board, before anything is leased and before `start`."""
        self._noticing.take(notices)

    def _jobs(self) -> list[Job]:
        every = self._liveness_seconds
        watch_roster = lambda: self._sweeper.watch(lambda: self._listener.owner, every)  # noqa: E731
        jobs = [self.heartbeat.run, self._sweeper.run, watch_roster, self._noticing.run, self._pruner.run]
        jobs += [self._answers.run]
        jobs += [self._skewing.run, *([self._rollup.run] if self._has_statistics else [])]
        jobs += [] if self._suspension is None else [self._suspension.run]
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
