"""The worker: starts the path and what runs beside it, and stops both.

Everything on the path (`path.py`) runs in the caller's event loop, and so does the scheduler; what must go on while
a handler blocks that loop runs beside it (`beside.py`). A part that dies of anything but an outage ends the worker.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Self

import msgspec

from tenure.broker import Broker
from tenure.claim_check import ClaimCheck, Post
from tenure.client.expand_queues import expand_queues
from tenure.clock import Clock
from tenure.deletion import DeletionStats
from tenure.errors import BadTask, BrokerUnavailable, ConfigurationError, StoreReplaced
from tenure.finding import Finding
from tenure.foreign import Router
from tenure.owner import Owner
from tenure.plural import plural
from tenure.probe import SYSTEM_PROBE, Probe
from tenure.runtime.bus import Bus
from tenure.runtime.children import Children
from tenure.runtime.locating import Locator
from tenure.runtime.membership import Membership
from tenure.runtime.options import WorkerOptions
from tenure.runtime.path import Path
from tenure.runtime.scheduling import Scheduler
from tenure.runtime.sideloop import cancel
from tenure.runtime.slots import Slots
from tenure.runtime.stopping import let_finish, let_leave, let_settle
from tenure.runtime.sweeper import Sweeper
from tenure.runtime.tether import Tether
from tenure.runtime.tidying import Tidier
from tenure.schedule import Schedule
from tenure.sink import Sink
from tenure.state import State
from tenure.task import RunsIn, Task
from tenure.verdict import Reason, Returned

__all__ = ["Worker", "WorkerOptions"]

logger = logging.getLogger("tenure.worker")

Job = Callable[[], Coroutine[Any, Any, None]]


class Worker:
    """Runs messages of an app's tasks until it is stopped. Made by `app.worker(…)`.

    `async with app, app.worker():` runs it beside your own code; `await app.worker().run()` until it is stopped.
    """

    def __init__(  # noqa: PLR0913 - made in one place, `app.worker`; everything it needs is handed in
        self, broker: Broker, state: State, tasks: Mapping[str, Task[..., Any]], clock: Clock,
        options: WorkerOptions, *,
        opening: Callable[[], Awaitable[None]],
        locate: Callable[[Task[..., Any]], Locator],
        lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None,
        schedules: Callable[[], Sequence[Schedule]] = tuple,
        queues_named: Callable[[str], str] = str,
        client: str | None = None,
        router: Router | None = None,
        claim_check: ClaimCheck | None = None,
        sinks: Sequence[Sink] = (),
        children: Callable[..., Children] = Children,
        probe: Probe = SYSTEM_PROBE,
    ) -> None:  # fmt: skip
        """Work for `tasks`; `opening` opens broker and state where they are not open yet.

        `schedules` is asked once, at the start; their messages are sent on behalf of `client`. `queues_named` makes of
        the name of a queue, or of a pattern, what the broker calls it; for `serve`. `children` makes the
        pools of child processes, `probe` looks at processes; tests in virtual time bring their own.
        """
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
        self._make_children = children
        #: What is unwise about how the broker is set up, known from the start on.
        self.findings: tuple[Finding, ...] = ()
        #: Set by the child of a supervisor, before `start`.
        self.tether: Tether | None = None
        self._bus = Bus(state.journal, sinks)
        self._slots = Slots(options.concurrency)
        self._membership = Membership(broker, state.roster, clock, self._bus.publish, options, tasks=tasks, probe=probe)
        self._stop_asked = asyncio.Event()
        self._hurry = asyncio.Event()
        self._jobs: list[asyncio.Task[None]] = []
        self._ending: asyncio.Task[None] | None = None
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

    def serve(self, queues: Sequence[str]) -> None:
        """Serve these queues from now on: names, and patterns such as `*-tasks`. Call it from the worker's loop.

        Takes effect with the next lease; messages that it holds go their way. The roster shows it a moment later.
        """
        named = tuple(dict.fromkeys(map(self._queues_named, queues)))
        if not named:
            msg = "a worker serves at least one queue; nothing was changed. Stop it instead"
            raise ConfigurationError(msg)
        self._options = msgspec.structs.replace(self._options, queues=named)
        self._membership.serve(named)
        if self._jobs:
            self._path.serve(named)
        logger.debug("%s serves %s now", self.owner_id, ", ".join(named))

    @property
    def queues(self) -> tuple[str, ...]:
        """What it serves: names and patterns, as the broker knows them."""
        return self._options.queues

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each kind of event happened in this worker."""
        return self._bus.counts

    @property
    def deletions(self) -> DeletionStats:
        """How the deletes of finished messages ended, once it was started."""
        return self._path.deletions.stats

    @property
    def in_flight(self) -> int:
        """Messages that it holds now."""
        return self._slots.unsettled

    @property
    def has_stuck_handlers(self) -> bool:
        """Whether a thread, or code that swallows its cancellation, still runs; only the process' end ends it."""
        return self._slots.running > 0

    @property
    def owner(self) -> Owner:
        """Who holds this worker's leases."""
        return self._membership.owner

    @property
    def owner_id(self) -> str:
        """The word that stands on its leases."""
        return self._membership.owner.id

    # -- starting ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Register the worker and begin to lease messages. Returns when it works."""
        self._loop = asyncio.get_running_loop()
        await self._opening()
        with contextlib.suppress(BrokerUnavailable):  # the first lease says so, and looks again
            self.findings = tuple(await self._broker.check(await expand_queues(self._broker, self._options.queues)))
        for task in self._tasks.values():
            self._check_hold(task)
            if task.runs_in is RunsIn.PROCESS:
                self._locate(task)  # better now than at the first message
        self._path = path = Path(
            self._broker, self._state, self._tasks, self._clock, self._options,
            membership=self._membership, slots=self._slots, bus=self._bus,
            locate=self._locate, children=self._make_children, tether=self.tether, router=self._router,
            claim_check=self._claim_check,
        )  # fmt: skip
        path.handling.on_failure = self._fail
        try:
            await path.fetching.open()
            path.handling.state = await self._enter_lifespan()
            if self.tether is not None:
                self.tether.note(self.owner_id, ())  # before anything can be held in its name
            await self._membership.join()
            if self.tether is not None:
                self.tether.enlisted(self.owner)
            await self._tidy_up()
            await path.learning.open()
            # Before the first lease: a queue that is paused is not touched.
            path.beside.notice(await self._state.board.read())
            await path.beside.start(self._guarded)
        except BaseException:
            await path.handling.close()
            await let_leave(self._stack, self._hurry, self._options.grace_seconds)
            raise
        helpers: list[Job] = [path.outbox.run, path.progress.run, path.sampler.run, path.fetching.run]
        helpers += [path.deletions.run, path.learning.run, self._membership.run]
        helpers += [path.tallying.run] if self._options.statistics else []
        helpers += [*self._scheduling(), *self._tidying()]
        jobs: list[Job] = [self._bus.run, *helpers, path.intake.run]
        self._jobs = [self._loop.create_task(self._guarded(job)(), name=f"tenure-{job.__qualname__}") for job in jobs]
        self._membership.tell_joined()
        queues = ", ".join(self._options.queues)
        logger.debug("%s serves %s with %s", self.owner_id, queues, plural(self._options.concurrency, "slot"))

    def _check_hold(self, task: Task[..., Any]) -> None:
        """Refuse what the broker would end before its time, in the middle of a run."""
        longest, asked = self._broker.traits.max_hold_seconds, task.policy.lease.max_hold_seconds
        if longest is not None and asked is not None and asked > longest:
            msg = f"max_hold of {task.name!r} is {asked:g} s; this broker lets nothing be held over {longest:g} s"
            raise BadTask(f"{msg}. Nothing was started")

    async def _tidy_up(self) -> None:
        """Return what others left behind before we lease: a later first sweep would take the silence for an outage."""
        first = Sweeper(
            self._broker, self._state.roster, self._clock, self._path.publish,
            request=self._options.sweep, triggered_by="start", probe=self._membership.probe,
        )  # fmt: skip
        with contextlib.suppress(BrokerUnavailable):  # the sweeper will say so
            await first.bury()
            await first.sweep()

    def _scheduling(self) -> list[Job]:
        schedules = self._schedules()
        if not schedules:
            return []
        publish, client = self._bus.publish, self._client
        sender = Post(self._broker, self._claim_check)
        return [
            Scheduler(
                schedules, sender, self._state.board, self._clock, publish, wall=self._path.beside.wall, client=client
            ).run
        ]

    def _tidying(self) -> list[Job]:
        if self._claim_check is None:
            return []
        return [Tidier(self._claim_check, self._state.records, self._state.board, self.owner_id).run]

    def _guarded(self, job: Job) -> Job:
        """A worker that lost one of its parts must not look alive: without heartbeat or outbox it does harm."""

        async def run() -> None:
            try:
                await job()
            except Exception as error:  # noqa: BLE001 - told to the worker, and raised by `stop`
                self._call_soon(self._fail, job.__qualname__, error)
            except asyncio.CancelledError:
                if self._jobs and self._ending is None and not self._abandoned:
                    gone = RuntimeError("it was cancelled, and not by the worker")
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
        """Lease no more, let handlers finish within the grace, return the other messages, and sign off.

        Raises what a part of the worker died of, if one did.
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
        """End as after `kill -9`, for tests: nothing is settled or given back, and nobody says goodbye."""
        self._abandoned = True
        self._path.empty_room(None)
        runners = [delivery.runner for delivery in self._path.handling.running]
        await cancel([task for task in (*self._jobs, *runners, self._ending) if task is not None])
        await self._path.beside.stop()
        await self._path.handling.close()
        await self._stack.aclose()

    def _fail(self, part: str, error: Exception) -> None:
        """A part of us died of something that is no outage: end at once, and loudly."""
        if not isinstance(error, StoreReplaced):
            logger.critical("%s: %s died; the worker stops", self.owner_id, part, exc_info=error)
        elif self._failure is None:  # every part meets it, and its sentence says all
            logger.critical("%s stops: %s", self.owner_id, error)
        self._failure = self._failure or error
        self._stop_asked.set()
        self._hurry.set()
        if self._ending is None:
            self._ending = self._loop.create_task(self._end())

    async def _end(self) -> None:
        telling, *helpers, fetching = self._jobs
        path, handling = self._path, self._path.handling
        path.desk.stopping = True
        path.intake.stop()
        stopped = Returned(0.0, Reason("worker_stopping", "the worker was stopped"))
        path.empty_room(stopped)
        await asyncio.gather(fetching, return_exceptions=True)
        path.empty_room(stopped)  # what the last lease call lent
        await let_finish(handling, self._hurry, self._options.grace_seconds)
        for delivery in list(handling.running):
            handling.end(delivery, stopped)
        await let_settle(self._slots, self._hurry)
        await handling.close()
        try:
            await path.beside.stop()
        finally:
            # Only now: our own sweeper would find us gone, and say so.
            await self._membership.leave()
        await cancel(helpers)
        await path.sampler.flush()
        await path.tallying.close()
        path.deletions.tell()
        await path.fetching.flush()
        self._bus.close()
        await asyncio.gather(telling, return_exceptions=True)
        logger.info("%s stopped", self.owner_id)
