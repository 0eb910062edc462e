"""A second event loop in a thread of its own, for what must go on while the worker's loop is blocked.

The heartbeat, the sweeper and the watchdog run on it. In virtual time there is no second loop: the same coroutines run
as tasks of the one loop there is.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

Job = Callable[[], Coroutine[Any, Any, None]]
#: What the jobs need open around them, on their own loop.
Around = Callable[[], AbstractAsyncContextManager[None]]


class Side(Protocol):
    """Somewhere to run background jobs."""

    async def start(self, jobs: list[Job], around: Around = contextlib.nullcontext) -> None:
        """Run them until `stop`; raises what `around` raises."""
        ...

    async def stop(self) -> None:
        """Cancel them and wait until they are gone."""
        ...

    async def moved(self) -> None:
        """Return once the loop of the jobs has answered."""
        ...


class SameLoop:
    """The jobs are tasks of the caller's loop."""

    def __init__(self) -> None:
        """Make it without tasks."""
        self._tasks: list[asyncio.Task[None]] = []
        self._stack = contextlib.AsyncExitStack()

    async def start(self, jobs: list[Job], around: Around = contextlib.nullcontext) -> None:
        """Run the jobs as tasks."""
        await self._stack.enter_async_context(around())
        self._tasks = [asyncio.get_running_loop().create_task(job()) for job in jobs]

    async def stop(self) -> None:
        """Cancel the tasks."""
        await cancel(self._tasks)
        await self._stack.aclose()

    async def moved(self) -> None:
        """Return after one turn of the loop."""
        await asyncio.sleep(0)


class OwnThread:
    """The jobs run on a loop of their own, in a daemon thread."""

    def __init__(self, name: str) -> None:
        """`name` shows in stack dumps."""
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._ended: asyncio.Future[None] | None = None

    async def start(self, jobs: list[Job], around: Around = contextlib.nullcontext) -> None:
        """Start the thread, and wait until each job has begun."""
        caller = asyncio.get_running_loop()
        started: asyncio.Future[None] = caller.create_future()
        self._ended = caller.create_future()
        ended = self._ended

        def main() -> None:
            failure: BaseException | None = None
            try:
                with asyncio.Runner() as runner:
                    runner.run(self._main(jobs, around, lambda: caller.call_soon_threadsafe(_tell, started, None)))
            except BaseException as error:  # noqa: BLE001 - raised in the caller that waits
                failure = error
            with contextlib.suppress(RuntimeError):  # the caller's loop is closed: it does not wait any more
                caller.call_soon_threadsafe(_end, started, ended, failure)

        threading.Thread(target=main, name=self._name, daemon=True).start()
        await started

    async def _main(self, jobs: list[Job], around: Around, started: Callable[[], object]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        async with around():
            tasks = [self._loop.create_task(job()) for job in jobs]
            # Each has begun before the caller goes on: a handler may keep the GIL from the first message on, and the
            # watchdog must have looked at the time before that.
            await asyncio.sleep(0)
            started()
            await self._stop.wait()
            await cancel(tasks)

    async def stop(self) -> None:
        """Cancel the jobs and wait for the thread."""
        if self._loop is None or self._stop is None or self._ended is None:
            return
        with contextlib.suppress(RuntimeError):  # its loop is closed: it ended by itself
            self._loop.call_soon_threadsafe(self._stop.set)
        await self._ended

    async def moved(self) -> None:
        """Return once the thread's loop has made a turn."""
        if self._loop is not None:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._loop))


def _tell(waiting: "asyncio.Future[None]", failure: BaseException | None) -> None:
    if waiting.done():
        return
    if failure is None:
        waiting.set_result(None)
    else:
        waiting.set_exception(failure)


def _end(started: "asyncio.Future[None]", ended: "asyncio.Future[None]", failure: BaseException | None) -> None:
    """A failure is raised once: in `start` if it still waits, else in `stop`."""
    _tell(ended, failure if started.done() else None)
    _tell(started, failure)


async def cancel(tasks: "Sequence[asyncio.Future[Any]]") -> None:
    """Cancel, and wait until they are gone."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
