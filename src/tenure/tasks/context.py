"""The context: what a handler may ask and say about the message it is running.

`Context` is for async handlers, `SyncContext` for functions that run in a thread or a process; they have the same
methods, awaited or not. Both talk to the worker through a `ContextLink`, because the worker may be in another process.

Made by `runtime/path/handling.py`, or by `runtime/processes/child_main.py` on the other side of a pipe.
"""

import asyncio
import logging
from collections.abc import Coroutine
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, Unpack, overload

import msgspec

from tenure.errors import BadArgument, LeaseLost
from tenure.message import Message
from tenure.record import Progress
from tenure.tasks.call import Call, Options
from tenure.tasks.once import OnceKey, insert_once

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from typing_extensions import TypeVar as TypeVarWithDefault

    from tenure.tasks.once import AsyncTransaction, Transaction

    class AnyState(Any):  # type: ignore[misc] # what it is for
        """The state of a plain `Context`: may be anything.

        Not `Any` itself: mypy would then choose no overload of `@app.task` for such a handler.
        """

    # Contravariant, so that a function that takes a plain `Context` may be given any. Python 3.11 knows no defaults.
    StateT_contra = TypeVarWithDefault("StateT_contra", contravariant=True, default=AnyState)
else:
    StateT_contra = TypeVar("StateT_contra", contravariant=True)

T = TypeVar("T")

#: The header that carries the moment of a schedule's tick.
SCHEDULED_FOR = "tenure-scheduled-for"

logger = logging.getLogger("tenure.task")


class ContextLink(Protocol):
    """The part of a worker that a context uses."""

    @property
    def deadline(self) -> float:
        """The end of the lease unless it is touched again, on the monotonic clock."""
        ...

    @property
    def lease_lost(self) -> bool:
        """Whether the message is no longer ours."""
        ...

    @property
    def stopping(self) -> bool:
        """Whether the worker is stopping."""
        ...

    @property
    def expected_end(self) -> float | None:
        """The usual end of a run like this, on the monotonic clock. None: not known."""
        ...

    @property
    def send_id(self) -> str:
        """The id of the send, of this message or its key, to which this run belongs. Empty: not known."""
        ...

    @property
    def most_at_once(self) -> int:
        """How many messages of this task may run at once where this one does."""
        ...

    async def touch(self, seconds: float | None) -> None:
        """Renew the lease now; raises `LeaseLost`."""
        ...

    async def set_size(self, size: float) -> None:
        """Set the size of the work, known only now; raises `LeaseLost`."""
        ...

    def progress(self, progress: Progress) -> None:
        """Note the progress; it is written a moment later."""
        ...

    async def checkpoint(self, data: bytes) -> None:
        """Keep data for the next run; raises `LeaseLost`."""
        ...

    async def load_checkpoint(self) -> bytes | None:
        """Load the checkpoint of an earlier run."""
        ...

    def submit(self, call: Call[Any], options: Options) -> str:
        """Hand on with the ack; the id that the message will have."""
        ...


class _Shared(Generic[StateT_contra]):
    """The methods that `Context` and `SyncContext` share."""

    __slots__ = ("_link", "attempt", "fence", "message", "state")

    def __init__(self, message: Message, attempt: int, fence: int, link: ContextLink, state: Any) -> None:
        #: The message that is being run.
        self.message = message
        #: 1 for the first run; counts failed attempts, not deliveries.
        self.attempt = attempt
        #: Rises with every lease of this message: hand it to stores that can compare it.
        self.fence = fence
        #: What the app's lifespan yielded: of type `State` in a `Context[State]`.
        self.state: StateT_contra = state
        self._link = link

    @property
    def deadline(self) -> float:
        """The end of the lease, on the monotonic clock. The lease is renewed in the background."""
        return self._link.deadline

    @property
    def expected_end(self) -> float | None:
        """The usual end of runs like this one, on the monotonic clock. None: not known."""
        return self._link.expected_end

    @property
    def lease_lost(self) -> bool:
        """True once another worker may run this message: stop, its result will be refused."""
        return self._link.lease_lost

    @property
    def stopping(self) -> bool:
        """True once the worker wants to end: finish soon, or keep a checkpoint and `raise Snooze`."""
        return self._link.stopping

    @property
    def most_at_once(self) -> int:
        """How many messages of this task may run at once in this process."""
        return self._link.most_at_once

    @property
    def scheduled_for(self) -> datetime | None:
        """The moment of the schedule's tick that sent this message, in the schedule's time zone. None: it was none."""
        moment = self.message.headers.get(SCHEDULED_FOR)
        return None if moment is None else datetime.fromisoformat(moment)

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose records carry task, message id and attempt, and the correlation id if there is one."""
        about: dict[str, object] = {"task": self.message.task, "message_id": self.message.id, "attempt": self.attempt}
        if self.message.correlation_id is not None:
            about["correlation_id"] = self.message.correlation_id
        return logging.LoggerAdapter(logger, about)

    def progress(self, fraction: float | None = None, note: str = "") -> None:
        """Note the progress of the work, 0.0 to 1.0, for people to see. Cheap: call it as often as you like."""
        given: object = fraction
        if given is not None and not (isinstance(given, int | float) and 0.0 <= given <= 1.0):
            msg = f"progress is a fraction from 0.0 to 1.0, not {fraction!r}"
            raise BadArgument(msg)
        # Text that is not UTF-8, such as the name of a file, is kept as far as it can be read.
        self._link.progress(Progress(fraction, str(note).encode("utf-8", "backslashreplace").decode()))

    def submit(self, call: Call[Any], **options: Unpack[Options]) -> str:
        """Submit another task from a handler: sent once, together with the completion of this message, or not at all.

        Returns the id that the message will have. If its `key` or `unique` value is taken by then, no second message is
        stored. The options are those of `app.submit`.
        """
        given: object = call
        if not isinstance(given, Call):
            msg = f"ctx.submit takes task.bind(…), not {given!r}; nothing is handed on"
            raise BadArgument(msg)
        return self._link.submit(call, options)

    def _once_key(self, effect: str) -> OnceKey:
        if self._link.lease_lost:
            msg = f"the lease on {self.message.id} is lost; the effect was not started"
            raise LeaseLost(msg)
        return OnceKey.of(self.message, effect, self.fence, self._link.send_id)


class Context(_Shared[StateT_contra]):
    """The context of an async handler."""

    __slots__ = ()

    async def touch(self, seconds: float | None = None) -> None:
        """Renew the lease now, for `seconds` if given. Rarely needed: the heartbeat does it."""
        await self._link.touch(seconds)

    async def set_size(self, size: float) -> None:
        """Say how large the work is, where it is known only now, as after a download: others will be judged by it.

        Where no heartbeat renews the lease, it is made as long as work of that size needs.
        """
        await self._link.set_size(size)

    async def checkpoint(self, value: Any) -> None:
        """Keep a value that the next run of this message can start from."""
        await self._link.checkpoint(_encode(value))

    @overload
    async def last_checkpoint(self) -> Any: ...
    @overload
    async def last_checkpoint(self, kind: type[T]) -> T | None: ...

    async def last_checkpoint(self, kind: type[Any] = object) -> Any:
        """Return the checkpoint of an earlier run; None: there is none."""
        return _decode(await self._link.load_checkpoint(), kind)

    def once(self, tx: "Transaction", effect: str = "") -> bool:
        """True the first time, in your own open transaction: do the effect in it, and commit both together.

        Takes a DB-API connection or cursor. False: an earlier run already committed the effect; skip it.
        """
        return insert_once(tx, self._once_key(effect))

    def once_async(self, tx: "AsyncTransaction", effect: str = "") -> "Awaitable[bool]":
        """As `once`, for a connection whose `execute` is awaited (asyncpg, aiosqlite, psycopg's async)."""
        from tenure.tasks.once import insert_once_async  # noqa: PLC0415 - rarely used

        return insert_once_async(tx, self._once_key(effect))


class SyncContext(_Shared[StateT_contra]):
    """The context of a sync handler, which runs in a thread or a process of its own."""

    __slots__ = ("_loop",)

    def __init__(
        self, message: Message, attempt: int, fence: int, link: ContextLink, state: Any, loop: asyncio.AbstractEventLoop
    ) -> None:
        """As `Context`, with the loop on which the link lives."""
        super().__init__(message, attempt, fence, link, state)
        self._loop = loop

    def touch(self, seconds: float | None = None) -> None:
        """Renew the lease now, for `seconds` if given. Rarely needed: the heartbeat does it."""
        self._wait(self._link.touch(seconds))

    def set_size(self, size: float) -> None:
        """As `Context.set_size`."""
        self._wait(self._link.set_size(size))

    def checkpoint(self, value: Any) -> None:
        """Keep a value that the next run of this message can start from."""
        self._wait(self._link.checkpoint(_encode(value)))

    @overload
    def last_checkpoint(self) -> Any: ...
    @overload
    def last_checkpoint(self, kind: type[T]) -> T | None: ...

    def last_checkpoint(self, kind: type[Any] = object) -> Any:
        """Return the checkpoint of an earlier run; None: there is none."""
        return _decode(self._wait(self._link.load_checkpoint()), kind)

    def once(self, tx: "Transaction", effect: str = "") -> bool:
        """As `Context.once`."""
        return insert_once(tx, self._once_key(effect))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        asked = asyncio.run_coroutine_threadsafe(work, self._loop)  # `testing/virtual.py` looks at it
        return asked.result()


def _encode(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        msg = f"a checkpoint must have a JSON form: {error}; nothing was kept"
        raise BadArgument(msg) from error


def _decode(raw: bytes | None, kind: type[T]) -> T | None:
    if raw is None:
        return None
    return msgspec.json.decode(raw) if kind is object else msgspec.json.decode(raw, type=kind)
