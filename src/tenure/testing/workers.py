"""A stage: tasks on a harness' broker and state, and real workers that come, freeze and die.

Everything runs in the one loop of virtual time. A worker that is killed is gone as after `kill -9`: its
tasks end where they stand, nothing is settled, it says no goodbye, and its death can be proven.

Used by `tenure.testing.conformance.worker`.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, ClassVar, NoReturn, Self, Unpack, cast, overload

import msgspec

from tenure.blobs import BlobStore
from tenure.broker import Sent
from tenure.client.claim_check import ClaimCheck
from tenure.clock import Clock
from tenure.errors import ConfigurationError
from tenure.foreign import Router
from tenure.limit import NO_LIMIT, Limit
from tenure.message import MessageState, Outgoing, new_id
from tenure.middleware import Middlewares
from tenure.record import Record
from tenure.runtime.processes.import_path import Locator
from tenure.runtime.processes.pool import ProcessPool
from tenure.runtime.worker import Worker, WorkerOptions
from tenure.tasks.build_message import outgoing
from tenure.tasks.call import Call, Options
from tenure.tasks.handle import Asker, Handle, Read
from tenure.tasks.task import Task, TaskOptions, policy_from
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.wire import Wire

#: A condition is looked at so often, in virtual seconds: at first, and at last.
LOOK_SECONDS = (0.1, 1.0)
#: Longer than any test's work should take, in virtual seconds.
PATIENCE = 600.0
#: Of every task on a stage, in bytes.
RESULT_LIMIT = 65_536

_ENDED = frozenset({MessageState.COMPLETED, MessageState.DEAD, MessageState.CANCELLED})


class Actor:
    """One worker on the stage, and the wire to its stores."""

    def __init__(self, worker: Worker, wire: Wire) -> None:
        """Made by `Stage.start`."""
        self.worker = worker
        self.wire = wire

    @property
    def counts(self) -> dict[str, int]:
        """Return how often each kind of event happened to this worker."""
        return dict(self.worker.counts)


class Stage:
    """Tasks and workers over one harness. Leaving it ends every worker that is still there."""

    #: Tests of the suites themselves put a worker with a fault here.
    worker_type: ClassVar[type[Worker]] = Worker

    def __init__(self, harness: Harness, queue: str = QUEUE) -> None:
        """Tasks go to `queue`, unless they name another."""
        self.harness = harness
        self.queue = queue
        self.tasks: dict[str, Task[..., Any]] = {}
        #: As that of an app.
        self.middleware = Middlewares()
        self.router = Router(None)
        #: Set, before anything is sent: bodies over `body_limit` bytes go there, whatever the broker takes.
        self.blob_store: BlobStore | None = None
        self.body_limit: int | None = None
        #: What happened, in order: whatever a handler or a test notes, and every word that was carried out.
        self.trace: list[str] = []
        self._actors: list[Actor] = []

    async def __aenter__(self) -> Self:
        """Begin with no workers."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every worker, without a goodbye."""
        for actor in list(self._actors):
            await self.end(actor)

    # --- tasks and messages -----------------------------------------------------------------------------

    @overload
    def task(self, function: Callable[..., Any], /) -> Task[..., Any]: ...
    @overload
    def task(self, **options: Any) -> Callable[[Callable[..., Any]], Task[..., Any]]: ...

    def task(self, function: Callable[..., Any] | None = None, **options: Any) -> Any:
        """Register a task as `app.task` does, with the harness' limits as the defaults."""
        if function is None:
            return lambda later: self._register(later, cast("TaskOptions", options))
        return self._register(function, cast("TaskOptions", options))

    def _register(self, function: Callable[..., Any], options: TaskOptions) -> Task[..., Any]:
        harness = self.harness
        policy = policy_from(
            options, max_attempts=harness.max_attempts, lease_seconds=harness.lease_seconds, result_limit=RESULT_LIMIT
        )
        name = options.get("name") or function.__name__
        queue = options.get("queue") or self.queue
        task: Task[..., Any] = Task(self, function, name, queue, policy, options.get("runs_in"))
        self.tasks[name] = task
        return task

    async def submit(self, call: Call[Any], **options: Unpack[Options]) -> str:
        """Send one message; its id."""
        return (await self._submit_call(call, options)).id

    async def _submit_call(self, call: Call[Any], options: Options) -> Handle[Any]:
        """Send a call, as a task asks of its app."""
        (sent,) = await self.send(self.outgoing(call, options))
        assert sent.refusal is None, f"the message was refused: {sent.refusal}"
        return Handle(cast("Asker", self), sent.id, msgspec.json.decode, duplicate=sent.duplicate)

    def outgoing(self, call: Call[Any], options: Options) -> Outgoing:
        """The message that a call becomes."""
        wall = self.harness.state.wall()
        return outgoing(call, options, id=new_id(wall), client=None, sent_at=wall)

    async def send(self, out: Outgoing, wire: Wire | None = None) -> list[Sent]:
        """Send one message, by claim check if the stage has a blob store; over `wire`, if that is to be cut."""
        if self.blob_store is None:
            return await self.harness.broker.send([out])
        wire = wire or self.wire()
        return await ClaimCheck(wire.room(self.blob_store)).send(wire.broker, [out])

    def handle(self, id: str, read: Read | None = None) -> Handle[Any]:
        """Make a handle, as a task asks of its app."""
        return Handle(cast("Asker", self), id, read or msgspec.json.decode)

    async def record(self, id: str, queue: str | None = None) -> Record | None:
        """Read a record, as a handle asks of its app."""
        return await self.harness.state.records.get(id, queue)

    def _submit_call_sync(self, call: Call[Any], options: Options) -> NoReturn:
        """Raise: no stage is sync, since its tests run on one loop, which a blocking call would stop."""
        msg = f"a stage is async: {call!r} with {options} was not sent; await submit_call instead"
        raise RuntimeError(msg)

    def _enter_lifespan(self) -> AbstractAsyncContextManager[None]:
        """A stage has none."""
        return contextlib.nullcontext()

    # --- workers ----------------------------------------------------------------------------------------

    def wire(self) -> Wire:
        """A wire for one worker, to be set up before the worker starts."""
        wire = Wire(self.harness.broker, self.harness.state, self._heard)
        wire.body_limit = self.body_limit
        return wire

    async def start(  # noqa: PLR0913 - one parameter a thing that a test may want otherwise
        self,
        *,
        concurrency: int = 10,
        grace: float = 30.0,
        wire: Wire | None = None,
        tasks: dict[str, Task[..., Any]] | None = None,
        queues: tuple[str, ...] = (),
        children: Callable[..., Any] | None = None,
        schedules: Sequence[Any] = (),
        has_room: bool = True,
        learning: bool = True,
        clock: Clock | None = None,
        client_limit: Limit = NO_LIMIT,
    ) -> Actor:
        """A worker that leases from now on, for all tasks of the stage or only for `tasks`.

        `clock`: its machine's, if that is another. `has_room=False`: it does not know of the stage's blob store.
        `learning=False`: it learns nothing. `client_limit`: of every client's queue.
        """
        wire = wire or self.wire()
        options = WorkerOptions(
            concurrency=concurrency,
            queues=queues or (self.queue,),
            name=f"worker-{len(self._actors)}",
            lease_seconds=self.harness.lease_seconds,
            grace_seconds=grace,
            sweep=self.harness.sweep_request(),
            own_thread=False,
            learning=learning,
            client_limit=client_limit,
        )
        worker = self.worker_type(
            wire.broker,
            wire.state,
            self.tasks if tasks is None else tasks,
            clock or self.harness.clock,
            options,
            opening=_is_open,
            locate=_nowhere,
            schedules=lambda: schedules,
            router=self.router,
            children=cast("Callable[..., ProcessPool]", children or ProcessPool),
            probe=self.harness.probe,
            claim_check=ClaimCheck(wire.room(self.blob_store)) if has_room and self.blob_store is not None else None,
        )
        await worker.start()
        actor = Actor(worker, wire)
        self._actors.append(actor)
        return actor

    async def kill(self, actor: Actor) -> None:
        """Kill the worker as `kill -9` does. From now on its death can be proven."""
        await self.end(actor)
        await self.harness.kill(actor.worker.owner)

    async def end(self, actor: Actor) -> None:
        """Stop the worker where it is, without any notice to the store."""
        actor.wire.cut()
        actor.wire.thaw()
        await actor.worker.abandon()
        if actor in self._actors:
            self._actors.remove(actor)

    async def stop(self, actor: Actor) -> None:
        """Stop the worker as the first SIGTERM does."""
        actor.worker.ask_to_stop()
        await actor.worker.stop()

    # --- looking ----------------------------------------------------------------------------------------

    def note(self, what: str) -> None:
        """Put something on the trace."""
        self.trace.append(what)

    def _heard(self, name: str, _arguments: tuple[Any, ...], answer: Any) -> None:
        self.trace.append(f"{name} {_said(answer)}".strip())

    async def until(self, holds: Callable[[], bool] | Callable[[], Awaitable[bool]], within: float = PATIENCE) -> None:
        """Wait until something is so; fails when it is not so within that many seconds."""
        clock = self.harness.clock
        ends = clock.monotonic() + within
        pause, most = LOOK_SECONDS
        while True:
            answer = holds()
            if answer is True or (answer is not False and await answer):
                return
            assert clock.monotonic() < ends, f"it did not come true within {within:g} s; so far: {self.trace}"
            await asyncio.sleep(pause)
            pause = min(most, pause * 1.1)

    async def ended(self, id: str, within: float = PATIENCE) -> Record:
        """Wait until a message is completed, dead or cancelled."""

        async def has_ended() -> bool:
            return (await self.harness.record(id)).state in _ENDED

        await self.until(has_ended, within)
        return await self.harness.record(id)

    async def settled(self, queue: str | None = None, within: float = PATIENCE) -> None:
        """Wait until nothing of the queue is ready, delayed or leased any more."""

        async def is_settled() -> bool:
            depth = await self.harness.depth(queue or self.queue)
            return not depth.ready and not depth.delayed and not depth.leased

        await self.until(is_settled, within)


def _said(answer: Any) -> str:
    """Describe the outcome of a settle, or the answers of the ledger, in one word."""
    if not isinstance(answer, list) or not answer:
        return ""
    outcomes = {str(getattr(one, "outcome", one)) for one in answer if isinstance(one, bool) or hasattr(one, "outcome")}
    return "/".join(sorted(outcomes))


async def _is_open() -> None:
    """The harness has opened everything."""


def _nowhere(task: Task[..., Any]) -> Locator:
    msg = f"{task.name} lives in a test; no child process can import it"
    raise ConfigurationError(msg)
