"""The worker: starts the path and the jobs beside it, and stops both.

Everything on the path (`path/`) runs in the caller's event loop, and so does the scheduler. What must go on while a
handler blocks that loop runs beside it (`background/background.py`). If a part fails for any reason but an outage, the
worker ends.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, Self

import msgspec

from tenure.broker import Broker
from tenure.client.claim_check import ClaimCheck, ClaimCheckSender
from tenure.client.expand_queues import expand_queues
from tenure.clock import Clock
from tenure.deletion import DeletionStats
from tenure.errors import BadTask, BrokerUnavailable, ConfigurationError, StoreReplaced
from tenure.finding import Finding
from tenure.foreign import Router
from tenure.monitoring.metrics.address import MetricsAddress
from tenure.monitoring.metrics.exposition import render
from tenure.monitoring.metrics.own_thread import MetricsThread
from tenure.monitoring.metrics.recent import Recent
from tenure.monitoring.metrics.sample import Sample
from tenure.monitoring.telemetry import Telemetry
from tenure.notice import Post, PostKind
from tenure.owner import Owner
from tenure.probe import SYSTEM_PROBE, Probe
from tenure.runtime.background.blob_gc import BlobCollector
from tenure.runtime.background.bus import BESIDE_GATHER_SECONDS, GATHER_SECONDS, Bus
from tenure.runtime.background.membership import Membership
from tenure.runtime.background.scheduler import Scheduler
from tenure.runtime.background.side_thread import cancel
from tenure.runtime.background.sweeper import Sweeper
from tenure.runtime.background.worker_reports import withdraw, words_of
from tenure.runtime.options import WorkerOptions
from tenure.runtime.path.handing_on import Resolve
from tenure.runtime.path.slots import Slots
from tenure.runtime.pipeline import Given, Pipeline
from tenure.runtime.processes.import_path import Locator
from tenure.runtime.processes.pool import ProcessPool
from tenure.runtime.stopping import let_finish, let_leave, let_settle
from tenure.runtime.supervisor.supervisor_link import SupervisorLink
from tenure.sink import Sink
from tenure.state import State
from tenure.tasks.schedule import Schedule
from tenure.tasks.task import RunsIn, Task
from tenure.text.plural import plural
from tenure.timing.tallied import Series
from tenure.verdict import Reason, Returned

__all__ = ["Worker", "WorkerOptions"]

logger = logging.getLogger("tenure.worker")

Job = Callable[[], Coroutine[Any, Any, None]]


class Companion(Protocol):
    """What runs in a worker's process for as long as the worker does."""

    async def start(self) -> None:
        """Begin; returns soon."""
        ...

    async def stop(self) -> None:
        """End, within the worker's grace."""
        ...

    async def abandon(self) -> None:
        """End as after `kill -9`, for tests."""
        ...

    def metrics(self) -> list[Sample]:
        """Its figures, as samples."""
        ...


class Worker:
    """Runs messages of an app's tasks until it is stopped. Made by `app.worker(…)`.

    `async with app, app.worker():` runs it beside your own code; `await app.worker().run()` until it is stopped.
    """

    def __init__(  # noqa: PLR0913 - made in one place, `app.worker`; everything it needs is handed in
        self,
        broker: Broker,
        state: State,
        tasks: Mapping[str, Task[..., Any]],
        clock: Clock,
        options: WorkerOptions,
        *,
        opening: Callable[[], Awaitable[None]],
        locate: Callable[[Task[..., Any]], Locator],
        lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None,
        schedules: Callable[[], Sequence[Schedule]] = tuple,
        queues_named: Callable[[str], str] = str,
        client: str | None = None,
        router: Router | None = None,
        claim_check: ClaimCheck | None = None,
        resolve: Resolve | None = None,
        sinks: Sequence[Sink] = (),
        children: Callable[..., ProcessPool] = ProcessPool,
        probe: Probe = SYSTEM_PROBE,
        beside: Sequence[Companion] = (),
        metrics: MetricsAddress | None = None,
        metrics_token: str | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        """Work for `tasks`; `opening` opens broker and state where they are not open yet.

        `schedules` is asked once, at the start; their messages are sent on behalf of `client`. `queues_named` makes of
        the name of a queue, or of a pattern, what the broker calls it; for `serve`. `children` makes the
        pools of child processes, `probe` looks at processes; tests in virtual time bring their own. What is `beside`
        it is started last and stopped first. `resolve` finds the webhooks of messages that handlers hand on. `metrics`:
        where they are served.
        """
        self._telemetry = telemetry
        self._unwatch: Callable[[], None] = lambda: None
        self._metrics = None if metrics is None else MetricsThread(metrics, self.metrics, clock, token=metrics_token)
        self._recent = Recent()
        queues = options.queues or tuple(sorted({task.queue for task in tasks.values()}))
        self._options = options = msgspec.structs.replace(options, queues=queues)
        self._opening = opening
        self._broker = broker
        self._state = state
        self._tasks = tasks
        self._clock = clock
        self._locate = locate
        self._lifespan = lifespan
        self._schedules = schedules
        self._queues_named = queues_named
        self._client = client
        self._router = router
        self._claim_check = claim_check
        self._resolve = resolve
        self._make_children = children
        self._beside = tuple(beside)
        #: Findings about how the broker is set up, known from the start on.
        self.findings: tuple[Finding, ...] = ()
        #: Set by the child of a supervisor, before `start`.
        self.supervisor_link: SupervisorLink | None = None
        self._bus = Bus(
            state.journal, sinks, gather_seconds=BESIDE_GATHER_SECONDS if broker.traits.works_beside else GATHER_SECONDS
        )
        self._slots = Slots(options.concurrency)
        self._membership = Membership(broker, state.roster, clock, self._bus.publish, options, tasks=tasks, probe=probe)
        self._stop_asked = asyncio.Event()
        self._hurry = asyncio.Event()
        self._jobs: list[asyncio.Task[None]] = []
        self._ending: asyncio.Task[None] | None = None
        #: Why it leaves, where an operator has it leave: `drained by alice (dashboard)`. Else empty.
        self.leaving = ""
        self._draining: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self._abandoned = False
        self._stack = contextlib.AsyncExitStack()

    # -- the public side ---------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Start."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop, within the grace."""
        self._stop_asked.set()  # not `ask_to_stop`: it may have been asked already, and this is no second time
        await self.stop()

    async def run(self) -> None:
        """Start, work until `ask_to_stop` is called, and stop. If it is cancelled, it stops within the grace too."""
        await self.start()
        try:
            await self.asked_to_stop()
        finally:
            self._stop_asked.set()
            await self.stop()

    async def asked_to_stop(self) -> None:
        """Wait until `ask_to_stop` was called, or a part of the worker failed. Then await `stop`."""
        await self._stop_asked.wait()

    def ask_to_stop(self) -> None:
        """Ask the worker to stop; it lets handlers finish within the grace. Asked again, it returns everything now."""
        if self._stop_asked.is_set():
            self._hurry.set()
        self._stop_asked.set()

    def drain(self, why: str) -> None:
        """Lease nothing more, let what runs finish, however long it takes, and stop. Call it from the worker's loop.

        `why` is logged, and stands in the event when the worker leaves. `ask_to_stop` ends a drain that takes too long.
        """
        if self._stop_asked.is_set() or self._draining is not None:
            return
        self.leaving = f"drained: {why}"
        if not self._jobs:
            self._stop_asked.set()
        else:
            self._begin_to_drain()

    def serve(self, queues: Sequence[str]) -> None:
        """Serve these queues from now on: names, and patterns such as `*-tasks`. Call it from the worker's loop.

        Takes effect with the next lease; messages in flight are not affected. The roster shows it a moment later.
        """
        named = tuple(dict.fromkeys(map(self._queues_named, queues)))
        if not named:
            msg = "a worker serves at least one queue; nothing was changed. To serve none, stop the worker"
            raise ConfigurationError(msg)
        self._options = msgspec.structs.replace(self._options, queues=named)
        self._membership.serve(named)
        if self._jobs:
            self._path.serve(named)
        logger.debug("%s serves %s now", self.owner_id, ", ".join(named))

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that it serves: names and patterns, as the broker knows them."""
        return self._options.queues

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each kind of event happened in this worker."""
        return self._bus.counts

    @property
    def deletions(self) -> DeletionStats:
        """The outcomes of deletes of finished messages, once it was started."""
        return self._path.deletions.stats

    def metrics(self) -> list[Sample]:
        """The worker's figures, by the names of the catalogue. Call it on the worker's loop, once it was started."""
        return [*self._path.metrics.samples(), *(sample for one in self._beside for sample in one.metrics())]

    def metrics_text(self) -> str:
        """The worker's figures as Prometheus reads them, for a web server of your own. Call it on the worker's loop."""
        samples = self.metrics()
        return render([*samples, *self._recent.samples(samples, self._clock.monotonic())]).decode()

    @property
    def metrics_url(self) -> str | None:
        """Where its metrics are served. None: nowhere."""
        return None if self._metrics is None else self._metrics.url

    async def moved(self) -> None:
        """Return once both loops have answered: this one, and that of the heartbeat. For a watchdog outside."""
        await self._path.background.moved()

    def series(self) -> Iterator[Series]:
        """What it counted since its start. On the worker's loop."""
        return self._path.statistics.series()

    @property
    def in_flight(self) -> int:
        """The number of messages that it holds now."""
        return self._slots.unsettled

    @property
    def has_stuck_handlers(self) -> bool:
        """Whether a thread, or code that swallows its cancellation, still runs. Only the end of the process ends it."""
        return self._slots.running > 0

    @property
    def owner(self) -> Owner:
        """The owner of this worker's leases."""
        return self._membership.owner

    @property
    def owner_id(self) -> str:
        """The owner's id on its leases."""
        return self._membership.owner.id

    # -- starting ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Register the worker and start to lease messages. Returns when it works."""
        self._loop = asyncio.get_running_loop()
        await self._opening()
        with contextlib.suppress(BrokerUnavailable):  # the first lease says so, and looks again
            self.findings = tuple(await self._broker.check(await expand_queues(self._broker, self._options.queues)))
        for task in self._tasks.values():
            self._check_hold(task)
            if task.runs_in is RunsIn.PROCESS:
                self._locate(task)  # better now than at the first message
        self._path = path = Pipeline(Given(
            broker=self._broker, state=self._state, tasks=self._tasks, clock=self._clock, options=self._options,
            membership=self._membership, slots=self._slots, bus=self._bus, locate=self._locate,
            children=self._make_children, supervisor=self.supervisor_link, router=self._router,
            claim_check=self._claim_check, resolve=self._resolve, telemetry=self._telemetry,
            on_leave=self._leave,
        ))  # fmt: skip
        path.handling.on_failure = self._fail
        try:
            await self._start_metrics()
            await path.ownership.bodies.open()
            path.handling.state = await self._enter_lifespan()
            if self.supervisor_link is not None:
                self.supervisor_link.metrics = self.metrics
                self.supervisor_link.note(self.owner_id, ())  # before anything can be held in its name
                self._membership.on_joined = self.supervisor_link.enlisted
            await self._membership.join()
            await self._tidy_up()
            await path.learning.open()
            # Before the first lease: a queue that is paused is not touched.
            names = () if self._options.client_limit.is_none else await self._broker.queues()
            path.background.notice(await self._state.board.read(), names)
            await path.background.start(self._guarded)
        except BaseException:
            await self._stop_metrics()
            await path.handling.close()
            await let_leave(self._stack, self._hurry, self._options.grace_seconds)
            raise
        helpers = [*path.helpers(), self._membership.run, *self._scheduling(), *self._tidying()]
        jobs: list[Job] = [self._bus.run, *helpers, path.intake.run]
        self._jobs = [self._loop.create_task(self._guarded(job)(), name=f"tenure-{job.__qualname__}") for job in jobs]
        for one in self._beside:
            await one.start()
        self._membership.tell_joined()
        queues = ", ".join(self._options.queues)
        logger.debug("%s serves %s with %s", self.owner_id, queues, plural(self._options.concurrency, "slot"))
        if self.leaving:  # asked while it started
            self._begin_to_end()

    def _check_hold(self, task: Task[..., Any]) -> None:
        """Refuse a `max_hold` that is longer than the broker can hold a message."""
        longest, asked = self._broker.traits.max_hold_seconds, task.policy.lease.max_hold_seconds
        if longest is not None and asked is not None and asked > longest:
            msg = f"max_hold of {task.name!r} is {asked:g} s; this broker allows no hold longer than {longest:g} s"
            raise BadTask(f"{msg}. Nothing was started")

    async def _tidy_up(self) -> None:
        """Return what others left behind before we lease: a later first sweep would take the silence for an outage."""
        first = Sweeper(
            self._broker,
            self._state.roster,
            self._clock,
            self._path.facts.publish,
            request=self._options.sweep,
            triggered_by="start",
            probe=self._membership.probe,
        )
        with contextlib.suppress(BrokerUnavailable):  # the sweeper will say so
            await first.bury()
            await first.sweep()

    def _scheduling(self) -> list[Job]:
        schedules = self._schedules()
        if not schedules:
            return []
        publish, client = self._bus.publish, self._client
        sender = ClaimCheckSender(self._broker, self._claim_check)
        return [
            Scheduler(
                schedules, sender, self._state.board, self._clock, publish, wall=self._path.wall, client=client
            ).run
        ]

    def _tidying(self) -> list[Job]:
        if self._claim_check is None:
            return []
        return [BlobCollector(self._claim_check, self._state.records, self._state.board, self.owner_id).run]

    def _guarded(self, job: Job) -> Job:
        """Run one part. If it fails the worker ends: without heartbeat or outbox it would do harm."""

        async def run() -> None:
            try:
                await job()
            except Exception as error:  # noqa: BLE001 - passed to the worker, and raised by `stop`
                self._call_soon(self._fail, job.__qualname__, error)
            except asyncio.CancelledError:
                if self._jobs and self._ending is None and not self._abandoned:
                    gone = RuntimeError("its task was cancelled from outside the worker")
                    self._call_soon(self._fail, job.__qualname__, gone)
                raise

        return run

    async def _enter_lifespan(self) -> Any:
        return await self._stack.enter_async_context(self._lifespan()) if self._lifespan else None

    def _call_soon(self, function: Callable[..., None], *args: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *args)

    # -- stopping ----------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Lease no more, let handlers finish within the grace, return the other messages, and leave the roster.

        Raises the error that ended a part of the worker, if there was one.
        """
        if not self._jobs:
            return
        if self._ending is None:
            self._ending = self._loop.create_task(self._end())
        await asyncio.shield(self._ending)
        await let_leave(self._stack, self._hurry, self._options.grace_seconds)
        if self._failure is not None:
            raise self._failure

    async def abandon(self) -> None:
        """End as after `kill -9`, for tests: nothing is settled or returned, and the roster is not changed."""
        self._abandoned = True
        for one in self._beside:
            await one.abandon()
        self._path.holding.stop_waiting(None)
        runners = [delivery.runner for delivery in self._path.handling.running]
        await cancel([task for task in (*self._jobs, *runners, self._draining, self._ending) if task is not None])
        await self._stop_metrics()
        await self._path.background.stop()
        await self._path.handling.close()
        await self._stack.aclose()

    async def _start_metrics(self) -> None:
        if self._metrics is not None:
            await self._metrics.start()
        if self._telemetry is not None:
            self._unwatch = self._telemetry.watch(self.metrics)

    async def _stop_metrics(self) -> None:
        self._unwatch()
        self._unwatch = lambda: None
        if self._metrics is not None:
            await self._metrics.stop()

    def _leave(self, post: Post) -> None:
        """Drain or stop for an operator. A worker that stops already is not hurried."""
        if self._stop_asked.is_set():
            return
        self.leaving = words_of(post)
        if post.kind is PostKind.STOP_WORKER or not self._jobs:
            logger.info("%s is %s: it returns what has not begun", self.owner_id, self.leaving)
            self._begin_to_end()
        elif self._draining is None:
            self._begin_to_drain()

    def _begin_to_drain(self) -> None:
        running = plural(len(self._path.handling.running), "handler")
        logger.info("%s is %s: it leases nothing more, and %s may finish", self.owner_id, self.leaving, running)
        self._draining = self._loop.create_task(self._guarded(self._drain)())

    async def _drain(self) -> None:
        """Lease nothing more, let everything that runs finish, however long it takes, then stop."""
        path, fetching = self._path, self._jobs[-1]
        returned = Returned(0.0, Reason("worker_stopping", "the worker was drained"))
        path.intake.stop()
        path.holding.stop_waiting(returned)
        await asyncio.wait({fetching})
        path.holding.stop_waiting(returned)  # what the last lease call lent
        await let_finish(path.handling, self._stop_asked, None)
        if not self._stop_asked.is_set():
            self._begin_to_end()

    def _begin_to_end(self) -> None:
        """Wake those that wait in `asked_to_stop`; a worker that runs beside other code leaves the roster anyway."""
        self._stop_asked.set()
        if self._jobs and self._ending is None:
            self._ending = self._loop.create_task(self._end())

    def _fail(self, part: str, error: Exception) -> None:
        """End at once with an error: a part failed for a reason that is no outage."""
        if not isinstance(error, StoreReplaced):
            logger.critical("%s: %s died; the worker stops", self.owner_id, part, exc_info=error)
        elif self._failure is None:  # every part meets it, and its sentence says all
            logger.critical("%s stops: %s", self.owner_id, error)
        self._failure = self._failure or error
        self._hurry.set()
        self._begin_to_end()

    async def _end(self) -> None:
        telling, *helpers, fetching = self._jobs
        path, handling = self._path, self._path.handling
        path.services.stopping = True
        path.intake.stop()
        leaving = [self._loop.create_task(one.stop()) for one in self._beside]
        stopped = Returned(0.0, Reason("worker_stopping", "the worker was stopped"))
        path.holding.stop_waiting(stopped)
        await asyncio.gather(fetching, return_exceptions=True)
        path.holding.stop_waiting(stopped)  # what the last lease call lent
        await let_finish(handling, self._hurry, self._options.grace_seconds)
        for delivery in list(handling.running):
            handling.end(delivery, stopped)
        await let_settle(self._slots, self._hurry)
        await asyncio.gather(*leaving)
        await handling.close()
        try:
            await path.background.stop()
        finally:
            # Only now: our own sweeper would find us gone, and say so.
            await self._membership.leave(self.leaving)
            if self._options.stores_figures:
                await withdraw(self._state, self.owner_id)
        await cancel(helpers)
        await path.close()
        await self._stop_metrics()
        self._bus.close()
        await asyncio.gather(telling, return_exceptions=True)
        logger.info("%s stopped%s", self.owner_id, f": {self.leaving}" if self.leaving else "")
