"""Here: what production runs in a child process, a kit runs in its own.

A child lives in real time and shares no memory with the test, so neither virtual time nor the test's fakes would
reach it. Everything else is as in a child: the app's middleware stands around the handler, a plain function has a
thread of its own, an error is a verdict. What is not shown here: that arguments and result survive the way to
another process (they are JSON anyway), and a handler that takes its process down.

Takes the place of `runtime/processes/pool.py`; used by `crew.py`.
"""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tenure.middleware import around
from tenure.runtime.delivery import Delivery
from tenure.runtime.processes.calling import without_stop
from tenure.runtime.verdicts import judge_result
from tenure.tasks.context import Context, ContextLink, SyncContext
from tenure.verdict import Completed, Dead


class Here:
    """A pool of children that are none."""

    def __init__(self, most: int, state: Callable[[], Any]) -> None:
        """Run at most `most` handlers at a time; `state` tells what the app's lifespan yielded."""
        self._state = state
        self._slots = asyncio.Semaphore(most)
        self._threads = ThreadPoolExecutor(max_workers=most, thread_name_prefix="tenure-here")

    async def run(self, delivery: Delivery, link: ContextLink) -> Completed | Dead:
        """Run one message; whatever the handler raises is for the caller to judge."""
        message, task = delivery.whole, delivery.task
        if message is None or task is None:
            msg = "only a message that was read, for a task that is known, can be run"
            raise RuntimeError(msg)
        async with self._slots:
            positional, keywords = task.signature.arguments(message.body)
            about = (message, delivery.attempt, delivery.fence, link, self._state())
            context = Context(*about)

            async def call() -> Any:
                first: tuple[Any, ...] = ()
                if task.signature.is_async:
                    first = (context,) if task.signature.wants_context else ()
                    return await task.function(*first, *positional, **keywords)
                loop = asyncio.get_running_loop()
                if task.signature.wants_context:
                    first = (SyncContext(*about, loop),)
                run = contextvars.copy_context().run
                return await loop.run_in_executor(
                    self._threads, run, without_stop, task.function, (*first, *positional), keywords
                )

            result = judge_result(await around(task.app.middleware, context, call)(), task)
        return result if isinstance(result, Dead) else Completed(result, tuple(delivery.handoffs))

    async def close(self) -> None:
        """Let the threads go."""
        self._threads.shutdown(wait=False, cancel_futures=True)
