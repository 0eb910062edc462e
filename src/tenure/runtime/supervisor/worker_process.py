"""One child worker, as its supervisor sees it.

A new interpreter, never a fork, that runs `tenure worker` with a socket to us. It leads a session of its own: Ctrl-C in
a terminal reaches the supervisor alone, which passes it on. `waitpid` proves its end; the shared status shows when it
no longer responds.

Used by `supervisor.py`. The child's side is `supervisor_link.py`.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum

import msgspec

from tenure.errors import ConfigurationError
from tenure.handler_stack import StackFrame
from tenure.runtime.background.stacks.dump import Dump
from tenure.runtime.processes.frames import Frame, WireBroken, encode, read
from tenure.runtime.supervisor.lease_keeper import LeaseKeeper
from tenure.runtime.supervisor.protocol import FromWorker, from_worker
from tenure.runtime.supervisor.shared_status import RunningNote, SharedStatus

logger = logging.getLogger("tenure.supervisor")

#: The child gets our import path before it imports anything, so it finds the very same Tenure.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); sys.argv[0] = 'tenure'; "
    "from tenure.cli import main; main()"
)
#: After the end of a process, its last frames get so long to arrive.
_DRAIN_SECONDS = 0.5


class ProcessChange(Enum):
    """A change that `waitpid` saw."""

    ENDED = "ended"
    FROZEN = "frozen"
    THAWED = "thawed"


class WorkerProcess:
    """A running child worker."""

    def __init__(
        self, number: int, process: "subprocess.Popen[bytes]", status: SharedStatus, started_at: float, dump: Dump
    ) -> None:
        """Take the process that `spawn` started."""
        self._dump = dump
        self.number = number
        self.started_at = started_at
        #: Set by what it says.
        self.has_worked = False
        #: Why it has left, where an operator had it leave. Empty: none did.
        self.left = ""
        self.keeping: LeaseKeeper | None = None
        self.beating: asyncio.Task[None] | None = None
        #: Its exit code, negative for a signal.
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._process = process
        self._status = status
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def note(self) -> RunningNote | None:
        """The owner of the worker and what it runs, by its status. None: it has not written one yet."""
        return self._status.read()

    def silent_seconds(self, now: float) -> float:
        """Return for how long it has not responded, on the monotonic clock; it ticks every half a second."""
        ticked = self._status.ticked()
        return 0.0 if ticked is None else max(0.0, now - ticked)

    async def dump(self) -> dict[int, list[StackFrame]]:
        """The stacks of its threads, without its help. Only of one that has moved: before that a signal ends it."""
        if self.ended.done() or self._status.ticked() is None:
            return {}
        return await self._dump.take(self.send)

    async def listen(self, line: socket.socket, hear: "Hear") -> None:
        """Read its frames from now on."""
        reader, self._writer = await asyncio.open_unix_connection(sock=line)
        self._listening = asyncio.create_task(self._hear(reader, hear))

    async def _hear(self, reader: asyncio.StreamReader, hear: "Hear") -> None:
        try:
            while (data := await read(reader)) is not None:
                await hear(self, from_worker.decode(data))
        except (WireBroken, msgspec.MsgspecError):
            self.send(signal.SIGKILL)  # a handler wrote to our socket: nothing it says can be trusted any more
        except Exception:
            # Its messages are not read any more: it must not look alive.
            logger.critical("process %d no longer answers; killing it", self.number, exc_info=True)
            self.send(signal.SIGKILL)

    def tell(self, frame: Frame) -> None:
        """Send a frame. If the process is gone, nothing happens."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(encode(frame))

    def send(self, number: int) -> None:
        """Send a signal to it alone. Its own children are ended by it, and end with it."""
        if not self.ended.done():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def look(self) -> ProcessChange | None:
        """Return what happened to it since the last look."""
        if self.ended.done():
            return None
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
        except ChildProcessError:  # other code has waited for it: its exit code cannot be known
            pid, status = self.pid, 0
        if not pid:
            return None
        if os.WIFSTOPPED(status):
            return ProcessChange.FROZEN
        if os.WIFCONTINUED(status):
            return ProcessChange.THAWED
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.ended.set_result(self._process.returncode)
        return ProcessChange.ENDED

    async def close(self) -> None:
        """Read the last frames of the ended process, and close everything."""
        if self._listening is not None:
            await asyncio.wait({self._listening}, timeout=_DRAIN_SECONDS)
            self._listening.cancel()
        if self.beating is not None:
            self.beating.cancel()
        if self._writer is not None:
            self._writer.close()
        self._status.close()
        self._dump.close()


#: Called with what a worker says, one thing after the other.
Hear = Callable[[WorkerProcess, FromWorker], Awaitable[None]]


async def spawn(number: int, words: Sequence[str], hear: Hear, *, keeps_leases: bool, now: float) -> WorkerProcess:
    """Start `tenure <words>` as child worker `number`; raises `ConfigurationError`."""
    ours, theirs = socket.socketpair()
    status, dump = SharedStatus.make(), Dump()
    with theirs:
        descriptors = (theirs.fileno(), status.descriptor, dump.descriptor)
        link = ",".join(map(str, (*descriptors, number, os.getpid(), int(keeps_leases))))
        try:
            process = subprocess.Popen(  # noqa: ASYNC220, S603 - returns when the program is loaded; our own words
                [*_interpreter(), *words, "--supervised", link],
                stdin=subprocess.DEVNULL,
                pass_fds=descriptors,
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            status.close()
            dump.close()
            msg = f"no worker process can be started: {error}"
            raise ConfigurationError(msg) from error
    dump.hand_over()
    worker = WorkerProcess(number, process, status, now, dump)
    await worker.listen(ours, hear)
    return worker


def _interpreter() -> list[str]:
    if not sys.executable:
        msg = "no worker process can be started: this interpreter does not know its own path (sys.executable)"
        raise ConfigurationError(msg)
    # -O, -W, -X and the like, as `multiprocessing` hands them on.
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # noqa: SLF001
    return [sys.executable, *flags, "-c", _START, msgspec.json.encode(sys.path).decode()]
