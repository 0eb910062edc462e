"""The child's end of its socket, on a thread of its own, and the context's link over it.

Incoming jobs are put into a queue; calls of contexts are sent and wait for the answer. A call after its run has ended
(from a thread that a handler left behind) is refused, so that it cannot act for the next message.

Used by `child_main.py`; the other end is `job_channel.py`.
"""

import asyncio
import contextlib
import itertools
import os
import queue
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime, timedelta
from typing import Any

from tenure.errors import BadArgument, LeaseLost
from tenure.handler_stack import FrameStack
from tenure.record import Progress
from tenure.runtime.background.stacks.frames import own_code, stack_of_task, stack_of_thread
from tenure.runtime.processes.frames import (
    CheckpointQuestion,
    ChildReply,
    Hello,
    Job,
    LoadQuestion,
    ProgressNote,
    Question,
    Refusal,
    RunningMark,
    SizeQuestion,
    StackQuestion,
    StackTold,
    SubmitQuestion,
    ToChild,
    TouchQuestion,
    encode,
    error_of,
    read,
    to_child,
)
from tenure.tasks.call import Call, Options
from tenure.tasks.sizing import checked

#: The newest progress of a handler is sent this often.
PROGRESS_SECONDS = 0.1

_NOTHING = RunningMark(deadline=0.0, lease_lost=False, stopping=False)


class ChildChannel:
    """The child's end of its socket."""

    def __init__(self, connection: socket.socket, name: str) -> None:
        """Speak through `connection`."""
        connection.set_inheritable(False)  # what a handler starts must not hold it open after our end
        #: What to run next. None: the parent wants no more.
        self.jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.loop = asyncio.new_event_loop()
        self.standing = _NOTHING
        self._connection = connection
        self._thread = threading.Thread(target=self._run, name=f"tenure-{name}", daemon=True)
        self._lock = threading.Lock()
        self._noted: tuple[ParentLink, bytes] | None = None
        #: For an async handler, the task in which it runs.
        self.running: asyncio.Task[Any] | None = None
        self._function: Callable[..., Any] | None = None
        self._handler_thread = 0
        self._numbers = itertools.count(1)
        # The rest is touched by the line's own thread only.
        self._writer: asyncio.StreamWriter | None = None
        self._busy = False
        self._link: ParentLink | None = None
        self._questions: dict[int, Future[bytes | None]] = {}

    # -- called from any thread --------------------------------------------------------------------

    def start(self) -> None:
        """Start listening."""
        self._thread.start()

    def close(self) -> None:
        """Close everything, after the last job."""
        self._thread.join()
        self.loop.close()

    def begin(self, link: "ParentLink", started: bytes, function: Callable[..., Any]) -> None:
        """Note that a handler starts; only `link` may make calls. Returns when the parent will surely see it."""
        self._function, self._handler_thread, self.running = function, threading.get_ident(), None
        written: Future[None] = Future()
        self.loop.call_soon_threadsafe(self._begin, link, started, written)
        written.result()

    def conclude(self, ending: bytes) -> None:
        """Note that the run is over."""
        self.loop.call_soon_threadsafe(self._conclude, ending)

    def ask(self, link: "ParentLink", question: Callable[[int], Question]) -> "Future[bytes | None]":
        """Call the parent and wait for its answer."""
        number = next(self._numbers)
        data = encode(question(number))
        future: Future[bytes | None] = Future()
        future.set_running_or_notify_cancel()  # from here on it ends by the answer only
        self.loop.call_soon_threadsafe(self._ask, link, number, data, future)
        return future

    def note(self, link: "ParentLink", data: bytes) -> None:
        """Send the parent a value of which only the newest counts."""
        with self._lock:
            is_planned = self._noted is not None
            self._noted = (link, data)
        if not is_planned:
            self.loop.call_soon_threadsafe(self.loop.call_later, PROGRESS_SECONDS, self._tell_noted)

    # -- the line's own thread ---------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self.loop.run_until_complete(self._listen())
        except BaseException:  # noqa: BLE001 - without its line a child is of no use to anybody
            traceback.print_exc()
            os._exit(1)

    async def _listen(self) -> None:
        reader, self._writer = await asyncio.open_unix_connection(sock=self._connection)
        while (data := await read(reader)) is not None:
            self._take(to_child.decode(data))
        if self._busy:
            os._exit(1)  # the parent is dead or has no use for us: the handler must not go on
        self.jobs.put(None)
        self._writer.close()
        with contextlib.suppress(ConnectionError):  # the parent may have died
            await self._writer.wait_closed()

    def _take(self, frame: ToChild) -> None:
        match frame:
            case Hello(arguments=arguments):
                sys.argv[:] = arguments
            case Job():
                self._busy = True
                self.jobs.put(frame)
            case RunningMark():
                self.standing = frame
            case ChildReply(number=number, value=value):
                future = self._questions.pop(number, None)
                if future is not None:
                    future.set_result(value)
            case Refusal(number=number):
                future = self._questions.pop(number, None)
                if future is not None:
                    future.set_exception(error_of(frame))
            case StackQuestion():
                self._write(encode(StackTold(self._stack())))

    def _stack(self) -> FrameStack:
        task, thread, function = self.running, self._handler_thread, self._function
        try:
            own = "" if function is None else own_code(function)
            return stack_of_thread(thread, own) if task is None else stack_of_task(task, thread, own)
        except Exception:  # noqa: BLE001 - users' objects stand in it, and without its line the child would end
            traceback.print_exc()
            return FrameStack()

    def _begin(self, link: "ParentLink", started: bytes, written: "Future[None]") -> None:
        self._link = link
        self._write(started)  # goes out at once: nothing waits before it
        written.set_result(None)

    def _conclude(self, ending: bytes) -> None:
        self._tell_noted()
        if self._link is not None:
            self._link.is_over = True
        for future in self._questions.values():
            future.set_exception(_over())
        self._questions.clear()
        self._link = None
        self._busy = False
        self._write(ending)

    def _ask(self, link: "ParentLink", number: int, data: bytes, future: "Future[bytes | None]") -> None:
        if link is not self._link:
            future.set_exception(_over())
            return
        self._questions[number] = future
        self._write(data)

    def _tell_noted(self) -> None:
        with self._lock:
            noted, self._noted = self._noted, None
        if noted is not None and noted[0] is self._link:
            self._write(noted[1])

    def _write(self, data: bytes) -> None:
        if self._writer is not None:
            self._writer.write(data)


class ParentLink:
    """The link of one message's context; implements `tenure.tasks.context.ContextLink`."""

    __slots__ = ("_line", "is_over", "send_id")
    #: A child process runs one message after the other.
    most_at_once = 1

    def __init__(self, line: ChildChannel, send_id: str) -> None:
        """Ask through `line`, for a run of that send."""
        self._line = line
        self.send_id = send_id
        self.is_over = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop on which a `SyncContext` may wait for answers."""
        return self._line.loop

    @property
    def deadline(self) -> float:
        """The deadline that the parent sent last."""
        return self._line.standing.deadline

    @property
    def lease_lost(self) -> bool:
        """Whether the lease is lost, by the parent's last message."""
        return self.is_over or self._line.standing.lease_lost

    @property
    def stopping(self) -> bool:
        """Whether the worker is stopping, by the parent's last message."""
        return self._line.standing.stopping

    @property
    def expected_end(self) -> float | None:
        """The usual end of the run, by the parent's last message."""
        return self._line.standing.expected_end

    async def set_size(self, size: float) -> None:
        """Send the size of the work."""
        await self._answer(lambda number: SizeQuestion(number, checked(size)))

    async def touch(self, seconds: float | None) -> None:
        """Renew the lease."""
        await self._answer(lambda number: TouchQuestion(number, seconds))

    def progress(self, progress: Progress) -> None:
        """Sent ten times a second at most."""
        self._line.note(self, encode(ProgressNote(progress)))

    async def checkpoint(self, data: bytes) -> None:
        """Keep a checkpoint."""
        await self._answer(lambda number: CheckpointQuestion(number, data))

    async def load_checkpoint(self) -> bytes | None:
        """Load the checkpoint."""
        return await self._answer(LoadQuestion)

    def submit(self, call: Call[Any], options: Options) -> str:
        """Hand on; waits for the parent, which is quick."""
        task, body = call.task, bytes(call.body)
        given: dict[str, Any] = {"webhook": task.webhook, **call.options, **options}
        moments = {name: value.isoformat() for name, value in given.items() if isinstance(value, datetime)}
        plain = {name: _seconds(value) for name, value in given.items() if name not in moments}
        try:
            asked = self._line.ask(
                self,
                lambda n: SubmitQuestion(n, task.name, task.queue, body, plain, moments, task.follows_client),
            )
        except (TypeError, ValueError) as error:
            msg = f"an option has a value that is not allowed: {error}; nothing was handed on"
            raise BadArgument(msg) from error
        return (asked.result() or b"").decode()

    async def _answer(self, question: Callable[[int], Question]) -> bytes | None:
        return await asyncio.wrap_future(self._line.ask(self, question))


def _seconds(value: object) -> object:
    return value.total_seconds() if isinstance(value, timedelta) else value


def _over() -> LeaseLost:
    return LeaseLost("the run that asked has ended; nothing was done")
