"""The app's lifespan in a child process, where worker and handlers share no memory.

It is entered before the child's first job of that app and left when the child ends, both in one task, because a task
group or a cancel scope must be closed by the task that opened it. That task runs only while the child's runner runs,
which is enough.

Used by `child_main.py`.
"""

import asyncio
import contextlib
from typing import Any

from tenure.tasks.task import TaskApp


class Lifespans:
    """The lifespans that this child has entered, by their apps; nearly always one."""

    def __init__(self, runner: asyncio.Runner) -> None:
        """Live on the loop of `runner`."""
        self._runner = runner
        self._guests: dict[int, _Guest] = {}

    def state_of(self, app: TaskApp) -> Any:
        """Return the `ctx.state` that its lifespan yielded. Raises the lifespan's error, also if it has ended since."""
        guest = self._guests.get(id(app))
        if guest is None:
            guest = _Guest(app)
            self._runner.run(guest.enter())
            self._guests[id(app)] = guest
        guest.check()
        return guest.state

    def leave(self) -> None:
        """Leave them, the last one first. Raises their errors."""
        with contextlib.ExitStack() as stack:
            for guest in self._guests.values():
                stack.callback(self._leave, guest)

    def _leave(self, guest: "_Guest") -> None:
        self._runner.run(guest.leave())


class _Guest:
    """One lifespan in a task of its own."""

    state: Any
    _task: asyncio.Task[None]

    def __init__(self, app: TaskApp) -> None:
        self._app = app

    async def enter(self) -> None:
        self._asked_to_leave = asyncio.Event()
        entered = asyncio.Event()
        self._task = asyncio.create_task(self._stay(entered))
        waiting = asyncio.create_task(entered.wait())
        await asyncio.wait([waiting, self._task], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        self.check()

    async def _stay(self, entered: asyncio.Event) -> None:
        async with self._app._enter_lifespan() as self.state:
            entered.set()
            await self._asked_to_leave.wait()

    def check(self) -> None:
        """Raise what ended it, if something did: a part of what it opened has failed."""
        if self._task.done():
            self._task.result()

    async def leave(self) -> None:
        self._asked_to_leave.set()
        await self._task
