"""A seat: the place of one worker. When that worker ends, the next one takes it.

The worker is the real one, with its own intake, heartbeat, outbox and sweeper; only its handler is made up: it sleeps
for as long as the work takes, and fails or crashes as the scenario says (`scenario.py`). Made by `running.py`.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, NoReturn, cast

from tenure.broker import Broker, SweepRequest
from tenure.errors import ConfigurationError
from tenure.runtime.processes.import_path import Locator
from tenure.runtime.processes.pool import ProcessPool
from tenure.runtime.worker import Worker, WorkerOptions
from tenure.simulation.outcomes import Outcomes
from tenure.simulation.scenario import Scenario
from tenure.state import State
from tenure.tasks.call import Call, Options
from tenure.tasks.task import Policy, Task
from tenure.testing.here import Here
from tenure.testing.virtual import VirtualClock

#: What goes on beside a handler, by its worker's owner id and its message's id.
Beating = Callable[[str, str], Coroutine[Any, Any, None]]

QUEUE = "simulated"
TASK = "work"

#: What other workers would see to, `timer.py` does for all: no worker looks by itself.
NEVER = 1e9


class VirtualMachine:
    """The parts of an app that a task needs where nothing is ever sent."""

    middleware = ()

    def _enter_lifespan(self) -> AbstractAsyncContextManager[None]:
        """There is none."""
        return contextlib.nullcontext()

    def handle(self, id: str, read: object = None) -> NoReturn:  # noqa: ARG002 - of the contract
        """Raise: a simulation has no handles."""
        raise _cannot_send()

    async def _submit_call(self, call: Call[Any], options: Options) -> NoReturn:  # noqa: ARG002 - likewise
        """Raise: a simulation submits no calls."""
        raise _cannot_send()

    def _submit_call_sync(self, call: Call[Any], options: Options) -> NoReturn:  # noqa: ARG002 - likewise
        """Raise: a simulation submits no calls."""
        raise _cannot_send()


def _cannot_send() -> RuntimeError:
    return RuntimeError("a simulated task sends nothing: the scenario does")


class Boot:
    """One worker's life."""

    def __init__(self, worker: Worker) -> None:
        """Take a worker that is not started yet."""
        self.worker = worker
        self.is_dead = False
        self.is_stopping = False


class VirtualWorker:
    """Keeps a worker at work."""

    def __init__(  # noqa: PLR0913 - made in one place, by `running.py`
        self,
        number: int,
        broker: Broker,
        state: State,
        clock: VirtualClock,
        scenario: Scenario,
        book: Outcomes,
        policy: Policy,
        on_death: Callable[[str], None],
        *,
        learns: bool,
        beating: Beating | None = None,
    ) -> None:
        """Take the worker's settings. `on_death` gets the owner of a dead worker; `beating` goes with each run."""
        self._number = number
        self._broker = broker
        self._state = state
        self._clock = clock
        self._scenario = scenario
        self._book = book
        self._on_death = on_death
        self._beating = beating
        self._tasks: dict[str, Task[..., Any]] = {
            TASK: Task(VirtualMachine(), self._handler(), TASK, QUEUE, policy, None)
        }
        self._lease_seconds = policy.lease.seconds
        self._learns = learns
        self._boots = 0
        self._boot: Boot | None = None
        self._life: asyncio.TimerHandle | None = None
        self._replacing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the worker."""
        options = WorkerOptions(
            concurrency=self._scenario.slots,
            queues=(QUEUE,),
            name=f"worker-{self._number}-{self._boots}",
            lease_seconds=self._lease_seconds,
            grace_seconds=self._scenario.grace_seconds,
            sweep=SweepRequest(limit=1000, interval_seconds=NEVER),
            liveness_seconds=NEVER,
            journal_keep_seconds=NEVER,
            own_thread=False,
            learning=self._learns,
            statistics=False,
        )
        worker = Worker(
            self._broker,
            self._state,
            self._tasks,
            self._clock,
            options,
            opening=_is_open,
            locate=_nowhere,
            children=lambda _locate, *, most, **_: cast("ProcessPool", Here(most, lambda: None)),
        )
        self._boot = Boot(worker)
        await worker.start()
        life = self._scenario.life_of_worker(self._number, self._boots)
        self._boots += 1
        if life is not None:
            self._life = asyncio.get_running_loop().call_later(life, self._crash, self._boot)

    @property
    def is_busy(self) -> bool:
        """Whether its worker runs something."""
        return self._boot is not None and self._boot.worker.in_flight > 0

    async def stop(self) -> None:
        """Stop as after SIGTERM: runs that do not end within the grace are given back."""
        await self._leave_unreplaced()
        boot = self._boot
        if boot is None or boot.is_dead:
            return
        boot.is_stopping = True
        if self._life is not None:
            self._life.cancel()
        boot.worker.ask_to_stop()
        await boot.worker.stop()
        self._boot = None

    async def end(self) -> None:
        """The simulation is over; whatever still runs ends where it is."""
        await self._leave_unreplaced()
        if self._boot is not None:
            await self._end(self._boot)

    async def _leave_unreplaced(self) -> None:
        if self._replacing is not None:
            self._replacing.cancel()
            await asyncio.gather(self._replacing, return_exceptions=True)

    async def _end(self, boot: Boot) -> None:
        boot.is_dead = True
        self._boot = None
        if self._life is not None:
            self._life.cancel()
        await boot.worker.abandon()

    def _crash(self, boot: Boot) -> None:
        if boot.is_dead or boot.is_stopping:
            return
        boot.is_dead = True
        self._book.crashes += 1
        self._replacing = asyncio.get_running_loop().create_task(self._replace(boot))

    async def _replace(self, boot: Boot) -> None:
        await self._end(boot)
        self._on_death(boot.worker.owner_id)
        await asyncio.sleep(self._scenario.restart_seconds)
        await self.start()

    def _beat(self, boot: Boot | None, index: int) -> asyncio.Task[None] | None:
        if self._beating is None or boot is None:
            return None
        return asyncio.get_running_loop().create_task(self._beating(boot.worker.owner_id, str(index)))

    def _handler(self) -> Callable[..., Any]:
        clock, began, book, works = self._clock, self._book.began, self._book, self._scenario.works
        crash_of_run = self._scenario.crash_of_run

        async def work(index: int, size: int = 0) -> None:  # noqa: ARG001 - what a size says, policies know
            boot = self._boot
            start = clock.now - began
            book.begin(index, start)
            crash = crash_of_run(index, book.begun[index] - 1)
            beating = self._beat(boot, index)
            try:
                if crash is not None and boot is not None:
                    await asyncio.sleep(crash)
                    self._crash(boot)
                    await asyncio.get_running_loop().create_future()
                await asyncio.sleep(works[index].seconds)
            except asyncio.CancelledError:
                crashed = boot is not None and boot.is_dead
                book.cut(index, start, clock.now - began, crashed=crashed)
                if boot is not None and boot.is_stopping:
                    book.interrupt()
                raise
            finally:
                if beating is not None:
                    beating.cancel()
            book.complete(index, start, clock.now - began)

        return work


async def _is_open() -> None:
    """Do nothing: there is nothing to open."""


def _nowhere(task: Task[..., Any]) -> Locator:
    msg = f"{task.name} is simulated; no child process can import it"
    raise ConfigurationError(msg)
