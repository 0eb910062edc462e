"""Silent workers.

A supervisor reports the stack of a worker process that does not respond, because a handler holds its GIL.

Such a worker cannot read the board. Its supervisor sees that it does not tick (`supervisor/shared_status.py`), reads
the board instead of it, and makes it dump its stacks (`background/stacks/dump.py`). While all workers respond it does
not call the store.

Run by `supervisor/supervisor.py`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.errors import BrokerError
from tenure.handler_stack import (
    FrameKind,
    FrameStack,
    HandlerStack,
    Holds,
    RunPhase,
    StackBranch,
    StackFrame,
    bounded,
    question_name,
)
from tenure.notice import PostKind
from tenure.probe import SYSTEM_PROBE, resident_bytes
from tenure.runtime.background.stacks.answers import MOST_ANSWERS, write_answer
from tenure.runtime.background.stacks.frames import marked, runs_handler
from tenure.runtime.supervisor.shared_status import RunningNote
from tenure.state import State

logger = logging.getLogger("tenure.stacks")

_LOOK_SECONDS = 0.5
#: A worker ticks every half a second; one that has not for so long does not move.
SILENT_SECONDS = 1.5


class Silent(Protocol):
    """A worker process: `supervisor/worker_process.py`."""

    @property
    def pid(self) -> int:
        """Its process id."""
        ...

    @property
    def note(self) -> RunningNote | None:
        """The owner of the worker, and what it runs."""
        ...

    def silent_seconds(self, now: float) -> float:
        """Return for how long it has not moved."""
        ...

    async def dump(self) -> dict[int, list[StackFrame]]:
        """The stacks of its threads."""
        ...


class SilentWorkers:
    """Answers requests for a stack for workers that do not respond."""

    def __init__(
        self,
        workers: Callable[[], Iterable[Silent]],
        opened: Callable[[], Awaitable[tuple[Broker, State]]],
        clock: Clock,
    ) -> None:
        """`opened` leads to the store of the workers."""
        self._workers = workers
        self._opened = opened
        self._clock = clock

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            now = self._clock.monotonic()
            silent = [one for one in list(self._workers()) if one.silent_seconds(now) >= SILENT_SECONDS]
            if not silent:
                continue
            try:
                _, state = await self._opened()
                await self._answer_for(silent, state)
            except BrokerError as error:
                logger.debug("could not report the stack of a worker that does not respond: %s", error)
            except Exception:
                logger.exception("could not read the stack of a worker that does not respond")
            await asyncio.sleep(_LOOK_SECONDS)  # the board is read once a second, as by a worker

    async def _answer_for(self, silent: list[Silent], state: State) -> None:
        posts = (await state.board.read()).posts
        asked = {post.name for post in posts if post.kind is PostKind.STACK}
        for worker in silent:
            note = worker.note
            ids = [id for id in note.ids if question_name(id) in asked] if note is not None and asked else []
            for id in ids[:MOST_ANSWERS]:
                await self._answer(worker, note.owner if note is not None else "", id, state)

    async def _answer(self, worker: Silent, owner: str, id: str, state: State) -> None:
        record = await state.records.get(id)
        if record is None or record.owner != owner:
            return
        seconds, wall = worker.silent_seconds(self._clock.monotonic()), state.wall()
        is_stopped = SYSTEM_PROBE.look(worker.pid).is_stopped
        stack, note = (FrameStack(), _STOPPED) if is_stopped else told(await worker.dump())
        seen = HandlerStack(
            id=id, queue=record.queue, task=record.task, owner=owner, taken_at=wall, phase=RunPhase.RUNNING,
            pid=worker.pid, stack=stack, holds=None if is_stopped else Holds.GIL, holds_seconds=seconds, note=note,
            memory_bytes=resident_bytes(worker.pid), progress=record.progress,
        )  # fmt: skip
        await write_answer(state.key_values, seen, wall)


_STOPPED = "its worker process is stopped (SIGSTOP, or a debugger): nothing runs until it is continued"


def told(threads: dict[int, list[StackFrame]]) -> tuple[FrameStack, str]:
    """The handler's frames, where only one handler is under way in a thread; else those of all, side by side."""
    stacks = [bounded(marked(frames, "")) for frames in threads.values() if runs_handler(frames)]
    # A thread that has not come to the user's code, such as the loop's that starts one, waits for the GIL itself.
    stacks = [one for one in stacks if any(frame.kind is FrameKind.USER for frame in one.frames)] or stacks
    if len(stacks) == 1:
        return stacks[0], "its worker process does not respond; its supervisor read the stack from outside"
    branches = tuple(StackBranch(f"thread {place}", one.frames) for place, one in enumerate(stacks, 1))
    said = "its worker process does not respond; from outside it cannot be seen which handler holds the GIL"
    return FrameStack(branches=branches), said
