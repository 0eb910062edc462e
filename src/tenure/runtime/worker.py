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
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Self

import msgspec

from tenure.broker import Broker, SweepRequest
from tenure.clock import Clock
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
from tenure.runtime.settling import Outbox
from tenure.runtime.sideloop import OwnThread, SameLoop, Side
from tenure.runtime.slots import Slots
from tenure.runtime.sweeper import Sweeper
from tenure.runtime.watchdog import Watchdog
from tenure.settlement import Settlement
from tenure.sink import Sink
from tenure.state import State
from tenure.task import Task
from tenure.verdict import Lost, Reason, Returned, Verdict

logger = logging.getLogger("tenure.worker")


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker works."""

    concurrency: int = 10
    queues: tuple[str, ...] = ()
    name: str = ""
    lease_seconds: float = 30.0
    #: After SIGTERM: how long handlers may go on before their messages are given back.
    grace_seconds: float = 30.0
    sweep: SweepRequest = SweepRequest()
    #: False: everything in the caller's loop, for virtual time.
    own_thread: bool = True


class Worker:
    """Runs messages of an app's tasks until it is stopped. Also an async context manager."""

    def __init__(
        self, broker: Broker, state: State, tasks: Mapping[str, Task[..., Any]], clock: Clock, options: WorkerOptions, *,
        opening: Callable[[], Awaitable[None]],
        locate: Callable[[Task[..., Any]], Locator],
        lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None,
        sinks: Sequence[Sink] = (),
    ) -> None:  # fmt: skip
        """Work for `tasks`; `opening` opens broker and state where they are not open yet."""
        self._opening = opening
        self._broker = broker
        self._state = state
        self._tasks = tasks
        self._clock = clock
        self._options = options
        self._locate = locate
        self._lifespan = lifespan
        self._sinks = sinks
        self._queues = options.queues or tuple(sorted({task.queue for task in tasks.values()}))
        self._stop_asked = asyncio.Event()
        self._hurry = asyncio.Event()
        self._jobs: list[asyncio.Task[None]] = []
        self._stack = contextlib.AsyncExitStack()
        self.owner = self._new_owner()

    # -- the public side ---------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Start."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop, within the grace."""
        self.ask_to_stop()
        await self.stop()

    async def run(self) -> None:
        """Start, work until `ask_to_stop`, stop."""
        await self.start()
        await self._stop_asked.wait()
        await self.stop()

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
        self._assemble()
        self._handling.state = await self._enter_lifespan()
        await self._state.roster.join(self.owner)
        await self._side.start(self._side_jobs())
        jobs = (self._bus.run, self._outbox.run, self._progress.run, self._intake.run)
        self._jobs = [self._loop.create_task(job(), name=f"tenure-{job.__self__.__class__.__name__}") for job in jobs]
        self._publish([Event(EventKind.OWNER_JOINED, self._clock.wall(), owner=self.owner_id)])
        logger.info("%s serves %s with %d slots", self.owner_id, ", ".join(self._queues), self._options.concurrency)

    def _assemble(self) -> None:
        broker, state, clock, options = self._broker, self._state, self._clock, self._options
        side_broker, side_state = broker.twin(), state.twin()
        self._bus = Bus(state.journal, self._sinks)
        self._slots = Slots(options.concurrency)
        self._heartbeat = Heartbeat(
            side_broker, side_state.ledger, clock,
            on_lost=lambda delivery: self._call_soon(self._end_lost, delivery),
            on_overheld=lambda delivery: self._call_soon(self._end_overheld, delivery),
            on_failed=lambda count, error: self._call_soon(self._heartbeat_failed, count, error),
        )  # fmt: skip
        self._outbox = Outbox(broker, state.ledger, self._heartbeat, clock, self._report)
        self._progress = ProgressWriter(state.records)
        self._desk = Desk(self._heartbeat, state.records, self._progress, clock)
        self._handling = Handling(
            clock, self._slots, self.conclude,
            make_link=lambda delivery: WorkerLink(delivery, self._desk),
            children=Children(self._locate, most=options.concurrency, clock=clock, name="process"),
            solo=Children(self._locate, most=1, clock=clock, name="solo"),
        )  # fmt: skip
        self._intake = Intake(
            broker, state.ledger, clock, self._slots, self,
            queues=self._queues, tasks=self._tasks, lease_seconds=options.lease_seconds,
        )  # fmt: skip
        self._sweeper = Sweeper(
            side_broker, side_state.roster, clock, lambda events: self._call_soon(self._publish, events),
            request=options.sweep,
        )  # fmt: skip
        self._watchdog = Watchdog(self._loop, clock, lambda s, stack: self._call_soon(self._blocked, s, stack))
        self._side: Side = OwnThread(f"tenure-side-{self.owner.nonce}") if options.own_thread else SameLoop()

    def _side_jobs(self) -> list[Any]:
        watch_roster = lambda: self._sweeper.watch(lambda: self.owner)  # noqa: E731
        jobs = [self._heartbeat.run, self._sweeper.run, watch_roster]
        return [*jobs, self._watchdog.run] if self._options.own_thread else jobs

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
        self.owner = self._new_owner()
        await self._state.roster.join(self.owner)

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
        """Lease no more, let handlers finish within the grace, give the rest back, say goodbye."""
        *helpers, fetching = self._jobs
        self._desk.stopping = True
        self._intake.stop()
        await asyncio.gather(fetching, return_exceptions=True)
        await self._let_finish()
        for delivery in list(self._handling.running):
            self._handling.end(delivery, Returned(0.0, Reason("worker_stopping", "the worker was stopped")))
        await self._slots.all_settled()
        await self._handling.close()
        await self._state.roster.leave(self.owner)
        self._publish([Event(EventKind.OWNER_LEFT, self._clock.wall(), owner=self.owner_id)])
        await self._side.stop()
        for job in helpers:
            job.cancel()
        await asyncio.gather(*helpers, return_exceptions=True)
        await self._bus.flush()
        await self._stack.aclose()
        logger.info("%s stopped", self.owner_id)

    async def _let_finish(self) -> None:
        hurry = asyncio.ensure_future(self._hurry.wait())
        try:
            async with asyncio.timeout(self._options.grace_seconds):
                while self._handling.running and not self._hurry.is_set():
                    runners = [d.runner for d in self._handling.running if d.runner is not None]
                    await asyncio.wait([*runners, hurry], return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            logger.warning("%d handlers did not finish within the grace; their messages are given back",
                           len(self._handling.running))  # fmt: skip
        finally:
            hurry.cancel()
