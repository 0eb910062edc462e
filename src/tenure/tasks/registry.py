"""The registry: everything that is declared on an app, and the names that it has there.

Tasks, schedules, routes of foreign messages, middleware; and the queues, which belong to a namespace and a client.
Nothing here is sent, opened or run: that is the app's (`app.py`), which is a registry with a place for its messages.
`runtime/worker.py` is handed what is registered here.
"""

import difflib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, Unpack, cast, overload

from tenure.config import DEFAULT_CLIENT, Settings, namespace_name
from tenure.errors import BadSchedule, BadSetting, BadTask, UnknownTask
from tenure.foreign import Route, Router
from tenure.middleware import Middleware, Middlewares
from tenure.rules.arguments import is_queue, is_queue_pattern
from tenure.rules.client_queue import queue_of_client, wrong_client
from tenure.rules.reserved_queue import is_reserved
from tenure.tasks.call import Call, Options
from tenure.tasks.context import Context, SyncContext
from tenure.tasks.decorator import Anything, BatchDecorator, TaskDecorator
from tenure.tasks.handle import Handle, Read, SyncHandle
from tenure.tasks.limits import check_queue
from tenure.tasks.task import AsyncTask, BatchOptions, SyncTask, Task, TaskOptions, check_options, task_from

if TYPE_CHECKING:
    from tenure.tasks.schedule import Schedule

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Route)


class Registry(ABC):
    """The tasks, routes and schedules of an app. Its abstract methods are what tasks need of their app."""

    def __init__(
        self, settings: Settings, *, client: str | None, namespace: str | None, middleware: Iterable[Middleware]
    ) -> None:
        """Register the middleware and nothing else. `client`, `namespace`: None takes them from the settings."""
        #: The settings in force.
        self.settings = settings
        #: The same with what was given as arguments; set by the app.
        self.in_force = self.settings
        #: Where settings came from, by their names: an environment variable, or `argument`. Missing: the default.
        self.origins: dict[str, str] = {}
        #: Who sends; names the default queue.
        self.client = settings.client if client is None else _client(client)
        #: The namespace of its queues and messages. None: it has none, and sees everything in the store.
        self.namespace = settings.namespace if namespace is None else _namespace(namespace)
        #: Every task by its name.
        self.tasks: dict[str, Task[..., Any]] = {}
        #: Every schedule by its name.
        self.schedules: dict[str, Schedule] = {}
        #: Who says what a message is that Tenure did not send. `@app.on_foreign` adds to it.
        self._router = Router(self.client)
        #: The async functions around every handler, the outermost first. `@app.middleware` adds one.
        self.middleware = Middlewares()
        for one in middleware:
            self.middleware(one)

    # -- what the app adds, for its tasks ----------------------------------------------------------

    @abstractmethod
    def _enter_lifespan(self) -> AbstractAsyncContextManager[Any]:
        """Yield the `ctx.state` of handlers, for as long as it is entered."""

    @abstractmethod
    def handle(self, id: str, read: Read | None = None) -> Handle[Any]:
        """A handle on a message that was sent before."""

    @abstractmethod
    async def _submit_call(self, call: Call[R], options: Options) -> Handle[R]:
        """Send one call with its options."""

    @abstractmethod
    def _submit_call_sync(self, call: Call[R], options: Options) -> SyncHandle[R]:
        """Send one call with its options, and wait."""

    # -- queues ------------------------------------------------------------------------------------

    @property
    def queue(self) -> str:
        """The queue of tasks that name none."""
        return queue_of_client(self.client, self.namespace)

    def queue_named(self, name: str) -> str:
        """The queue as the broker knows it: within this app's namespace."""
        if not is_queue(name):
            msg = f"{name!r} cannot name a queue; use letters, digits, dots, dashes and _"
            raise BadTask(msg)
        return name if self.namespace is None else f"{self.namespace}/{name}"

    def queues_named(self, name: str) -> str:
        """A queue, or a pattern of queues such as `*-tasks`, as the broker knows it: within this app's namespace."""
        if not is_queue_pattern(name):
            msg = f"{name!r} cannot name queues; use letters, digits, dots, dashes and _, and * for any of these"
            raise BadTask(msg)
        return name if self.namespace is None else f"{self.namespace}/{name}"

    def sees(self, queue: str) -> bool:
        """Whether a queue, as the broker knows it, is this app's to look at. Without a namespace: every queue."""
        return self.namespace is None or queue.startswith(f"{self.namespace}/")

    # -- tasks -------------------------------------------------------------------------------------

    @overload
    def task(self, function: Callable[Concatenate[Anything, P], Awaitable[R]], /) -> AsyncTask[..., R]: ...  # type: ignore[overload-overlap]
    @overload
    def task(self, function: Callable[Concatenate[Anything, P], R], /) -> SyncTask[..., R]: ...
    @overload
    def task(self, function: Callable[Concatenate[Context[Any], P], Awaitable[R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def task(self, function: Callable[Concatenate[SyncContext[Any], P], R], /) -> SyncTask[P, R]: ...
    @overload
    def task(self, function: Callable[P, Anything], /) -> SyncTask[P, Any]: ...
    @overload
    def task(self, function: Callable[P, Awaitable[R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def task(self, function: Callable[P, R], /) -> SyncTask[P, R]: ...
    @overload
    def task(self, **options: Unpack[BatchOptions]) -> BatchDecorator: ...
    @overload
    def task(self, **options: Unpack[TaskOptions]) -> TaskDecorator: ...

    def task(self, function: Any = None, /, **options: Any) -> Any:  # type: ignore[misc] # mypy and Unpack
        """Make a function a task, with or without options: `@app.task` or `@app.task(max_attempts=5)`.

        The function's parameters, without `ctx`, are the payload of its messages. Times are seconds or `timedelta`.

        - `name`: Its name in messages; default: the function's. Keep it when you rename the function.
        - `queue`: The queue of its messages; default: `{client}-tasks`.
        - `max_attempts`: Failed attempts before a message becomes a dead letter; default: 3 (`TENURE_MAX_ATTEMPTS`).
        - `retry_delay`: The wait before the second attempt; default: 1 s. It doubles each time, with jitter.
        - `max_retry_delay`: The longest wait between two attempts; default: 300 s.
        - `max_snoozes`: How often `raise Snooze(…)` may put a message off; default: 1000. After that each time is a
          failed attempt.
        - `lease`: How long a worker may be silent before its message is run again; default: 30 s (`TENURE_LEASE`). It
          is renewed for as long as the handler runs.
        - `heartbeat`: False: the lease is not renewed, and without `lease` its length is learned from earlier runs.
          Default: True.
        - `size`: How large the work of a message is: a parameter's name, or a function of the handler's arguments.
        - `profile`: How long the work takes before it was measured: a name (`tenure timing profiles`), a `Profile` or
          a `SizeTable`.
        - `max_hold`: How long a handler may run; default: None, no limit. After that it is ended, and its attempt has
          failed.
        - `expected_wait`: How long a ready message may wait before an alert says so; default: ten times what is usual,
          and 5 minutes at least.
        - `reject_on`: Exception classes that no retry can fix: the message becomes a dead letter at once.
        - `concurrency`: At most this many messages of the task at once in one worker; default: None, as many as it
          has slots.
        - `rate`: At most so many of its messages start in a time, over all workers: `"100/m"`, `"5/s"`. Its queue must
          be its own. Default: no limit.
        - `running`: At most this many of its messages run at once, over all workers. Its queue must be its own.
          Default: no limit.
        - `keep_payload`: True: the payload of a completed message stays in the journal, for debugging; `tenure show`
          shows it. Default: False (`TENURE_KEEP_PAYLOAD`).
        - `detail`: The part of its messages whose every step leaves an event, from 0 to 1; default: 0
          (`TENURE_DETAIL`).
        - `webhook`: What is notified when a message of the task ends: the name of an endpoint, or a URL that an
          endpoint allows; default: none (`TENURE_WEBHOOK`).
        - `runs_in`: `loop`, `thread` or `process` (a child process, for work that holds the GIL or may crash);
          default: loop for async functions, thread for plain ones.
        - `batch`: The handler takes a list, of which each message has one item: at most this many in one call.
          Default: none, one message a call.
        - `within`: How long the first message of a batch waits for others; default: 0.5 s.
        """
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
        if is_reserved(queue):
            msg = f"queue {queue!r} is reserved for deliveries of webhooks; choose another name"
            raise BadTask(msg)
        task = task_from(self, function, name, queue, options, self.settings)
        task.follows_client = "queue" not in options
        check_queue(task, self.tasks.values(), is_default="queue" not in options)
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

    # -- foreign messages --------------------------------------------------------------------------

    @overload
    def on_foreign(self, queue: F, /) -> F: ...
    @overload
    def on_foreign(self, queue: str | None = None, /) -> Callable[[F], F]: ...

    def on_foreign(self, queue: Any = None, /) -> Any:
        """Register the function that turns messages of other senders into calls: `@app.on_foreign("queue")`.

        Without a queue, `@app.on_foreign`, it serves all queues that have none of their own. The function gets a
        `Foreign` and returns `task.bind(…)` or `foreign.call(task)`. Where it returns None, the message becomes a dead
        letter. It runs at every delivery, in the worker's event loop, and must not block.
        """
        if callable(queue):
            return self._router.add(None, queue)
        name = None if queue is None else self.queue_named(queue)
        return lambda route: self._router.add(name, route)

    # -- schedules ---------------------------------------------------------------------------------

    def schedule(
        self,
        call: Call[Any],
        /,
        *,
        cron: str | None = None,
        every: float | timedelta | None = None,
        timezone: str = "UTC",
        missed: Literal["once", "skip"] = "once",
        name: str | None = None,
        **options: Unpack[Options],
    ) -> "Schedule":
        """Send `call` at every tick of a schedule, once, however many workers run. Workers of this app send it.

        The messages may have options too, as `app.submit` lists them.

        - `cron`: A crontab line; this or `every`.
        - `every`: An interval from one second to 366 days, counted from the epoch.
        - `timezone`: The time zone of the cron line.
        - `missed`: What to do about ticks at which no worker ran: `once` sends one message for all of them, `skip`
          sends none.
        - `name`: The schedule's name, by which its last tick is remembered; default: the task's.
        """
        from tenure.tasks.schedule import schedule_from  # noqa: PLC0415 - most apps have none

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
        schedule = schedule_from(full, call, cron=cron, every=every, timezone=timezone, missed=missed, options=options)
        self.schedules[full] = schedule
        return schedule


def _client(name: str) -> str:
    if wrong := wrong_client(name):
        msg = f"client={name!a} cannot be part of a queue's name: {wrong}"
        raise BadSetting(msg)
    return name


def _namespace(name: str) -> str:
    try:
        return namespace_name(name)
    except ValueError:
        msg = f"namespace={name!r} cannot be part of a queue's name; use a-z, 0-9 and single dashes"
        raise BadSetting(msg) from None
