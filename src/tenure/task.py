"""A task: a named handler with its policy.

Calling it calls the handler, as in tests; `submit` and `bind` take the same arguments without `ctx` and
are typed by the handler's own signature.

Made by `@app.task`. Its instances are messages.
"""

from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypedDict, TypeVar

import msgspec

from tenure.call import MOST_ATTEMPTS, Call, Options, is_whole, seconds
from tenure.errors import BadArgument, BadTask
from tenure.retry import RetryPolicy
from tenure.signature import Signature
from tenure.timing.policy import LeasePolicy

if TYPE_CHECKING:
    from tenure.handle import Handle

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
    queue: str
    #: Failed attempts before the dead letters.
    max_attempts: int
    #: Before the second attempt; doubles, with jitter.
    first_delay: float | timedelta
    max_delay: float | timedelta
    #: The crash window; the heartbeat keeps it up however long the work takes.
    lease: float | timedelta
    #: Ends a hung handler. None: never.
    max_hold: float | timedelta | None
    #: Errors that no retry can mend.
    reject_on: tuple[type[BaseException], ...]
    #: "process": in a child process, for work that holds the GIL or may crash. Default: by the kind of function.
    runs_in: str


class Policy(msgspec.Struct, frozen=True):
    """Everything decided about a task besides its code."""

    retry: RetryPolicy
    lease: LeasePolicy
    reject_on: tuple[type[BaseException], ...] = ()


class Submitter(Protocol):
    """What a task needs of its app."""

    async def submit_call(self, call: Call[R], options: Options) -> "Handle[R]":
        """Send one call."""
        ...


class Task(Generic[P, R]):
    """A named handler with its policy."""

    def __init__(self, app: Submitter, function: Callable[..., Any], name: str, queue: str,
                 policy: Policy, runs_in: str | None) -> None:  # fmt: skip
        """Read the handler's signature; raises `BadTask` for what cannot work."""
        self.name = name
        self.queue = queue
        self.policy = policy
        self.function = function
        self.signature = Signature(function, name)
        self.runs_in = _runs_in(runs_in, self.signature, name)
        self._app = app
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", name)
        self.__module__ = function.__module__
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the handler itself, without a queue."""
        return self.function(*args, **kwargs)

    def bind(self, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        """The call with these arguments, to be submitted with options; raises `PayloadInvalid`."""
        return Call(self, self.signature.body(args, kwargs))

    async def submit(self, *args: P.args, **kwargs: P.kwargs) -> "Handle[R]":
        """Send a message for this task; returns when it cannot be lost any more."""
        return await self._app.submit_call(self.bind(*args, **kwargs), {})

    def __repr__(self) -> str:
        """Name and queue."""
        return f"<Task {self.name} on {self.queue}>"


def policy_from(options: TaskOptions, *, max_attempts: int, lease_seconds: float) -> Policy:
    """The policy that the decorator's options describe, over the app's defaults."""
    attempts = options.get("max_attempts", max_attempts)
    if not is_whole(attempts, 1, MOST_ATTEMPTS):
        msg = f"max_attempts={attempts!r} is not a whole number of at least 1"
        raise BadTask(msg)
    hold = options.get("max_hold")
    try:
        return Policy(
            retry=RetryPolicy(
                max_attempts=attempts,
                first_delay_seconds=seconds(options.get("first_delay", 1.0), "first_delay"),
                max_delay_seconds=seconds(options.get("max_delay", 300.0), "max_delay"),
            ),
            lease=LeasePolicy(
                seconds=seconds(options.get("lease", lease_seconds), "lease", least=0.05),
                max_hold_seconds=None if hold is None else seconds(hold, "max_hold", least=0.001),
            ),
            reject_on=_errors(options.get("reject_on", ())),
        )
    except BadArgument as error:
        msg = str(error).removesuffix("; nothing was sent")
        raise BadTask(msg) from error


def _errors(given: Any) -> tuple[type[BaseException], ...]:
    """`reject_on` as the user gave it: one class of errors, or a tuple of them."""
    errors = given if isinstance(given, tuple | list) else (given,)
    if not all(isinstance(one, type) and issubclass(one, BaseException) for one in errors):
        msg = f"reject_on={given!r} is not a tuple of exception classes, such as (ValueError,)"
        raise BadTask(msg)
    return tuple(errors)


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
