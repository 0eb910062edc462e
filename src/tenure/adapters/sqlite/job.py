"""A job: one call of an event loop that a thread carries out, and its answer.

Answers go back in bundles: one `call_soon_threadsafe` for each loop and round, however many calls there were. Made by
`store.py`; carried out by `writer.py` and `reader.py`.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any


class WriteJob:
    """A function to run in a thread, and the future that waits for it.

    Without a future no caller waits and no caller gets an error: such a job must be one that is repeated anyway.
    """

    __slots__ = ("act", "error", "future", "is_light", "loop", "peek", "value", "waited")

    def __init__(
        self,
        act: Callable[[Any], Any],
        future: "asyncio.Future[Any] | None" = None,
        peek: Callable[[Any], Any] | None = None,
        *,
        is_light: bool = False,
    ) -> None:
        """`peek` may answer without a write transaction, by anything but `UNSURE`.

        `is_light`: if the power fails, it is no harm if this was not written.
        """
        self.act = act
        self.peek = peek
        self.is_light = is_light
        self.future = future
        self.loop = future.get_loop() if future is not None else None
        #: Seconds of waiting for the lock of another process.
        self.waited = 0.0
        self.value: Any = None
        self.error: BaseException | None = None

    @property
    def is_unwanted(self) -> bool:
        """Whether the caller was cancelled before the job began. A job that began runs to its end."""
        return self.future is not None and self.future.cancelled()


#: The answer of a `peek` when only the act itself can decide.
UNSURE: Any = object()


def deliver(jobs: Iterable[WriteJob]) -> None:
    """Hand values and errors to the futures that wait for them, each in its own loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[WriteJob]] = {}
    for job in jobs:
        if job.loop is not None:
            by_loop.setdefault(job.loop, []).append(job)
    for loop, own in by_loop.items():
        call_in(loop, _resolve, own)


def call_in(loop: asyncio.AbstractEventLoop, callback: Callable[..., None], *arguments: object) -> bool:
    """Run `callback` in `loop`. False: that loop is closed, so no caller waits there any more."""
    try:
        loop.call_soon_threadsafe(callback, *arguments)
    except RuntimeError:
        return False
    return True


def _resolve(jobs: list[WriteJob]) -> None:
    for job in jobs:
        future = job.future
        if future is None or future.done():
            continue
        if job.error is not None:
            future.set_exception(job.error)
        else:
            future.set_result(job.value)
