"""The portal: runs async code for callers that are not async.

One event loop in a daemon thread, made at the first use and kept for the process; `submit_sync` and `SyncHandle` use
it. A process that was forked after the first use gets a new one. In async code the portal refuses, because blocking
there would stop everything else on the loop.

Used by `app.py`.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenure.errors import SyncInAsync

T = TypeVar("T")


class BlockingPortal:
    """Runs coroutines for threads that have no event loop."""

    def __init__(self) -> None:
        """Make a portal; its thread starts with the first call."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0
        _ALL.add(self)

    def __call__(self, work: Callable[[], Awaitable[T]]) -> T:
        """Wait for what `work` returns; raises `SyncInAsync` where that would block an event loop."""
        if _is_async_code():
            msg = (
                "this is async code, and a blocking call would stop everything else in it; nothing was done. "
                "Await the async method instead (submit, result), or call this from a thread"
            )
            raise SyncInAsync(msg)
        future = asyncio.run_coroutine_threadsafe(_awaited(work), self._running_loop())
        try:
            return future.result()
        except BaseException:  # Ctrl-C, while we wait: no caller is left to take the answer
            future.cancel()
            raise

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                # A forked child has its parent's loop object, but not the thread that ran it.
                loop = asyncio.new_event_loop()
                try:
                    threading.Thread(target=loop.run_forever, name="tenure-portal", daemon=True).start()
                except BaseException:  # no more threads: the next call may try again
                    loop.close()
                    raise
                self._loop, self._pid = loop, os.getpid()
            return self._loop

    def inherit(self) -> None:
        """Take a new lock in a forked child: a thread of the parent may have held the old one."""
        self._lock = threading.Lock()


_ALL: "weakref.WeakSet[BlockingPortal]" = weakref.WeakSet()


def _inherit_all() -> None:
    for portal in list(_ALL):
        portal.inherit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_inherit_all)


def _is_async_code() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _awaited(work: Callable[[], Awaitable[T]]) -> T:
    return await work()
