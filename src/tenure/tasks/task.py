"""A task: a named handler with its policy.

Calling it calls the handler itself, without a queue; `submit` and `bind` take the same arguments. All three are
typed by the handler's own signature, without `ctx`.

Made by `@app.task`. Its instances are messages.
"""

import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, Protocol, Required, TypedDict, TypeVar

import msgspec

from tenure.config import Settings
from tenure.errors import BadArgument, BadTask
from tenure.limit import Limit, limit_from
from tenure.retry import MAX_SNOOZES, RetryPolicy
from tenure.rules.arguments import MOST_ATTEMPTS, is_webhook, is_whole, meant, seconds
from tenure.tasks.batch import MOST, WITHIN_SECONDS, BatchHandler
from tenure.tasks.call import Call, CallSender
from tenure.tasks.direct import with_context
from tenure.tasks.signature import Signature
from tenure.tasks.sizing import Size, Sizer
from tenure.timing.policy import LeasePolicy
from tenure.timing.prior import known_profiles, prior_for
from tenure.timing.profile import Profile, SizeTable

if TYPE_CHECKING:
    from tenure.middleware import Middleware
    from tenure.tasks.handle import Handle, Read, SyncHandle

P = ParamSpec("P")
R = TypeVar("R")


class RunsIn(StrEnum):
    """Where a handler runs."""

    LOOP = "loop"
    THREAD = "thread"
    PROCESS = "process"


class TaskOptions(TypedDict, total=False):
    """The policy of a task, as the decorator takes it. Times are seconds or `timedelta`."""

    name: str
    """Its name in messages; default: the function's. Keep it when you rename the function."""
    queue: str
    """The queue of its messages; default: `{client}-tasks`."""
    max_attempts: int
    """Failed attempts before a message becomes a dead letter; default: 3 (`TENURE_MAX_ATTEMPTS`)."""
    retry_delay: float | timedelta
    """The wait before the second attempt; default: 1 s. It doubles each time, with jitter."""
    max_retry_delay: float | timedelta
    """The longest wait between two attempts; default: 300 s."""
    max_snoozes: int
    """How often `raise Snooze(…)` may put a message off; default: 1000. After that each time is a failed attempt."""
    lease: float | timedelta
    """How long a worker may be silent before its message is run again; default: 30 s (`TENURE_LEASE`). It is renewed
    for as long as the handler runs.
    """
    heartbeat: bool
    """False: the lease is not renewed, and without `lease` its length is learned from earlier runs. Default: True."""
    size: Size
    """How large the work of a message is: a parameter's name, or a function of the handler's arguments."""
    profile: str | Profile | SizeTable
    """How long the work takes before it was measured: a name (`tenure timing profiles`), a `Profile` or a
    `SizeTable`.
    """
    max_hold: float | timedelta | None
    """How long a handler may run; default: None, no limit. After that it is ended, and its attempt has failed."""
    expected_wait: float | timedelta
    """How long a ready message may wait before an alert says so; default: ten times what is usual, and 5 minutes at
    least.
    """
    reject_on: type[BaseException] | tuple[type[BaseException], ...]
    """Exception classes that no retry can fix: the message becomes a dead letter at once."""
    concurrency: int | None
    """At most this many messages of the task at once in one worker; default: None, as many as it has slots."""
    rate: str | float
    """At most so many of its messages start in a time, over all workers: `"100/m"`, `"5/s"`. Its queue must be its own.
    Default: no limit.
    """
    running: int
    """At most this many of its messages run at once, over all workers. Its queue must be its own. Default: no limit."""
    keep_payload: bool
    """True: the payload of a completed message stays in the journal, for debugging; `tenure show` shows it. Default:
    False (`TENURE_KEEP_PAYLOAD`).
    """
    detail: float
    """The part of its messages whose every step leaves an event, from 0 to 1; default: 0 (`TENURE_DETAIL`)."""
    webhook: str | None
    """What is notified when a message of the task ends: the name of an endpoint, or a URL that an endpoint allows;
    default: none (`TENURE_WEBHOOK`).
    """
    runs_in: Literal["loop", "thread", "process"]
    """`loop`, `thread` or `process` (a child process, for work that holds the GIL or may crash); default: loop for
    async functions, thread for plain ones.
    """


class BatchOptions(TaskOptions, total=False):
    """The policy of a task whose handler takes many messages at once, as a list."""

    batch: Required[int]
    """The handler takes a list, of which each message has one item: at most this many in one call. Default: none, one
    message a call.
    """
    within: float | timedelta
    """How long the first message of a batch waits for others; default: 0.5 s."""


class Policy(msgspec.Struct, frozen=True):
    """Everything decided about a task besides its code."""

    retry: RetryPolicy
    lease: LeasePolicy
    reject_on: tuple[type[BaseException], ...] = ()
    #: At most this many at once in one worker. None: no limit of its own.
    concurrency: int | None = None
    #: What `rate` and `running` say of its queue. None: nothing.
    limit: Limit | None = None
    #: Largest result, in bytes of JSON.
    result_limit: int = 1_048_576
    size: Size | None = None
    profile: str | Profile | SizeTable | None = None
    #: Whether the payload of a completed message stays in the journal.
    keep_payload: bool = False
    #: The part of its messages whose every step leaves an event. None: as the worker's settings say.
    detail: float | None = None
    #: What is notified when a message ends. None: nothing.
    webhook: str | None = None
    #: A ready message may wait so long before it is an alert. None: ten times what is usual.
    expected_wait_seconds: float | None = None
    #: Whether a message whose workers died runs alone in a child process. False: the handler is Tenure's own.
    isolates: bool = True


class TaskApp(CallSender, Protocol):
    """The part of an app that a task uses."""

    @property
    def middleware(self) -> "Sequence[Middleware]":
        """The middleware around every handler, outermost first."""
        ...

    def _enter_lifespan(self) -> "AbstractAsyncContextManager[Any]":
        """Yield the `ctx.state` of handlers, for as long as it is entered."""
        ...

    def handle(self, id: str, read: "Read | None" = None) -> "Handle[Any]":
        """A handle on a message, with the way to read its result."""
        ...


class Task(Generic[P, R]):
    """A named handler with its options. Made by `@app.task`.

    Calling it calls the handler, without a queue: `await resize("a.png")`, or `resize("a.png")` for a plain function.
    """

    def __init__(
        self, app: TaskApp, function: Callable[..., Any], name: str, queue: str, policy: Policy, runs_in: str | None
    ) -> None:
        """Read the handler's signature; raises `BadTask` for what cannot work."""
        #: Its name in messages.
        self.name = name
        #: The queue of its messages, with the app's namespace.
        self.queue = queue
        #: It has no queue of its own: a message of another client goes to that client's queue.
        self.follows_client = False
        #: Its options, with the defaults filled in.
        self.policy = policy
        #: What is notified when its messages end. None: nothing.
        self.webhook = policy.webhook
        #: The handler itself.
        self.function = function
        self.signature = Signature(function, name)
        #: Where the handler runs: `loop`, `thread` or `process`.
        self.runs_in = _runs_in(runs_in, self.signature, name)
        #: How large its messages are. None: they have no size.
        self.sizer = None if policy.size is None else Sizer(policy.size, self.signature, name)
        #: How long it takes before anybody has measured it.
        self.prior = prior_for(policy.profile, name)
        #: The app that it is registered with.
        self.app = app
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", name)
        self.__module__ = function.__module__
        self.__wrapped__ = function

    def bind(self, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        """Return a call with these arguments, to be submitted with options: `task.bind(…).submit(priority=9)`.

        Raises `PayloadInvalid` for arguments that the handler could not take.
        """
        return Call(self, self.signature.body(args, kwargs))

    async def submit(self, *args: P.args, **kwargs: P.kwargs) -> "Handle[R]":
        """Send a message with these arguments; for options see `bind`.

        Returns a handle once the message is stored and cannot be lost any more. Raises `PayloadInvalid` for arguments
        that the handler could not take, and `BrokerUnavailable` while the store cannot be reached.
        """
        return await self.app._submit_call(self.bind(*args, **kwargs), {})

    def submit_sync(self, *args: P.args, **kwargs: P.kwargs) -> "SyncHandle[R]":
        """As `submit`, from code that is not async (scripts, Django, Flask); blocks until the message is stored."""
        return self.app._submit_call_sync(self.bind(*args, **kwargs), {})

    def handle(self, id: str) -> "Handle[R]":
        """Return a handle on a message of this task that was sent before, perhaps by another process."""
        return self.app.handle(id, self.signature.decode_result)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Put a new context in front, where the handler takes one and none was given."""
        signature = self.signature
        if not signature.wants_context or "ctx" in kwargs:
            return args
        return with_context(args, task=self.name, queue=self.queue, is_async=signature.is_async)

    def __repr__(self) -> str:
        """Show the name and the queue."""
        return f"<Task {self.name} on {self.queue}>"


class AsyncTask(Task[P, R]):
    """A task whose handler is an async function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Call the handler itself, without a queue; it gets a context of its own, or the one given first."""
        result: Coroutine[Any, Any, R] = self.function(*self._arguments(args, kwargs), **kwargs)
        return result


class SyncTask(Task[P, R]):
    """A task whose handler is a plain function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the handler itself, without a queue; it gets a context of its own, or the one given first."""
        result: R = self.function(*self._arguments(args, kwargs), **kwargs)
        return result


def check_options(options: TaskOptions) -> None:
    """Refuse options that a task does not have."""
    known = BatchOptions.__annotations__.keys()
    unknown = sorted(options.keys() - known)
    if unknown:
        msg = f"@app.task takes no option {', '.join(unknown)}; {meant(unknown[0], known)}"
        raise BadTask(msg)


def task_from(
    app: TaskApp, function: Callable[..., Any], name: str, queue: str, options: TaskOptions, settings: Settings
) -> Task[..., Any]:
    """The task that a function becomes, with what the settings say where the options are silent."""
    policy = policy_from(
        options,
        max_attempts=settings.max_attempts,
        lease_seconds=settings.lease_seconds,
        result_limit=settings.result_limit,
        keep_payload=settings.keep_payload,
        webhook=settings.webhook,
    )
    function = _one_of_batch(function, name, options)
    kind: type[Task[..., Any]] = AsyncTask if inspect.iscoroutinefunction(function) else SyncTask
    return kind(app, function, name, queue, policy, options.get("runs_in"))


def _one_of_batch(function: Callable[..., Any], name: str, options: Mapping[str, Any]) -> Callable[..., Any]:
    """What runs one message of a handler that takes many; any other handler is left as it is."""
    size, within = options.get("batch"), options.get("within", WITHIN_SECONDS)
    if size is None:
        if "within" in options:
            msg = f"task {name}: within={within!r} says how long a batch gathers; say batch= too"
            raise BadTask(msg)
        return function
    if not is_whole(size, 1, MOST):
        msg = f"task {name}: batch={size!r} is not a whole number from 1 to {MOST:,}"
        raise BadTask(msg)
    if options.get("runs_in", RunsIn.LOOP) != RunsIn.LOOP:
        msg = f"task {name}: a batch gathers in the worker's event loop, so runs_in={options['runs_in']!r} cannot be"
        raise BadTask(msg)
    try:
        return BatchHandler(function, name, size, seconds(within, "within")).function
    except BadArgument as error:
        raise BadTask(f"task {name}: {str(error).removesuffix('; nothing was sent')}") from error


def policy_from(
    options: TaskOptions,
    *,
    max_attempts: int,
    lease_seconds: float,
    result_limit: int,
    keep_payload: bool = False,
    webhook: str | None = None,
) -> Policy:
    """The policy that the decorator's options describe, over the app's defaults."""
    concurrency = options.get("concurrency")
    if concurrency is not None and not is_whole(concurrency, 1):
        msg = f"concurrency={concurrency!r} is not a whole number of at least 1"
        raise BadTask(msg)
    heartbeat: Any = options.get("heartbeat", True)
    if not isinstance(heartbeat, bool):
        msg = f"heartbeat={heartbeat!r} is neither True nor False"
        raise BadTask(msg)
    kept: Any = options.get("keep_payload", keep_payload)
    if not isinstance(kept, bool):
        msg = f"keep_payload={kept!r} is neither True nor False"
        raise BadTask(msg)
    detail: Any = options.get("detail")
    if detail is not None and (isinstance(detail, bool) or not isinstance(detail, int | float) or not 0 <= detail <= 1):
        msg = f"detail={detail!r} is not a part from 0 to 1"
        raise BadTask(msg)
    attempts = options.get("max_attempts", max_attempts)
    if not is_whole(attempts, 1, MOST_ATTEMPTS):
        msg = f"max_attempts={attempts!r} is not a whole number of at least 1"
        raise BadTask(msg)
    snoozes = options.get("max_snoozes", MAX_SNOOZES)
    if not is_whole(snoozes, 0):
        msg = f"max_snoozes={snoozes!r} is not a whole number of at least 0"
        raise BadTask(msg)
    hold, wait = options.get("max_hold"), options.get("expected_wait")
    try:
        first = seconds(options.get("retry_delay", 1.0), "retry_delay")
        longest = seconds(options.get("max_retry_delay", max(300.0, first)), "max_retry_delay")
        if first > longest:
            msg = f"retry_delay={first:g} is more than max_retry_delay={longest:g}"
            raise BadTask(msg)
        return Policy(
            retry=RetryPolicy(
                max_attempts=attempts,
                first_delay_seconds=first,
                max_delay_seconds=longest,
                max_snoozes=snoozes,
            ),
            lease=LeasePolicy(
                seconds=seconds(options.get("lease", lease_seconds), "lease", least=0.05),
                max_hold_seconds=None if hold is None else seconds(hold, "max_hold", least=0.001),
                heartbeat=heartbeat,
                is_learned=not heartbeat and "lease" not in options,
            ),
            reject_on=_errors(options.get("reject_on", ())),
            concurrency=concurrency,
            limit=_limit(options),
            result_limit=result_limit,
            size=options.get("size"),
            profile=_profile(options.get("profile")),
            keep_payload=kept,
            detail=detail,
            webhook=_webhook(options.get("webhook", webhook)),
            expected_wait_seconds=None if wait is None else seconds(wait, "expected_wait", least=0.001),
        )
    except BadArgument as error:
        msg = str(error).removesuffix("; nothing was sent")
        raise BadTask(msg) from error


def _limit(options: TaskOptions) -> Limit | None:
    limit = limit_from(running=options.get("running"), rate=options.get("rate"))
    return None if limit.is_none else limit


def _errors(given: Any) -> tuple[type[BaseException], ...]:
    """`reject_on` as the user gave it: one class of errors, or a tuple of them."""
    errors = given if isinstance(given, tuple | list) else (given,)
    if not all(isinstance(one, type) and issubclass(one, BaseException) for one in errors):
        msg = f"reject_on={given!r} is not a tuple of exception classes, such as (ValueError,)"
        raise BadTask(msg)
    return tuple(errors)


def _webhook(given: object) -> str | None:
    if given is not None and not is_webhook(given):
        msg = f"webhook={given!r} is neither the name of an endpoint nor a URL"
        raise BadTask(msg)
    return given if isinstance(given, str) else None


def _profile(given: Any) -> str | Profile | SizeTable | None:
    if given is None or isinstance(given, Profile | SizeTable):
        return given
    if isinstance(given, str) and given in known_profiles():
        return given
    known = ", ".join(known_profiles())
    msg = f"profile={given!r} is neither a Profile or a SizeTable nor one of those that have a name: {known}"
    raise BadTask(msg)


def _runs_in(wanted: str | None, signature: Signature, name: str) -> RunsIn:
    if wanted is None:
        return RunsIn.LOOP if signature.is_async else RunsIn.THREAD
    if wanted not in tuple(RunsIn):
        msg = f"task {name}: runs_in={wanted!r} is not one of {', '.join(RunsIn)}"
        raise BadTask(msg)
    where = RunsIn(wanted)
    if (where is RunsIn.LOOP) != signature.is_async and where is not RunsIn.PROCESS:
        kind = "an async function runs in the loop" if signature.is_async else "a plain function runs in a thread"
        msg = f"task {name}: {kind} or in a process, not in a {wanted}"
        raise BadTask(msg)
    return where
