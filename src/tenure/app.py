"""The app: the object users make, register tasks with, and submit through.

    app = Tenure("sqlite:///jobs.db")

    @app.task(max_attempts=5)
    async def resize(ctx: Context, image: str, width: int = 800) -> dict[str, int]: ...

    await resize.submit("a.png")

Nothing is opened before it is needed. `async with app:` closes what was opened.
"""

import contextlib
import difflib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Self, TypeVar, Unpack, cast, overload

from tenure import assembly
from tenure.broker import Broker, Sent, SweepRequest
from tenure.call import Call, Options, is_queue
from tenure.claim_check import ClaimCheck
from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.config import DEFAULT_CLIENT, Settings, client_name, settings_from
from tenure.context import Context, SyncContext
from tenure.decorator import Anything, TaskDecorator
from tenure.door import Door, plain_reader
from tenure.errors import BadArgument, BadSchedule, BadSetting, BadTask, BadURL, ConfigurationError, UnknownTask
from tenure.foreign import Route, Router
from tenure.handle import Handle, Read, SyncHandle
from tenure.message import Outgoing
from tenure.middleware import Middleware, Middlewares
from tenure.portal import Portal
from tenure.record import Record
from tenure.sink import Sink
from tenure.state import State
from tenure.task import AsyncTask, SyncTask, Task, TaskOptions, check_options, task_from

if TYPE_CHECKING:
    from tenure.runtime.worker import Worker
    from tenure.schedule import Schedule

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Route)

Lifespan = Callable[["Tenure"], AbstractAsyncContextManager[Any]]


class Tenure:
    """An app: tasks, and the place where their messages are kept."""

    def __init__(  # noqa: PLR0913 - each is an option of its own, and none is needed
        self, url: str | None = None, *,
        client: str | None = None,
        namespace: str | None = None,
        settings: Settings | None = None,
        lifespan: Lifespan | None = None,
        middleware: Iterable[Middleware] = (),
        claim_check: str | None = None,
        clock: Clock = SYSTEM_CLOCK,
        must_exist: bool = False,
    ) -> None:  # fmt: skip
        """Keep messages at `url`, else at `TENURE_URL`; nothing is opened yet.

        `namespace`: apps with different ones share a place and see nothing of each other. `lifespan`: an async
        context manager around each worker, whose value handlers get as `ctx.state`. `claim_check`: the URL of a
        folder, bucket or container for bodies that are too large for the broker. `must_exist`: for tools that look.
        A place that is not there is an error, not created.
        """
        self.settings = settings or settings_from()
        self.client = self.settings.client if client is None else _checked("client", client)
        self.namespace = self.settings.namespace if namespace is None else _checked("namespace", namespace)
        self.tasks: dict[str, Task[..., Any]] = {}
        self.schedules: dict[str, Schedule] = {}
        #: Who says what a message is that Tenure did not send. `@app.on_foreign` adds to it.
        self.router = Router(self.client)
        #: What stands around every handler. `@app.middleware` adds to it; the first is the outermost.
        self.middleware = Middlewares()
        for one in middleware:
            self.middleware(one)
        self._lifespan = lifespan
        place: object = url or self.settings.url
        if place is not None and not isinstance(place, str):
            msg = f"{place!r} is no URL; a file is named like this: sqlite:///jobs.db"
            raise BadURL(msg)
        if place is None:
            msg = "no broker is named: pass a URL, as in Tenure('sqlite:///jobs.db'), or set TENURE_URL"
            raise ConfigurationError(msg)
        self.url = place
        checked = claim_check or self.settings.claim_check
        #: Where bodies go that are too large for the broker.
        self.claim_check = None if checked is None else ClaimCheck(assembly.cloakroom(checked, clock=clock))
        self._door = self._make_door(clock, *assembly.connect(place, clock=clock, must_exist=must_exist))
        self._portal = Portal()
        self._sync_door: Door | None = None

    def _make_door(self, clock: Clock, broker: Broker, state: State) -> Door:
        return Door(broker, state, clock, client=self.client, namespace=self.namespace, claim_check=self.claim_check)

    # -- tasks -------------------------------------------------------------------------------------

    @property
    def queue(self) -> str:
        """The queue of tasks that name none."""
        return self.queue_named(f"{self.client}-tasks")

    def queue_named(self, name: str) -> str:
        """The queue as the broker knows it: within this app's namespace."""
        if not is_queue(name):
            msg = f"{name!r} cannot name a queue; use letters, digits, dots, dashes and _"
            raise BadTask(msg)
        return name if self.namespace is None else f"{self.namespace}/{name}"

    def sees(self, queue: str) -> bool:
        """Whether a queue, as the broker knows it, is this app's to look at. Without a namespace: every queue."""
        return self.namespace is None or queue.startswith(f"{self.namespace}/")

    @overload
    def task(self, function: Callable[Concatenate[Anything, P], Awaitable[R]], /) -> AsyncTask[..., R]: ...  # type: ignore[overload-overlap]
    @overload
    def task(self, function: Callable[Concatenate[Anything, P], R], /) -> SyncTask[..., R]: ...
    @overload
    def task(self, function: Callable[Concatenate[Context, P], Awaitable[R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def task(self, function: Callable[Concatenate[SyncContext, P], R], /) -> SyncTask[P, R]: ...
    @overload
    def task(self, function: Callable[P, Anything], /) -> SyncTask[P, Any]: ...
    @overload
    def task(self, function: Callable[P, Awaitable[R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def task(self, function: Callable[P, R], /) -> SyncTask[P, R]: ...
    @overload
    def task(self, **options: Unpack[TaskOptions]) -> TaskDecorator: ...

    def task(self, function: Any = None, /, **options: Any) -> Any:  # type: ignore[misc] # mypy and Unpack
        """Make a function a task, with or without options: `@app.task` or `@app.task(max_attempts=5)`."""
        if function is not None:
            return self._register(function, {})
        return lambda later: self._register(later, cast("TaskOptions", options))

    def _register(self, function: Callable[..., Any], options: TaskOptions) -> Task[..., Any]:
        check_options(options)
        name = options["name"] if "name" in options else getattr(function, "__name__", "")
        if not name or not isinstance(name, str):
            msg = f"{function!r} has no name; decorate a function, or give it one with name="
            raise BadTask(msg)
        if name in self.tasks:
            msg = f"a task named {name!r} is registered already; give one of them another name="
            raise BadTask(msg)
        queue = self.queue_named(options["queue"]) if "queue" in options else self.queue
        task = self.tasks[name] = task_from(self, function, name, queue, options, self.settings)
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

    @overload
    def on_foreign(self, queue: F, /) -> F: ...
    @overload
    def on_foreign(self, queue: str | None = None, /) -> Callable[[F], F]: ...

    def on_foreign(self, queue: Any = None, /) -> Any:
        """Say which call a message is that Tenure did not send: `@app.on_foreign("queue")`; for all: `@app.on_foreign`.

        The function gets a `Foreign` and returns `task.bind(…)` or `foreign.call(task)`; None: it is not known, and
        goes to the dead letters. It is asked at every delivery, in the worker's event loop: it must not wait.
        """
        if callable(queue):
            return self.router.add(None, queue)
        name = None if queue is None else self.queue_named(queue)
        return lambda route: self.router.add(name, route)

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
        return await self._door.submit(self._call(call, payload), options)

    def _call(self, call: Any, payload: Mapping[str, Any] | None) -> Call[Any]:
        if isinstance(call, Call):
            return call
        if not isinstance(call, str):
            msg = f"submit takes task.bind(…) or a task's name, not {call!r}; nothing was sent"
            raise BadArgument(msg)
        task = self.find(call)
        return Call(task, task.signature.payload(payload or {}))

    async def submit_call(self, call: Call[R], options: Options) -> Handle[R]:
        """Send one call with its options."""
        return await self._door.submit(call, options)

    async def submit_many(self, calls: Iterable[Call[R]], **options: Unpack[Options]) -> list[Handle[R]]:
        """Send many messages, in as few steps as the broker allows; one handle each, in order.

        A call that is refused does not hold up the others: when all are through, `PartlySent` says which were
        refused and why, with the handles of those that were sent. Options of its own: `call.having(key=…)`.
        """
        return await self._door.submit_many(_listed(calls), options)

    @overload
    def submit_sync(self, call: Call[R], /, **options: Unpack[Options]) -> SyncHandle[R]: ...
    @overload
    def submit_sync(
        self, call: str, payload: Mapping[str, Any] | None = None, /, **options: Unpack[Options]
    ) -> SyncHandle[Any]: ...

    def submit_sync(
        self, call: Any, payload: Mapping[str, Any] | None = None, /, **options: Unpack[Options]
    ) -> SyncHandle[Any]:
        """As `submit`, from code that is not async: scripts, Django, Flask. Blocks until it cannot be lost any more."""
        return self.submit_call_sync(self._call(call, payload), options)

    def submit_call_sync(self, call: Call[R], options: Options) -> SyncHandle[R]:
        """Send one call with its options, and wait."""
        door = self._door_for_sync()
        return SyncHandle(self._portal(lambda: door.submit(call, options)), self._portal)

    def submit_many_sync(self, calls: Iterable[Call[R]], **options: Unpack[Options]) -> list[SyncHandle[R]]:
        """As `submit_many`, from code that is not async."""
        door, many = self._door_for_sync(), _listed(calls)
        handles = self._portal(lambda: door.submit_many(many, options))
        return [SyncHandle(handle, self._portal) for handle in handles]

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Send raw messages; one answer each, refusals included."""
        return await self._door.send(batch)

    # -- asking ------------------------------------------------------------------------------------

    def handle(self, id: str, read: Read | None = None) -> Handle[Any]:
        """A handle on a message that was sent before, perhaps by another process.

        Its result comes as plain JSON values; `task.handle(id)` knows the handler's own type.
        """
        return Handle(self._door, id, read or plain_reader())

    def handle_sync(self, id: str) -> SyncHandle[Any]:
        """As `handle`, for code that is not async."""
        return SyncHandle(Handle(self._door_for_sync(), id, plain_reader()), self._portal)

    async def record(self, id: str) -> Record | None:
        """Everything known about a message."""
        return await self._door.record(id)

    # -- schedules ---------------------------------------------------------------------------------

    def schedule(
        self, call: Call[Any], /, *,
        cron: str | None = None,
        every: float | timedelta | None = None,
        timezone: str = "UTC",
        missed: Literal["once", "skip"] = "once",
        name: str | None = None,
        **options: Unpack[Options],
    ) -> "Schedule":  # fmt: skip
        """Send `call` at every tick: once, however many workers run. Workers of this app do it.

        `cron` is a crontab line in `timezone`, `every` an interval, counted from the epoch. `missed`: what to do about
        ticks at which no worker ran: "once" sends one message for them all, "skip" sends none.
        """
        from tenure.schedule import schedule_from  # noqa: PLC0415 - most apps have none

        given: object = call
        if not isinstance(given, Call):
            msg = f"schedule takes task.bind(…), not {given!r}; nothing was scheduled"
            raise BadSchedule(msg)
        name = call.task.name if name is None else name
        # As queues do, schedules of one place belong to a namespace and a client; `default` goes without saying.
        owners = (self.namespace, None if self.client == DEFAULT_CLIENT else self.client)
        full = "/".join([*filter(None, owners), name])
        if full in self.schedules:
            msg = f"a schedule named {name!r} is registered already; give one of them another name="
            raise BadSchedule(msg)
        schedule = schedule_from(
            full, call, cron=cron, every=every, timezone=timezone, missed=missed, options=options
        )  # fmt: skip
        self.schedules[full] = schedule
        return schedule

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
        settings = self.settings
        options = WorkerOptions(
            concurrency=settings.concurrency if concurrency is None else concurrency,
            queues=tuple(map(self.queue_named, queues)),
            name=name,
            lease_seconds=settings.lease_seconds,
            grace_seconds=settings.grace_seconds if grace is None else grace,
            sweep=self.sweep_request(),
            journal_keep_seconds=settings.journal_keep_seconds,
            own_thread=self.clock is SYSTEM_CLOCK,
        )
        return Worker(
            self.broker, self.state, self.tasks, self.clock, options,
            opening=self.open,
            locate=locate_task if reference is None else lambda _task: locate(reference),
            lifespan=self.enter_lifespan,
            schedules=lambda: tuple(self.schedules.values()),
            client=self.client,
            router=self.router,
            sinks=sinks,
            claim_check=self.claim_check,
        )  # fmt: skip

    def enter_lifespan(self) -> AbstractAsyncContextManager[Any]:
        """What handlers get as `ctx.state`, for as long as it is entered."""
        return contextlib.nullcontext() if self._lifespan is None else self._lifespan(self)

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
    def clock(self) -> Clock:
        """Where this app's time comes from."""
        return self._door.clock

    @property
    def broker(self) -> Broker:
        """The broker, for operators' tools; call `open` first."""
        return self._door.broker

    @property
    def state(self) -> State:
        """The state, for operators' tools; call `open` first."""
        return self._door.state

    async def open(self) -> None:
        """Connect, once; everything that needs it does so by itself."""
        await self._door.open()

    async def close(self) -> None:
        """Disconnect; the app can be opened again."""
        await self._door.close()

    def close_sync(self) -> None:
        """Disconnect what `submit_sync` opened. Nothing is lost without it: what was sent is stored."""
        door, self._sync_door = self._sync_door, None
        if door is not None:
            self._portal(door.close)

    def _door_for_sync(self) -> Door:
        if self._sync_door is None:
            self._sync_door = self._door.twin()
        return self._sync_door

    @contextlib.contextmanager
    def elsewhere(self, broker: Broker, state: State, clock: Clock) -> Iterator[None]:
        """At another place and in another time for a while, as tests need it."""
        mine, check = (self._door, self._sync_door), self.claim_check
        if check is not None:  # tests leave nothing in anybody's bucket
            self.claim_check = ClaimCheck(assembly.cloakroom("memory://", clock=clock))
        self._door, self._sync_door = self._make_door(clock, broker, state), None
        try:
            yield
        finally:
            self._door, self._sync_door = mine
            self.claim_check = check

    async def __aenter__(self) -> Self:
        """Open."""
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close."""
        await self.close()


def _listed(calls: Iterable[Call[R]]) -> list[Call[R]]:
    given: object = calls
    many = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    odd = many if isinstance(given, Call) else [one for one in many if not isinstance(one, Call)]
    if odd:
        msg = f"submit_many takes a list of task.bind(…), not {odd[0]!r}; nothing was sent"
        raise BadArgument(msg)
    return cast("list[Call[R]]", many)


def _checked(what: str, name: str) -> str:
    try:
        return client_name(name)
    except ValueError:
        msg = f"{what}={name!r} cannot be part of a queue's name; use a-z, 0-9 and single dashes"
        raise BadSetting(msg) from None
