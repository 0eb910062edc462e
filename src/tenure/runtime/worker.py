"""The worker: puts the path together, and starts and stops it.

    intake → (claim) → heartbeat holds → handling → outbox seals and settles → reporting

Everything on the path runs in the caller's event loop; the heartbeat, the sweeper and the watchdog run
beside it (`sideloop.py`).
"""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Self

import msgspec

from tenure.broker import Broker, SweepRequest
from tenure.clock import Clock
from tenure.errors import BrokerError, BrokerUnavailable
from tenure.event import Event, EventKind
from tenure.owner import Owner, new_nonce
from tenure.runtime import reporting
from tenure.runtime.bus import Bus
from tenure.runtime.children import Children
from tenure.runtime.delivery import Delivery
from tenure.runtime.handling import Handling
from tenure.runtime.heartbeat import Heartbeat
from tenure.runtime.intake import Intake
from tenure.runtime.link import Desk, WorkerLink
from tenure.runtime.locating import Locator
from tenure.runtime.progress import ProgressWriter
from tenure.runtime.pruning import Pruner
from tenure.runtime.settling import Outbox
from tenure.runtime.sideloop import OwnThread, SameLoop, Side, cancel
from tenure.runtime.slots import Slots
from tenure.runtime.stopping import let_finish, let_settle
from tenure.runtime.sweeper import Sweeper
from tenure.runtime.watchdog import Watchdog
from tenure.settlement import Settlement
from tenure.sink import Sink
from tenure.state import State
from tenure.task import RunsIn, Task
from tenure.verdict import Lost, Reason, Returned, Verdict

logger = logging.getLogger("tenure.worker")

#: Suspects run alone, each in a process of its own; so many such processes at once.
SOLOS = 4


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker works."""

    concurrency: int = 10
    queues: tuple[str, ...] = ()
    name: str = ""
    lease_seconds: float = 30.0
    #: After SIGTERM: how long handlers may go on before their messages are given back.
    grace_seconds: float = 30.0
    sweep: SweepRequest = SweepRequest()
    #: How long the journal remembers.
    journal_keep_seconds: float = 7 * 86_400.0
    #: False: everything in the caller's loop, for virtual time.
    own_thread: bool = True


class Worker:
    """Runs messages of an app's tasks until it is stopped. Also an async context manager."""

    def __init__(  # noqa: PLR0913 - made in one place, `app.worker`; everything it needs is handed in
        self, broker: Broker, state: State, tasks: Mapping[str, Task[..., Any]], clock: Clock,
        options: WorkerOptions, *,
        opening: Callable[[], Awaitable[None]],
        locate: Callable[[Task[..., Any]], Locator],
        lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None,
        sinks: Sequence[Sink] = (),
        children: Callable[..., Children] = Children,
    ) -> None:  # fmt: skip
        """Work for `tasks`; `opening` opens broker and state where they are not open yet.

        `children` makes the pools of child processes; tests in virtual time bring their own.
        """
        self._opening = opening
        self._broker = broker
        self._state = state
        self._tasks = tasks
        self._clock = clock
        self._options = options
        self._locate = locate
        self._lifespan = lifespan
        self._bus = Bus(state.journal, sinks)
        self._slots = Slots(options.concurrency)
        self._make_children = children
        self._queues = options.queues or tuple(sorted({task.queue for task in tasks.values()}))
        self._stop_asked = asyncio.Event()
        self._hurry = asyncio.Event()
        self._jobs: list[asyncio.Task[None]] = []
        self._ending: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self._abandoned = False
        self._stack = contextlib.AsyncExitStack()
        self.owner = self._new_owner()

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
        """Start, work until `ask_to_stop`, stop. Cancelled, it stops too."""
        await self.start()
        try:
            await self.asked_to_stop()
        finally:
            self._stop_asked.set()
            await self.stop()

    async def asked_to_stop(self) -> None:
        """Wait until somebody asked, or a part of the worker died; then call `stop`."""
        await self._stop_asked.wait()

    def ask_to_stop(self) -> None:
        """First time: finish within the grace. Second time: give everything back now."""
        if self._stop_asked.is_set():
            self._hurry.set()
        self._stop_asked.set()

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each kind of event happened here."""
        return self._bus.counts

    @property
    def in_flight(self) -> int:
        """Messages taken and not yet settled."""
        return self._slots.unsettled

    @property
    def has_stuck_threads(self) -> bool:
        """Whether a plain function still runs though its message was given back; only the process' end ends it."""
        return self._slots.running > 0

    @property
    def owner_id(self) -> str:
        """Who holds this worker's leases."""
        return self.owner.id

    # -- starting ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Join the roster, then begin to lease."""
        self._loop = asyncio.get_running_loop()
        await self._opening()
        for task in self._tasks.values():
            if task.runs_in is RunsIn.PROCESS:
                self._locate(task)  # better now than at the first message
        self._assemble()
        try:
            self._handling.state = await self._enter_lifespan()
            await self._state.roster.join(self.owner)
            await self._tidy_up()
            await self._side.start([self._guarded(job) for job in self._side_jobs()], self._side_doors)
        except BaseException:
            await self._handling.close()
            await self._stack.aclose()
            raise
        jobs = (self._bus.run, self._outbox.run, self._progress.run, self._intake.run)
        self._jobs = [self._loop.create_task(self._guarded(job)(), name=f"tenure-{job.__qualname__}") for job in jobs]
        self._publish([Event(EventKind.OWNER_JOINED, self._clock.wall(), owner=self.owner_id)])
        logger.debug("%s serves %s with %d slots", self.owner_id, ", ".join(self._queues), self._options.concurrency)

    async def _tidy_up(self) -> None:
        """Return what others left behind before we lease: a later first sweep would take the silence for an outage."""
        first = Sweeper(
            self._broker, self._state.roster, self._clock, self._publish,
            request=self._options.sweep, triggered_by="start",
        )  # fmt: skip
        with contextlib.suppress(BrokerUnavailable):  # the sweeper will say so
            await first.bury()
            await first.sweep()

    def _assemble(self) -> None:
        broker, state, clock, options = self._broker, self._state, self._clock, self._options
        self._side_broker, self._side_state = side_broker, side_state = broker.twin(), state.twin()
        self._heartbeat = Heartbeat(
            side_broker, side_state.ledger, clock,
            on_lost=lambda delivery: self._call_soon(self._end_lost, delivery),
            on_overheld=lambda delivery: self._call_soon(self._end_overheld, delivery),
            on_failed=lambda count, error: self._call_soon(self._heartbeat_failed, count, error),
        )  # fmt: skip
        self._outbox = Outbox(broker, state.ledger, self._heartbeat, clock, self._report)
        self._progress = ProgressWriter(state.records)
        self._desk = Desk(self._heartbeat, state.records, self._progress, clock, broker.traits)
        self._handling = Handling(
            clock, self._slots, self.conclude,
            make_link=lambda delivery: WorkerLink(delivery, self._desk),
            children=self._make_children(self._locate, most=options.concurrency, clock=clock, name="process"),
            solo=self._make_children(self._locate, most=SOLOS, clock=clock, name="solo", reuse=False),
        )  # fmt: skip
        self._intake = Intake(
            broker, state.ledger, clock, self._slots, self,
            queues=self._queues, tasks=self._tasks, lease_seconds=options.lease_seconds,
        )  # fmt: skip
        self._sweeper = Sweeper(
            side_broker, side_state.roster, clock, lambda events: self._call_soon(self._publish, events),
            request=options.sweep,
        )  # fmt: skip
        self._pruner = Pruner(side_state.journal, options.journal_keep_seconds)
        self._watchdog = Watchdog(self._loop, clock, lambda s, stack: self._call_soon(self._blocked, s, stack))
        self._side: Side = OwnThread(f"tenure-side-{self.owner.nonce}") if options.own_thread else SameLoop()

    def _side_jobs(self) -> list[Any]:
        watch_roster = lambda: self._sweeper.watch(lambda: self.owner)  # noqa: E731
        jobs = [self._heartbeat.run, self._sweeper.run, watch_roster, self._pruner.run]
        return [*jobs, self._watchdog.run] if self._options.own_thread else jobs

    @contextlib.asynccontextmanager
    async def _side_doors(self) -> AsyncIterator[None]:
        """The twins belong to the loop of the side jobs: opened and closed there."""
        async with contextlib.AsyncExitStack() as stack:
            for twin, own in ((self._side_broker, self._broker), (self._side_state, self._state)):
                if twin is not own:
                    await twin.open()
                    stack.push_async_callback(twin.close)
            yield

    def _guarded(self, job: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], Coroutine[Any, Any, None]]:
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

    def _new_owner(self) -> Owner:
        host = socket.gethostname()
        return Owner(
            name=self._options.name or f"{host}:{os.getpid()}", nonce=new_nonce(), host=host, pid=os.getpid(),
            boot_id=self._clock.boot_id(), started_at=self._clock.wall(), queues=self._queues,
            concurrency=self._options.concurrency,
        )  # fmt: skip

    async def rejoin(self) -> None:
        """Our nonce is banned. What we hold is returned already: the heartbeat will find it lost."""
        owner = self._new_owner()
        await self._state.roster.join(owner)
        self.owner = owner  # only now: a holder that is not on the roster would lease without presence

    # -- the path ----------------------------------------------------------------------------------

    def admit(self, deliveries: Sequence[Delivery]) -> None:
        """Hold, then run: there is no moment without somebody responsible for the lease."""
        self._heartbeat.hold(deliveries)
        self._handling.start(deliveries)

    def is_running(self, id: str) -> bool:
        """Whether a run of that message has not ended here, its lease lost or not."""
        return id in self._handling.running_ids

    def conclude(self, delivery: Delivery, verdict: Verdict) -> None:
        """A verdict is given: it goes to the outbox."""
        self._outbox.put(delivery, verdict)

    def _report(self, settled: Sequence[tuple[Delivery, Settlement | None]]) -> None:
        owner, at = self.owner_id, self._clock.wall()
        self._slots.settle(len(settled))
        for delivery, settlement in settled:
            reporting.log(delivery, settlement)
        self._bus.publish([reporting.event_of(d, s, owner=owner, at=at) for d, s in settled])

    # -- ends from outside -------------------------------------------------------------------------

    def _end_lost(self, delivery: Delivery) -> None:
        self._handling.end(delivery, Lost())

    def _end_overheld(self, delivery: Delivery) -> None:
        self._handling.end_overheld(delivery)

    def _heartbeat_failed(self, count: int, error: str) -> None:
        data = {"count": count, "error": error}
        self._publish([Event(EventKind.HEARTBEAT_FAILED, self._clock.wall(), owner=self.owner_id, data=data)])

    def _blocked(self, seconds: float, stack: str) -> None:
        data = {"seconds": round(seconds, 3), "stack": stack}
        self._publish([Event(EventKind.LOOP_BLOCKED, self._clock.wall(), owner=self.owner_id, data=data)])

    def _publish(self, events: Sequence[Event]) -> None:
        self._bus.publish(events)

    def _call_soon(self, function: Callable[..., None], *args: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *args)

    # -- stopping ----------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Lease no more, let handlers finish within the grace, give the rest back, say goodbye.

        Raises what a part of the worker died of, if one did.
        """
        if not self._jobs:
            return
        if self._ending is None:
            self._ending = self._loop.create_task(self._end())
        await asyncio.shield(self._ending)
        await self._stack.aclose()
        if self._failure is not None:
            raise self._failure

    async def abandon(self) -> None:
        """End as after `kill -9`, for tests: nothing is settled or given back, and nobody says goodbye."""
        self._abandoned = True
        runners = [delivery.runner for delivery in self._handling.running]
        await cancel([task for task in (*self._jobs, *runners, self._ending) if task is not None])
        await self._side.stop()
        await self._handling.close()
        await self._stack.aclose()

    def _fail(self, part: str, error: Exception) -> None:
        """A part of us died of something that is no outage: end at once, and loudly."""
        logger.critical("%s: %s died; the worker stops", self.owner_id, part, exc_info=error)
        self._failure = self._failure or error
        self._stop_asked.set()
        self._hurry.set()
        if self._ending is None:
            self._ending = self._loop.create_task(self._end())

    async def _end(self) -> None:
        telling, *helpers, fetching = self._jobs
        self._desk.stopping = True
        self._intake.stop()
        await asyncio.gather(fetching, return_exceptions=True)
        await let_finish(self._handling, self._hurry, self._options.grace_seconds)
        for delivery in list(self._handling.running):
            self._handling.end(delivery, Returned(0.0, Reason("worker_stopping", "the worker was stopped")))
        await let_settle(self._slots, self._hurry)
        await self._handling.close()
        await self._say_goodbye()
        await self._side.stop()
        await cancel(helpers)
        self._bus.close()
        await asyncio.gather(telling, return_exceptions=True)
        logger.info("%s stopped", self.owner_id)

    async def _say_goodbye(self) -> None:
        try:
            await self._state.roster.leave(self.owner)
        except BrokerError as error:
            logger.warning("%s could not say goodbye (%s); it will be found dead", self.owner_id, error)
            return
        self._publish([Event(EventKind.OWNER_LEFT, self._clock.wall(), owner=self.owner_id)])
