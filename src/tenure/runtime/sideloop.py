"""A second event loop in a thread of its own, for what must go on while the worker's loop is blocked.

The heartbeat, the sweeper and the watchdog live here. In virtual time there is no second loop: the same
coroutines run as tasks of the one loop there is.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

Job = Callable[[], Coroutine[Any, Any, None]]


class Side(Protocol):
    """Somewhere to run background jobs."""

    async def start(self, jobs: list[Job]) -> None:
        """Run them until `stop`."""
        ...

    async def stop(self) -> None:
        """Cancel them and wait until they are gone."""
        ...


class SameLoop:
    """The jobs are tasks of the caller's loop."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, jobs: list[Job]) -> None:
        """Run the jobs as tasks."""
        self._tasks = [asyncio.get_running_loop().create_task(job()) for job in jobs]

    async def stop(self) -> None:
        """Cancel the tasks."""
        await _cancel(self._tasks)


class OwnThread:
    """The jobs run on a loop of their own, in a daemon thread."""

    def __init__(self, name: str) -> None:
        """`name` shows in stack dumps."""
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._ended: asyncio.Future[None] | None = None

    async def start(self, jobs: list[Job]) -> None:
        """Start the thread, and wait until its loop runs."""
        caller = asyncio.get_running_loop()
        started: asyncio.Future[None] = caller.create_future()
        self._ended = caller.create_future()
        ended = self._ended

        def main() -> None:
            with asyncio.Runner() as runner:
                runner.run(self._main(jobs, lambda: caller.call_soon_threadsafe(started.set_result, None)))
            if not caller.is_closed():
                caller.call_soon_threadsafe(ended.set_result, None)

        threading.Thread(target=main, name=self._name, daemon=True).start()
        await started

    async def _main(self, jobs: list[Job], started: Callable[[], object]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        tasks = [self._loop.create_task(job()) for job in jobs]
        started()
        await self._stop.wait()
        await _cancel(tasks)

    async def stop(self) -> None:
        """Cancel the jobs and wait for the thread."""
        if self._loop is None or self._stop is None or self._ended is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        await self._ended


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
