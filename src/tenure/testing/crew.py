"""The workers of a kit: one real worker at a time, which runs only while the test lets it, and is replaced when killed.

Between `drain` and `advance` nothing the worker says gets through (`wire.py`), so a test can submit, look and arm
faults without a race. Faults strike in a middleware of the kit's own, outermost of all, and on the wire.

Used by `kit.py`.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from tenure import envelope
from tenure.app import Tenure
from tenure.broker import Broker
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.middleware import Run
from tenure.runtime.options import WorkerOptions
from tenure.runtime.processes.import_path import Locator
from tenure.runtime.processes.pool import ProcessPool
from tenure.runtime.worker import Worker
from tenure.settlement import Ack, GiveBack
from tenure.tasks.context import Context
from tenure.tasks.task import Task
from tenure.testing.faults import Crash, Faults, KitError, LostAck, LostLease, Outage
from tenure.testing.group_announcer import GroupAnnouncer
from tenure.testing.here import Here
from tenure.testing.mortal import Mortal, MortalWire
from tenure.testing.wire import Listener, Wire

_LOOK_SECONDS, _MOST_LOOKS = 0.01, 100


class Workers:
    """The workers of a kit."""

    def __init__(
        self, app: Tenure, broker: Broker, state: Mortal, clock: Clock, faults: Faults, heard: Listener
    ) -> None:
        """Make an empty crew. `heard` is called with every call of a worker that was carried out."""
        self._app = app
        self._broker = broker
        self._state = state
        self._clock = clock
        self._faults = faults
        self._heard = heard
        #: What everybody but the workers says goes here: the test itself, and handlers that use the app.
        self.outside = Wire(broker, state, heard)
        #: How often a handler was begun, by message.
        self.runs: Counter[str] = Counter()
        self.is_working = False
        #: How many runs may still begin. A run after the last one waits until more are allowed.
        self._runs_left = 0
        self._is_allowed = asyncio.Event()
        self._is_out = asyncio.Event()
        self._worker: Worker | None = None
        #: To the worker that works, or worked last.
        self._wire = MortalWire(broker, state, heard)
        self._served: object = None
        self._hired = 0
        self._lifespan_value: Any = None
        self._ended: asyncio.Task[None] | None = None
        self._replacing: asyncio.Task[None] | None = None
        self._return: asyncio.TimerHandle | None = None
        self._reachable = asyncio.Event()
        self._reachable.set()

    # -- what a kit does ---------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """A worker works until the end of the block; what it has begun by then goes on in the next one."""
        if self.is_working:
            msg = "drain and advance are for the test alone, one after the other; this one came while another ran"
            raise KitError(msg)
        self.is_working = True
        try:
            self._wire.thaw()
            await self._hire()
            yield
            await self._replaced()
        finally:
            self.is_working = False
            if self._worker is not None:
                self._wire.freeze()

    def allow(self, runs: int) -> None:
        """Allow that many more handlers to begin."""
        self._runs_left = runs
        self._is_out.clear()
        self._is_allowed.set()

    @property
    def is_out_of_runs(self) -> bool:
        """Whether one was to begin that is not allowed."""
        return self._is_out.is_set()

    async def work_for(self, seconds: float) -> None:
        """Let so much time pass; less if the runs are used up, for time stands still while something can run."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_out.wait()

    @property
    def is_busy(self) -> bool:
        """Whether something is under way that no look at the queues shows."""
        return self._replacing is not None or not self._reachable.is_set()

    async def check(self) -> None:
        """Raise what a worker died of, other than a fault of the test's."""
        if self._replacing is not None and self._replacing.done():
            await self._replaced()
        elif self._ended is not None and self._ended.done():
            await self._dismiss()

    async def end(self) -> None:
        """Everybody goes home, at once; what is under way is given back."""
        self._restore()
        self._wire.thaw()
        await self._replaced()
        await self._dismiss()

    # -- workers -----------------------------------------------------------------------------------

    async def _hire(self) -> None:
        """A worker for the tasks that there are now: a test may have added some."""
        served = (tuple(self._app.tasks.items()), tuple(self._app.schedules.items()))
        if served != self._served:
            await self._dismiss()
            await self._start()
            self._served = served

    async def _start(self) -> None:
        self._hired += 1
        self._wire = wire = MortalWire(self._broker, self._state, self._heard)
        wire.spy = self._lose_ack
        worker = self._new_worker(wire)
        await worker.start()
        self._worker = worker
        # Only we stop it: if this ends otherwise, a part of it died.
        self._ended = asyncio.get_running_loop().create_task(worker.asked_to_stop())

    def _new_worker(self, wire: Wire) -> Worker:
        app, settings = self._app, self._app.settings
        options = WorkerOptions(
            concurrency=settings.concurrency,
            name=f"kit-{self._hired}",
            lease_seconds=settings.lease_seconds,
            grace_seconds=settings.grace_seconds,
            sweep=app.sweep_request(),
            journal_keep_seconds=float("inf"),
            own_thread=False,
        )
        return Worker(
            wire.broker, wire.state, app.tasks, self._clock, options,
            opening=_is_open, locate=_here, lifespan=self._lifespan, client=app.client,
            schedules=lambda: tuple(app.schedules.values()), children=self._children,
            claim_check=app._claim_check, router=app._router,
            beside=(GroupAnnouncer(wire, self._clock, app._claim_check),),
        )  # fmt: skip

    @contextlib.asynccontextmanager
    async def _lifespan(self) -> AsyncIterator[Any]:
        async with self._app._enter_lifespan() as value:
            self._lifespan_value = value
            yield value

    def _children(self, _locate: object, *, most: int, **_: object) -> ProcessPool:
        return cast("ProcessPool", Here(most, lambda: self._lifespan_value))

    async def _dismiss(self) -> None:
        """Stop the worker, if there is one; raises what it died of."""
        worker, self._served = self._let_go(), None
        if worker is not None:
            worker.ask_to_stop()
            worker.ask_to_stop()
            await worker.stop()

    def _let_go(self) -> Worker | None:
        worker, self._worker = self._worker, None
        ended, self._ended = self._ended, None
        if ended is not None:
            ended.cancel()
        return worker

    # -- faults ------------------------------------------------------------------------------------

    async def middleware(self, ctx: Context, run: Run) -> Any:
        """Around every handler: the moments at which faults strike."""
        task, faults = ctx.message.task, self._faults
        await self._may_begin()
        self.runs[ctx.message.id] += 1
        if (outage := faults.strike(Outage, [task])) is not None:
            self._go_away(outage.seconds)
        if faults.strike(LostLease, [task]) is not None:
            await self._take_lease(ctx.message.id)
        if (crash := faults.strike(Crash, [task], "running")) is not None:
            # A thread cannot be ended where it stands: a plain function runs to its end, and then its worker dies.
            is_plain = not self._app.tasks[task].signature.is_async
            await self._crash_within(run, None if is_plain else crash.after_seconds)
        result = await run()
        if not self._wire.is_cut.is_set() and faults.strike(Crash, [task], "returned") is None:
            return result
        return await self._die()

    async def _may_begin(self) -> None:
        while self._runs_left <= 0:
            self._is_allowed.clear()
            self._is_out.set()
            await self._is_allowed.wait()
        self._runs_left -= 1

    async def _crash_within(self, run: Run, seconds: float | None) -> None:
        """Let the handler go as far as it comes in that time; its worker dies before it reports an end.

        It ends by being cancelled: a `finally` of its own still runs, which `kill -9` would not let it.
        """
        handler = asyncio.ensure_future(run())
        try:
            await asyncio.wait({handler}, timeout=seconds)
            await self._die()
        finally:
            handler.cancel()
            await asyncio.gather(handler, return_exceptions=True)

    async def _die(self) -> None:
        """Kill the worker as `kill -9` does: no later call of it is carried out. Never returns."""
        if not self._wire.is_cut.is_set():
            self._wire.cut()
            self._replacing = asyncio.get_running_loop().create_task(self._replace())
        await asyncio.get_running_loop().create_future()

    async def _replace(self) -> None:
        worker = self._let_go()
        if worker is not None:
            await worker.abandon()
            self._wire.is_buried.set()
            await self._threads_of(worker)
            self._state.kill(worker.owner_id)
        await self._reachable.wait()
        await self._start()

    async def _threads_of(self, worker: Worker) -> None:
        """Wait for plain functions that go on. In a dead process they would not, so no other run may overlap them."""
        for _ in range(_MOST_LOOKS):
            if not worker.has_stuck_handlers:
                return
            await asyncio.sleep(_LOOK_SECONDS)  # real time passes for as long as a thread is at work

    async def _replaced(self) -> None:
        """Wait for the new worker, if one is on its way; raises why it could not come."""
        replacing, self._replacing = self._replacing, None
        if replacing is not None:
            await replacing

    def _lose_ack(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name != "broker.ack":
            return
        acks: Sequence[Ack] = arguments[0]
        lost = self._faults.strike(LostAck, [envelope.decode(ack.lease.envelope).task for ack in acks])
        if lost is not None and lost.carried_out:
            self._wire.lose_replies(name)
        elif lost is not None:
            msg = "the test has lost this ack on its way"
            raise BrokerUnavailable(msg, outcome_unknown=True)

    async def _take_lease(self, id: str) -> None:
        """End the lease without its holder's knowledge, as after a freeze longer than the lease."""
        if self._worker is not None:
            held = await self._broker.held(self._worker.owner_id)
            await self._broker.give_back([GiveBack(lease) for lease in held if lease.id == id])

    def _go_away(self, seconds: float) -> None:
        self._reachable.clear()
        for wire in (self._wire, self.outside):
            wire.away()
        if self._return is not None:
            self._return.cancel()
        self._return = asyncio.get_running_loop().call_later(seconds, self._restore)

    def _restore(self) -> None:
        self._reachable.set()
        for wire in (self._wire, self.outside):
            wire.back()


async def _is_open() -> None:
    """A kit opens nothing that must be opened."""


def _here(task: Task[..., Any]) -> Locator:
    """Locate a task by its name alone."""
    return Locator(task.name)
