"""The event loop that a process of ours runs on: uvloop where it is installed, else asyncio's own.

uvloop comes with the extra `fast`. `TENURE_LOOP` decides: `auto`, `asyncio` or `uvloop`. Used by the commands that run
for long: the worker, the children of `--processes`, and `tenure serve`. The supervisor of `--processes` always runs on
asyncio's own loop: it proves deaths by SIGCHLD and `waitpid`, and uvloop keeps that signal for itself.

It also starts handlers eagerly where Python can do so (3.12): `start_eagerly`.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from importlib.util import find_spec
from typing import Any, TypeVar

from tenure.errors import ConfigurationError

T = TypeVar("T")
LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def run(main: Coroutine[Any, Any, T], choice: str) -> T:
    """As `asyncio.run`, on the loop of this choice: `auto`, `asyncio` or `uvloop`."""
    try:
        factory = loop_factory(choice)
    except ConfigurationError:
        main.close()
        raise
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)


def run_supervisor(main: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, on a loop that can hear of SIGCHLD, whatever the choice and the process's policy."""
    return run(main, "asyncio")


def loop_factory(choice: str) -> LoopFactory | None:
    """What makes the loop. None: whatever the process would use anyway. Raises `ConfigurationError`."""
    if choice == "asyncio":
        return None if sys.platform == "win32" else asyncio.SelectorEventLoop
    if find_spec("uvloop") is None:
        if choice == "auto":
            return None
        msg = "TENURE_LOOP=uvloop, but uvloop is not installed; nothing was started. Run: pip install 'tenure[fast]'"
        raise ConfigurationError(msg)
    import uvloop  # noqa: PLC0415 - an extra; importing it takes time that only long-running commands may take

    factory: LoopFactory = uvloop.new_event_loop
    return factory


if sys.version_info >= (3, 12):

    def start_eagerly(loop: asyncio.AbstractEventLoop, main: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Make a task that takes its first step at once. One that never waits has ended when this returns.

        Only where the program has not chosen how tasks are made: its own task factory must see every task.
        """
        if loop.get_task_factory() is None:
            return asyncio.Task(main, loop=loop, eager_start=True)
        return loop.create_task(main)

else:

    def start_eagerly(loop: asyncio.AbstractEventLoop, main: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Make a task; before Python 3.12 it takes its first step in the loop's next turn."""
        return loop.create_task(main)
