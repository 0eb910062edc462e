"""One message in one child process, seen from the parent.

It hands the job over, tells the child when the lease changes, answers the calls of the handler's context, and ends with
the verdict. Used by `pool.py`; the other side is `child_main.py`.
"""

import asyncio
import collections
import logging
from collections.abc import Coroutine
from datetime import datetime
from typing import Any, cast

import msgspec

from tenure.errors import TenureError
from tenure.handler_stack import FrameStack
from tenure.runtime.processes.child_process import ChildProcess
from tenure.runtime.processes.frames import (
    CheckpointQuestion,
    ChildReply,
    ChildStarted,
    Ending,
    LoadQuestion,
    ProgressNote,
    Question,
    Refusal,
    RunCompleted,
    RunDead,
    RunningMark,
    RunRetried,
    RunSnoozed,
    SizeQuestion,
    StackQuestion,
    StackTold,
    SubmitQuestion,
    TouchQuestion,
    Unloadable,
    encode,
)
from tenure.tasks.call import Call, Options
from tenure.tasks.context import ContextLink
from tenure.tasks.task_address import TaskAddress

logger = logging.getLogger("tenure.children")

#: How often the lease is checked for changes: `ctx.lease_lost` is true at most this much late.
LOOK_SECONDS = 0.5


class ChildGone(Exception):
    """The child sends nothing more."""


class JobChannel:
    """Runs one message through one child."""

    def __init__(self, child: ChildProcess, link: ContextLink) -> None:
        """Speak with `child` about the message behind `link`."""
        self._child = child
        self._link = link
        self._told = self._standing()
        self._tasks: set[asyncio.Task[None]] = set()
        #: Who waits for a stack, the first one first.
        self._asked: collections.deque[asyncio.Future[FrameStack]] = collections.deque()
        #: The ident of the thread in which the child runs the handler. None: it has not begun.
        self.thread: int | None = None

    @property
    def child(self) -> ChildProcess:
        """The process in which it runs."""
        return self._child

    async def stack(self) -> FrameStack:
        """Ask the child for the stack of its handler. Waits until it answers; cancelled when the run is over."""
        told: asyncio.Future[FrameStack] = asyncio.get_running_loop().create_future()
        self._asked.append(told)
        self._child.tell(StackQuestion())
        return await told

    async def open(self, job: bytes) -> Unloadable | None:
        """Hand the job over. Returns once its handler starts, or the reason why it cannot. Raises `ChildGone`."""
        self._child.runs += 1
        self._child.tell(self._told)
        self._child.send(job)
        match await self._child.frames.get():
            case ChildStarted(thread=thread):
                self.thread = thread
                return None
            case Unloadable() as unloadable:
                return unloadable
            case _:
                raise ChildGone

    async def finish(self) -> Ending:
        """Answer the handler's calls until its verdict. Raises `ChildGone`."""
        self._start(self._keep_told())
        try:
            while True:
                match await self._child.frames.get():
                    case RunCompleted() | RunRetried() | RunSnoozed() | RunDead() as ending:
                        return ending
                    case ProgressNote(progress=progress):
                        self._link.progress(progress)
                    case StackTold(stack=stack):
                        self._tell_asker(stack)
                    case None | ChildStarted() | Unloadable():
                        raise ChildGone
                    case question:
                        # In a task of its own: a touch that waits for the broker must not hold up a verdict.
                        self._start(self._answer(question))
        finally:
            for told in self._asked:
                told.cancel()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _tell_asker(self, stack: FrameStack) -> None:
        asker = self._asked.popleft() if self._asked else None
        if asker is not None and not asker.done():  # it may have given up
            asker.set_result(stack)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep_told(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._tell()

    def _tell(self) -> None:
        standing = self._standing()
        if standing != self._told:
            self._told = standing
            self._child.tell(standing)

    def _standing(self) -> RunningMark:
        link = self._link
        return RunningMark(link.deadline, link.lease_lost, link.stopping, link.expected_end)

    async def _answer(self, question: Question) -> None:
        try:
            answer = encode(ChildReply(question.number, await self._value(question)))
        except TenureError as error:
            answer = encode(Refusal(question.number, error.code, str(error)))
        except Exception as error:
            logger.exception("a context call of child process %d got no answer", self._child.pid)
            answer = encode(Refusal(question.number, "", f"{type(error).__name__}: {error}"))
        # First how the lease stands: after `await ctx.touch()` the handler sees the new deadline.
        self._tell()
        self._child.send(answer)

    async def _value(self, question: Question) -> bytes | None:
        link = self._link
        match question:
            case TouchQuestion(seconds=seconds):
                await link.touch(seconds)
            case SizeQuestion(size=size):
                await link.set_size(cast("float", size))
            case CheckpointQuestion(data=data):
                await link.checkpoint(data)
            case LoadQuestion():
                return await link.load_checkpoint()
            case SubmitQuestion(options=options, moments=moments):
                task = TaskAddress(question.task, question.queue, follows_client=question.follows_client)
                call: Call[Any] = Call(task, msgspec.Raw(question.body))
                options |= {name: datetime.fromisoformat(text) for name, text in moments.items()}
                return link.submit(call, cast("Options", options)).encode()
        return None
