"""Batches: a handler that takes many messages at once. Each message keeps its own lease, attempt, result and end.

    @app.task(batch=100, within=0.5)
    async def index(rows: list[Row]) -> None: ...

    await index.submit(row)  # a message carries one row

The worker runs each message as it runs any other. What it calls for one, `BatchHandler.function`, waits until the batch
is full or `within` seconds have passed since its first message; then the user's handler runs once for all of them. So
leases, beats, cancels, retries, hand-offs and once-rows are those of messages, and no other part knows of batches.

A message whose attempt failed runs in a batch of its own: one bad message cannot use up the attempts of the others.

Made by `task.py` for tasks with the option `batch`.
"""

import asyncio
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic
from weakref import WeakKeyDictionary

from tenure.errors import BadTask, ResultInvalid
from tenure.tasks.context import Context, StateT_contra

#: The most messages of one batch: each has a lease that is renewed, and a task that waits.
MOST = 10_000
#: How long the first message of a batch waits for others, unless the task says otherwise.
WITHIN_SECONDS = 0.5

_LISTS = (list, Sequence)


class BatchContext(Generic[StateT_contra]):
    """The context of a batch: one `Context` for each message, in the order of the list."""

    __slots__ = ("contexts", "state")

    def __init__(self, contexts: Sequence[Context[Any]]) -> None:
        #: Of each message: its id, attempt, progress, checkpoint, hand-offs, `once`.
        self.contexts = tuple(contexts)
        #: What the app's lifespan yielded.
        self.state: StateT_contra = contexts[0].state

    @property
    def stopping(self) -> bool:
        """True once the worker wants to end: finish soon."""
        return self.contexts[0].stopping

    def __len__(self) -> int:
        """How many messages there are."""
        return len(self.contexts)

    def __iter__(self) -> Iterator[Context[Any]]:
        """The context of each message."""
        return iter(self.contexts)


class _Member:
    """One message of a batch."""

    __slots__ = ("context", "end", "item")

    def __init__(self, context: Context[Any], item: Any) -> None:
        self.context = context
        self.item = item
        #: How it ended: the message's result, or what its run raises.
        self.end: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class _Batch:
    """Messages that run together."""

    def __init__(self) -> None:
        self.members: list[_Member] = []
        self.running: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None

    def leave(self, member: _Member) -> None:
        """Forget a message whose run was ended. A batch without waiting messages is cancelled."""
        member.end.cancel()
        if self.running is None:
            self.members.remove(member)
        elif all(one.end.done() for one in self.members):
            self.running.cancel()


class BatchHandler:
    """A user's handler of lists, and the function that runs one message of it."""

    def __init__(self, handler: Callable[..., Any], name: str, size: int, within_seconds: float) -> None:
        """Read the handler's signature; raises `BadTask` for what cannot work."""
        if not inspect.iscoroutinefunction(handler):
            msg = f"task {name}: a handler of batches is an async function; call plain code in it by asyncio.to_thread"
            raise BadTask(msg)
        self._handler = handler
        self._name = name
        self._size = size
        self._within_seconds = within_seconds
        self._wants_context, parameter, item, result = _read(handler, name)
        #: The batch that gathers, for each event loop.
        self._gathering: WeakKeyDictionary[asyncio.AbstractEventLoop, _Batch] = WeakKeyDictionary()
        #: The handler as a worker sees it: a function of one message.
        self.function = self._function_of_one(parameter, item, result)

    def _function_of_one(self, parameter: str, item: Any, result: Any) -> Callable[..., Any]:
        async def one(ctx: Context[Any], *positional: Any, **keywords: Any) -> Any:
            (value,) = positional or keywords.values()
            return await self._join(_Member(ctx, value))

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [
            inspect.Parameter("ctx", kind, annotation=Context),
            inspect.Parameter(parameter, kind, annotation=item),
        ]
        one.__signature__ = inspect.Signature(parameters, return_annotation=result)  # type: ignore[attr-defined]
        one.__annotations__ = {"ctx": Context, parameter: item, "return": result}
        one.__wrapped__ = self._handler  # type: ignore[attr-defined]
        for word in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(one, word, getattr(self._handler, word, None))
        return one

    async def _join(self, member: _Member) -> Any:
        batch = self._place(member)
        try:
            return await member.end
        except asyncio.CancelledError:
            batch.leave(member)
            raise

    def _place(self, member: _Member) -> _Batch:
        """Put it into the batch that gathers, and start that if it is full."""
        loop, most = asyncio.get_running_loop(), min(self._size, member.context.most_at_once)
        if member.context.attempt > 1 or most <= 1:
            alone = _Batch()
            alone.members.append(member)
            self._start(alone)
            return alone
        batch = self._gathering.get(loop)
        if batch is None:
            batch = self._gathering[loop] = _Batch()
            batch.timer = loop.call_later(self._within_seconds, self._start, batch)
        batch.members.append(member)
        if len(batch.members) >= most:
            self._start(batch)
        return batch

    def _start(self, batch: _Batch) -> None:
        loop = asyncio.get_running_loop()
        if batch.timer is not None:
            batch.timer.cancel()
            if self._gathering.get(loop) is batch:
                del self._gathering[loop]
        if batch.members:  # else each was ended while it waited
            name = f"{self._name}, a batch of {len(batch.members)}"
            batch.running = loop.create_task(self._run(batch.members), name=name)

    async def _run(self, members: Sequence[_Member]) -> None:
        """Run the handler, and end each message as it says."""
        try:
            context = (BatchContext([one.context for one in members]),) if self._wants_context else ()
            ends = self._ends(await self._handler(*context, [one.item for one in members]), len(members))
        except BaseException as error:  # noqa: BLE001 - whatever users raise is for each message's own run to judge
            ends = [error] * len(members)
        for member, end in zip(members, ends, strict=True):
            if member.end.done():
                continue
            if isinstance(end, asyncio.CancelledError):
                member.end.cancel()
            elif isinstance(end, StopIteration):
                member.end.set_exception(RuntimeError("the handler raised StopIteration"))
            elif isinstance(end, BaseException):
                member.end.set_exception(end)
            elif isinstance(end, type) and issubclass(end, Exception):
                member.end.set_exception(end())  # `Retry` without arguments
            else:
                member.end.set_result(end)

    def _ends(self, returned: Any, count: int) -> Sequence[Any]:
        if returned is None:
            return [None] * count
        if not isinstance(returned, Sequence) or isinstance(returned, str | bytes) or len(returned) != count:
            many = f"{len(returned)} results" if isinstance(returned, list | tuple) else f"a {type(returned).__name__}"
            msg = (
                f"{self._name} returned {many} for {count} messages; a handler of batches returns None or a list with "
                "one result for each message, in their order, where an exception is that message's failure"
            )
            raise ResultInvalid(msg)
        return returned


def _read(handler: Callable[..., Any], name: str) -> tuple[bool, str, Any, Any]:
    """Whether it takes a context, its list's name, the type of one message, and of one result."""
    try:
        hints = typing.get_type_hints(handler, include_extras=True)
    except (NameError, TypeError) as error:
        msg = f"task {name}: an annotation cannot be resolved ({error}); import the type at module level"
        raise BadTask(msg) from error
    parameters = list(inspect.signature(handler).parameters)
    first = hints.get(parameters[0]) if parameters else None
    wants_context = (typing.get_origin(first) or first) is BatchContext or parameters[:1] == ["ctx"]
    if wants_context and first is not None and (typing.get_origin(first) or first) is not BatchContext:
        msg = f"task {name}: a handler of batches takes ctx: BatchContext, which has the context of each message"
        raise BadTask(msg)
    lists = parameters[1:] if wants_context else parameters
    hint = hints.get(lists[0]) if len(lists) == 1 else None
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) not in _LISTS or len(arguments) != 1:
        msg = f"task {name}: a handler of batches takes one list, such as rows: list[Row], of which a message has one"
        raise BadTask(msg)
    return wants_context, lists[0], arguments[0], _result(hints.get("return"))


def _result(hint: Any) -> Any:
    """The type of one message's result: an item of the list that is returned, without its errors."""
    if hint is type(None):
        return hint
    (item,) = typing.get_args(hint) if typing.get_origin(hint) in _LISTS else (Any,)
    if typing.get_origin(item) not in (typing.Union, types.UnionType):
        return item
    kinds = [one for one in typing.get_args(item) if not (isinstance(one, type) and issubclass(one, BaseException))]
    return typing.Union[tuple(kinds)] if kinds else type(None)  # noqa: UP007 - made of a tuple
