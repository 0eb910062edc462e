"""The app: the object users make, register tasks with, and submit through.

    app = Tenure("sqlite:///jobs.db")

    @app.task(max_attempts=5)
    async def resize(ctx: Context, image: str, width: int = 800) -> dict: ...

    await resize.submit("a.png")

Nothing is opened before it is needed. `async with app:` closes what was opened.
"""

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, Unpack, cast, overload

from tenure import assembly
from tenure.broker import Broker, Sent, SweepRequest
from tenure.call import Call, Options, outgoing
from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.config import Settings, client_name, settings_from
from tenure.context import Context, SyncContext
from tenure.errors import BadArgument, BadSetting, BadTask, BodyTooLarge, ConfigurationError, KeyConflict, UnknownTask
from tenure.handle import Handle
from tenure.message import Outgoing, new_id
from tenure.record import Record
from tenure.sink import Sink
from tenure.state import State
from tenure.task import Task, TaskOptions, policy_from

if TYPE_CHECKING:
    from tenure.runtime.worker import Worker

P = ParamSpec("P")
R = TypeVar("R")

Lifespan = Callable[["Tenure"], AbstractAsyncContextManager[Any]]


class TaskDecorator(Protocol):
    """What `@app.task(…)` returns: the handler's own parameters, without `ctx`, type `submit` and `bind`."""

    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], Awaitable[R]], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[SyncContext, P], R], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Awaitable[R]], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...


class Tenure:
    """An app: tasks, and the place where their messages are kept."""

    def __init__(
        self, url: str | None = None, *,
        client: str | None = None,
        settings: Settings | None = None,
        lifespan: Lifespan | None = None,
        clock: Clock = SYSTEM_CLOCK,
        must_exist: bool = False,
    ) -> None:  # fmt: skip
        """Keep messages at `url`, else at `TENURE_URL`; nothing is opened yet.

        `must_exist`: for tools that look. A place that is not there is an error, not created.
        """
        self.settings = settings or settings_from()
        self.client = self.settings.client if client is None else _checked_client(client)
        self.tasks: dict[str, Task[..., Any]] = {}
        self.clock = clock
        self._lifespan = lifespan
        url = url or self.settings.url
        if url is None:
            msg = "no broker is named: pass a URL, as in Tenure('sqlite:///jobs.db'), or set TENURE_URL"
            raise ConfigurationError(msg)
        self.url = url
        self._broker, self._state = assembly.connect(url, clock=clock, must_exist=must_exist)
        self._opening: asyncio.Task[None] | None = None
        self._opened = False

    # -- tasks -------------------------------------------------------------------------------------

    @property
    def queue(self) -> str:
        """The queue of tasks that name none."""
        return f"{self.client}-tasks"

    @overload
    def task(self, function: Callable[Concatenate[Context, P], Awaitable[R]], /) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[Concatenate[SyncContext, P], R], /) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[P, Awaitable[R]], /) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...
    @overload
    def task(self, **options: Unpack[TaskOptions]) -> TaskDecorator: ...

    def task(self, function: Any = None, /, **options: Any) -> Any:  # type: ignore[misc] # mypy and Unpack
        """Make a function a task, with or without options: `@app.task` or `@app.task(max_attempts=5)`."""
        if function is not None:
            return self._register(function, {})
        return lambda later: self._register(later, cast("TaskOptions", options))

    def _register(self, function: Callable[..., Any], options: TaskOptions) -> Task[..., Any]:
        unknown = options.keys() - TaskOptions.__annotations__.keys()
        if unknown:
            msg = f"@app.task takes no option {', '.join(sorted(unknown))}"
            raise BadTask(msg)
        name = options.get("name") or function.__name__
        if name in self.tasks:
            msg = f"a task named {name!r} is registered already; give one of them another name="
            raise BadTask(msg)
        settings = self.settings
        policy = policy_from(options, max_attempts=settings.max_attempts, lease_seconds=settings.lease_seconds)
        queue = options.get("queue") or self.queue
        task: Task[..., Any] = Task(self, function, name, queue, policy, options.get("runs_in"))
        self.tasks[name] = task
        return task

    def find(self, name: str) -> Task[..., Any]:
        """The task of that name; raises `UnknownTask` with a guess at what was meant."""
        task = self.tasks.get(name)
        if task is None:
            near = difflib.get_close_matches(name, self.tasks, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(sorted(self.tasks)) or 'none'}."
            msg = f"no task named {name!r} is registered with this app; {hint} Nothing was sent."
            raise UnknownTask(msg)
        return task

    # -- sending -----------------------------------------------------------------------------------

    @overload
    async def submit(self, call: Call[R], /, **options: Unpack[Options]) -> Handle[R]: ...
    @overload
    async def submit(
        self, call: str, payload: Mapping[str, Any] | None = None, /, **options: Unpack[Options]
    ) -> Handle[Any]: ...

    async def submit(
        self, call: Any, payload: Mapping[str, Any] | None = None, /, **options: Unpack[Options]
    ) -> Handle[Any]:
        """Send one message: a bound call, or a task's name and its payload. Returns when it cannot be lost any more."""
        if isinstance(call, str):
            call = self._call_by_name(call, payload)
        elif not isinstance(call, Call):
            msg = f"submit takes task.bind(…) or a task's name, not {call!r}; nothing was sent"
            raise BadArgument(msg)
        return await self.submit_call(call, options)

    def _call_by_name(self, name: str, payload: Mapping[str, Any] | None) -> Call[Any]:
        task = self.find(name)
        return Call(task, task.signature.payload(payload or {}))

    async def submit_call(self, call: Call[R], options: Options) -> Handle[R]:
        """Send one call with its options."""
        wall = self.clock.wall()
        out = outgoing(call, options, id=new_id(wall), client=self.client, sent_at=wall)
        (sent,) = await self.send([out])
        return Handle(self, _accepted(sent), duplicate=sent.duplicate)

    async def submit_many(self, calls: Iterable[Call[R]], **options: Unpack[Options]) -> list[Handle[R]]:
        """Send many messages, in as few steps as the broker allows; raises on the first that is refused."""
        wall = self.clock.wall()
        batch = [outgoing(call, options, id=new_id(wall), client=self.client, sent_at=wall) for call in calls]
        return [Handle(self, _accepted(sent), duplicate=sent.duplicate) for sent in await self.send(batch)]

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Send raw messages; one answer each, refusals included."""
        await self.open()
        limit = self._broker.traits.batch_limit
        if len(batch) <= limit:
            return await self._broker.send(batch)
        sent: list[Sent] = []
        for start in range(0, len(batch), limit):
            sent += await self._broker.send(batch[start : start + limit])
        return sent

    async def record(self, id: str) -> Record | None:
        """Everything known about a message."""
        await self.open()
        return await self._state.records.get(id)

    # -- working -----------------------------------------------------------------------------------

    def worker(
        self, *, concurrency: int | None = None, queues: Sequence[str] = (), name: str = "",
        grace: float | None = None, reference: str | None = None, sinks: Sequence[Sink] = (),
    ) -> "Worker":  # fmt: skip
        """A worker for this app's tasks: `async with app, app.worker(): …`, or `await app.worker().run()`.

        `reference` ("module:attribute") tells child processes how to import this app; without it they
        import the module of the task.
        """
        from tenure.runtime.locating import locate, locate_task  # noqa: PLC0415 - senders need no runtime
        from tenure.runtime.worker import Worker, WorkerOptions  # noqa: PLC0415

        if not self.tasks:
            msg = "this app has no tasks: decorate a function with @app.task before starting a worker"
            raise ConfigurationError(msg)
        if concurrency is not None and concurrency < 1:
            msg = f"concurrency={concurrency!r} lets nothing run; a worker needs at least one slot"
            raise ConfigurationError(msg)
        settings, lifespan = self.settings, self._lifespan
        options = WorkerOptions(
            concurrency=settings.concurrency if concurrency is None else concurrency,
            queues=tuple(queues),
            name=name,
            lease_seconds=settings.lease_seconds,
            grace_seconds=settings.grace_seconds if grace is None else grace,
            sweep=self.sweep_request(),
            journal_keep_seconds=settings.journal_keep_seconds,
            own_thread=self.clock is SYSTEM_CLOCK,
        )
        return Worker(
            self._broker, self._state, self.tasks, self.clock, options,
            opening=self.open,
            locate=locate_task if reference is None else lambda _task: locate(reference),
            lifespan=None if lifespan is None else lambda: lifespan(self),
            sinks=sinks,
        )  # fmt: skip

    def sweep_request(self) -> SweepRequest:
        """How this app's settings sweep."""
        settings = self.settings
        return SweepRequest(
            limit=settings.sweep_batch,
            interval_seconds=settings.sweep_interval_seconds,
            max_attempts=settings.max_attempts,
            lease_seconds=settings.lease_seconds,
        )

    # -- opening and closing -----------------------------------------------------------------------

    @property
    def broker(self) -> Broker:
        """The broker, for operators' tools; call `open` first."""
        return self._broker

    @property
    def state(self) -> State:
        """The state, for operators' tools; call `open` first."""
        return self._state

    async def open(self) -> None:
        """Connect, once; everything that needs it does so by itself."""
        if self._opened:
            return
        if self._opening is None:
            self._opening = asyncio.get_running_loop().create_task(self._open())
        try:
            await asyncio.shield(self._opening)
        finally:
            self._opening = None

    async def _open(self) -> None:
        await self._broker.open()
        await self._state.open()
        self._opened = True

    async def close(self) -> None:
        """Disconnect; the app can be opened again."""
        if self._opened:
            self._opened = False
            await self._state.close()
            await self._broker.close()

    async def __aenter__(self) -> Self:
        """Open."""
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close."""
        await self.close()


def _checked_client(client: str) -> str:
    try:
        return client_name(client)
    except ValueError:
        msg = f"client={client!r} cannot name a queue; use a-z, 0-9 and single dashes"
        raise BadSetting(msg) from None


def _accepted(sent: Sent) -> str:
    """The id, unless the broker refused the message."""
    if sent.refusal is None:
        return sent.id
    refusals = {"body_too_large": BodyTooLarge, "key_conflict": KeyConflict}
    raise refusals.get(sent.refusal.code, BadArgument)(sent.refusal.text)
