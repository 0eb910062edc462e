"""One way to write what a sync and an async client both need: as steps, with nothing waited for in between.

An operation is a generator. It yields a `Call` to make or a `Pause` to take, gets the answer (or the exception) back,
and returns its result. `run` does the steps in the calling thread, `run_async` in an event loop; a client that is not
async is then called in a thread, so that it does not hold up the loop.
"""

import asyncio
import inspect
import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from tenure.errors import BadArgument

T = TypeVar("T")


class StepCall:
    """A request to a client."""

    __slots__ = ("arguments", "function", "words")

    def __init__(self, function: Callable[..., Any], *arguments: Any, **words: Any) -> None:
        """The method of the client, and its arguments."""
        self.function = function
        self.arguments = arguments
        self.words = words

    def make(self) -> Any:
        """Make it, here."""
        return self.function(*self.arguments, **self.words)


class StepPause:
    """Wait. Answers whether to stop."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float) -> None:
        """Wait for that many seconds."""
        self.seconds = seconds


Steps = Generator[StepCall | StepPause, Any, T]


def run(steps: Steps[T], pause: Callable[[float], object] | None = None) -> T:
    """Do the steps in this thread. `pause` waits and says whether to stop."""
    wait = pause or time.sleep
    try:
        step = next(steps)
        while True:
            try:
                answer = wait(step.seconds) if isinstance(step, StepPause) else _called(step)
            except Exception as error:  # noqa: BLE001 - it belongs to the steps
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        value: T = end.value
        return value


async def run_async(steps: Steps[T], pause: Callable[[float], Any] | None = None) -> T:
    """Do the steps in this loop. `pause` is awaited, and says whether to stop."""
    wait = pause or asyncio.sleep
    try:
        step = next(steps)
        while True:
            try:
                answer = await (wait(step.seconds) if isinstance(step, StepPause) else _awaited(step))
            except Exception as error:  # noqa: BLE001 - likewise
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        value: T = end.value
        return value


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a method of a client is awaited, by what it and its client's class say of themselves."""
    if inspect.iscoroutinefunction(function):
        return True
    owner = type(getattr(function, "__self__", None))
    return any(kind.__module__.startswith("aiobotocore") for kind in owner.__mro__)


def _called(call: StepCall) -> Any:
    answer = call.make()
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        msg = f"{_named(call.function)} is of an async client: use tenure.standalone, not its sync; nothing was done"
        raise BadArgument(msg)
    return answer


def _named(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", None) or type(function).__name__


async def _awaited(call: StepCall) -> Any:
    answer = call.make() if is_async(call.function) else await asyncio.to_thread(call.make)
    return await answer if inspect.isawaitable(answer) else answer
