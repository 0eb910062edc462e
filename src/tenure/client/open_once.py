"""Opens something once in a process; everything that needs it asks for that, also several callers at once.

Used by `client.py` for broker and state, and by `claim_check.py` for the blob store.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any


class OpenOnce:
    """Whether something is open in this process. A forked child must open it again."""

    def __init__(self, opening: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Open by `opening`."""
        self._open = opening
        self._task: asyncio.Task[None] | None = None
        #: The process in which it is open; 0: in none.
        self._pid = 0

    @property
    def is_open(self) -> bool:
        """Whether it is open in this process."""
        return self._pid == os.getpid()

    async def open(self) -> None:
        """Open it, unless it is open. Callers at the same time wait for the same opening."""
        if self.is_open:
            return
        task = self._task
        # One that a caller gave up on goes on, and serves the next; one that failed, or whose loop is gone, does not.
        if task is None or task.done() or task.get_loop() is not asyncio.get_running_loop():
            task = self._task = asyncio.get_running_loop().create_task(self._run())
        await asyncio.shield(task)

    async def _run(self) -> None:
        await self._open()
        self._pid = os.getpid()

    def was_open(self) -> bool:
        """Count it as closed from now on; whether there is something to close."""
        is_open = self.is_open
        if is_open:
            self._pid = 0
        return is_open
