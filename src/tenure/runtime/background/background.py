"""The jobs beside the path: they keep a worker's leases and watch the store while handlers may block its loop.

Heartbeat, sweeper, liveness tick, board, watchdog, pruner, the worker's reports, answers to requests for a stack, and
the check for a suspended machine. They run on a loop and thread of their own, with connections of their own (`Twins`);
in virtual time they run in the one loop there is. What they find is passed to the worker's loop, to the part that can
act on it.

Made by `runtime/pipeline.py`.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.event import Event
from tenure.key_value import name_of
from tenure.limit import Limit
from tenure.notice import Notices, Post, PostKind
from tenure.owner import Owner
from tenure.probe import SYSTEM_PROBE, Probe
from tenure.runtime.background.board_watch import BoardWatch
from tenure.runtime.background.client_queues import ClientQueues
from tenure.runtime.background.client_shares import ClientShares
from tenure.runtime.background.clock_skew import ClockSkewWatch
from tenure.runtime.background.depths import DepthWriter
from tenure.runtime.background.heartbeat import Heartbeat
from tenure.runtime.background.journal_pruner import JournalPruner
from tenure.runtime.background.queue_limits import QueueLimits
from tenure.runtime.background.rollup import Rollup
from tenure.runtime.background.side_thread import OwnThread, SameLoop, Side
from tenure.runtime.background.stacks.answers import StackAnswers
from tenure.runtime.background.stacks.look import Look, RunningHandlers
from tenure.runtime.background.suspension import Suspension
from tenure.runtime.background.sweeper import Sweeper
from tenure.runtime.background.watchdog import Watchdog
from tenure.runtime.background.worker_reports import LEAVE, WorkerReports
from tenure.runtime.options import WorkerOptions
from tenure.state import State
from tenure.timing.tallied import store_seconds

Job = Callable[[], Coroutine[Any, Any, None]]


class Twins:
    """Connections for another loop: they belong to the jobs beside the path, and are opened and closed there."""

    def __init__(self, broker: Broker, state: State) -> None:
        """Make twins of this broker and state."""
        self.broker, self.state = broker.twin(), state.twin()
        self._own = [twin for twin, given in ((self.broker, broker), (self.state, state)) if twin is not given]

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Open the twins that are not the worker's own, for as long as it is entered."""
        async with contextlib.AsyncExitStack() as stack:
            for twin in self._own:
                await twin.open()
                stack.push_async_callback(twin.close)
            yield


class WorkerLoop:
    """Calls functions on the worker's loop, from any thread."""

    def __init__(self) -> None:
        """Made on that loop."""
        self._loop = asyncio.get_running_loop()

    def call(self, function: Callable[..., None], *args: Any) -> None:
        """Call it soon; not at all, where the loop is closed."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *args)


class Background:
    """The jobs beside the path of one worker."""

    def __init__(  # noqa: PLR0913 - made in one place, by the pipeline
        self,
        twins: Twins,
        heartbeat: Heartbeat,
        clock: Clock,
        options: WorkerOptions,
        worker_loop: WorkerLoop,
        *,
        owner: Callable[[], Owner],
        runs: RunningHandlers,
        publish: Callable[[Sequence[Event]], None],
        on_paused: Callable[[frozenset[str]], None],
        on_blocked: Callable[[float, str], None],
        on_limits: Callable[[dict[str, Limit]], None],
        limits: Mapping[str, Limit],
        on_weights: Callable[[dict[str, float]], None],
        on_leave: Callable[[Post], None],
        counts: Callable[[], Mapping[str, int]],
        journal_waiting: Callable[[], int],
        on_look: Callable[[], None] = lambda: None,
        beats_here: bool = True,
        probe: Probe = SYSTEM_PROBE,
    ) -> None:
        """Take the parts of the worker. Made on the worker's loop, on which the callbacks are called.

        `limits`: of the code, by queue; `on_limits` gets those in force, `on_weights` the weights of clients.
        `on_leave`: an operator has this worker drain or stop. `counts`: how often each kind of event happened here,
        and `journal_waiting`: how many are not written yet; read in another thread. `on_look` is called while the
        worker moves, in this thread. `beats_here`: False where the supervisor keeps the leases; then it looks itself
        whether the machine was suspended.
        """
        self._owner = owner
        self._heartbeat = heartbeat
        self._options = options
        self._twins = twins
        broker, state, every = twins.broker, twins.state, options.liveness_seconds
        call = worker_loop.call
        self._sweeper = Sweeper(
            broker,
            state.roster,
            clock,
            lambda events: call(publish, events),
            request=options.sweep,
            board=state.board,
            probe=probe,
        )
        self._watchdog = Watchdog(
            asyncio.get_running_loop(), lambda seconds, stack: call(on_blocked, seconds, stack), on_look=on_look
        )
        look = Look(runs, clock, own_thread=options.own_thread, silent_seconds=self._watchdog.silent_seconds)
        self._answers = StackAnswers(
            state.key_values, look, heartbeat.deliveries, owner=lambda: owner().id, wall=state.wall
        )
        queue_limits = QueueLimits(
            limits,
            owner=owner,
            are_shared_out=broker.traits.limits_are_shared_out,
            on_changed=lambda changed: call(on_limits, changed),
            of_clients=options.client_limit,
            queues=options.queues,
        )
        self._client_queues = None
        if not options.client_limit.is_none:
            self._client_queues = ClientQueues(
                broker, clock, options.queues, every=every, on_names=queue_limits.read_queues
            )
        self._sweeper.on_members = queue_limits.read_members
        shares = ClientShares(options.client_weights, on_changed=lambda changed: call(on_weights, changed))
        self._readers = (queue_limits.read_posts, shares.read_posts)
        self._board_watch = BoardWatch(
            state.board,
            clock,
            options.queues,
            every=every,
            on_paused=lambda paused: call(on_paused, paused),
            on_cancelled=heartbeat.check_now,
            on_posts=self._on_posts,
            on_read=self._on_read,
        )
        self._on_leave = partial(call, on_leave)
        #: What an operator asked of this worker: each is passed on once.
        self._heard: set[PostKind] = set()
        self._reports = WorkerReports(
            state.key_values,
            clock,
            state.wall,
            owner=lambda: owner().id,
            counts=counts,
            journal_waiting=journal_waiting,
            every_seconds=store_seconds(broker.traits.snapshot_seconds),
        )
        suspension = Suspension(clock, heartbeat.__len__, heartbeat.check_now, every=every)
        self._suspension = suspension if beats_here else None
        self._clock_skew = ClockSkewWatch(owner().name, clock, state.wall, every)
        self._pruner = JournalPruner(state, options.journal_keep_seconds)
        self._rollup = _rollup(broker, state, clock) if options.stores_figures else None
        self._side: Side = OwnThread(f"tenure-side-{owner().nonce}") if options.own_thread else SameLoop()

    async def start(self, guarded: Callable[[Job], Job]) -> None:
        """Run every job until `stop`."""
        await self._side.start([guarded(job) for job in self._jobs()], self._twins.opened)

    async def stop(self) -> None:
        """End every job, and wait until they are gone."""
        await self._side.stop()

    async def moved(self) -> None:
        """Return once the loop of the jobs has answered."""
        await self._side.moved()

    def sweep_age(self) -> float:
        """Seconds since a sweeper was last seen: ours, or another worker's. From any thread."""
        return self._sweeper.age_seconds

    def serve(self, queues: Sequence[str]) -> None:
        """The queues that are served have changed."""
        self._board_watch.queues = tuple(queues)
        if self._client_queues is not None:
            self._client_queues.queues = tuple(queues)

    def notice(self, notices: Notices, queues: Sequence[str] = ()) -> None:
        """Take the first reading of the board and of the queues, before anything is leased and before `start`."""
        if self._client_queues is not None:
            self._client_queues.take(queues)
        self._board_watch.take(notices)

    def _jobs(self) -> list[Job]:
        watch_roster = lambda: self._sweeper.watch(self._owner, self._options.liveness_seconds)  # noqa: E731
        jobs = [self._heartbeat.run, self._sweeper.run, watch_roster, self._board_watch.run, self._pruner.run]
        jobs += [self._answers.run, self._clock_skew.run]
        jobs += [] if self._rollup is None else [self._rollup.run, self._reports.run]
        jobs += [] if self._client_queues is None else [self._client_queues.run]
        jobs += [] if self._suspension is None else [self._suspension.run]
        return [*jobs, self._watchdog.run] if self._options.own_thread else jobs

    def _on_read(self, posts: Sequence[Post]) -> None:
        for read in self._readers:
            read(posts)

    def _on_posts(self, posts: Sequence[Post]) -> None:
        asked = [post for post in posts if post.kind is PostKind.STACK]
        if asked:
            self._answers.ask(asked)
        own = name_of(self._owner().id)
        for post in posts:
            if post.kind in LEAVE and post.name == own and post.kind not in self._heard:
                self._heard.add(post.kind)
                self._reports.leave(post)
                self._on_leave(post)


def _rollup(broker: Broker, state: State, clock: Clock) -> Rollup:
    depths = DepthWriter(broker, state.journal, clock, state.wall) if broker.traits.depth_is_exact else None
    return Rollup(
        state.journal, state.board, state.wall, depths, store_seconds=store_seconds(broker.traits.snapshot_seconds)
    )
