"""A ward: one child worker, as its supervisor holds it.

A fresh interpreter, never a fork, that runs `tenure worker` with a line to us. It leads a session of its own: Ctrl-C
in a terminal reaches the supervisor alone, which passes it on. Its end is seen by `waitpid`, the best proof of death
there is, and so is its standing still.

Used by `supervisor.py`. The child's side is `tether.py`.
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
from tenure.runtime.keeping import Keeping
from tenure.runtime.orders import FromWard, from_ward
from tenure.runtime.slate import Note, Slate
from tenure.runtime.stacks.dump import Dump
from tenure.runtime.wire import Frame, WireBroken, encode, read

logger = logging.getLogger("tenure.supervisor")

#: The child gets our import path before it imports anything, so it finds the very same Tenure.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); sys.argv[0] = 'tenure'; "
    "from tenure.cli import main; main()"
)
#: What is still on its way when a process is seen to have ended gets so long to arrive.
_DRAIN_SECONDS = 0.5


class Change(Enum):
    """What `waitpid` saw."""

    ENDED = "ended"
    FROZEN = "frozen"
    THAWED = "thawed"


class Ward:
    """A running child worker."""

    def __init__(self, number: int, process: "subprocess.Popen[bytes]", slate: Slate, started_at: float,
                 dump: Dump) -> None:  # fmt: skip
        """Made by `spawn`."""
        self._dump = dump
        self.number = number
        self.started_at = started_at
        #: Set by what it says.
        self.has_worked = False
        self.keeping: Keeping | None = None
        self.beating: asyncio.Task[None] | None = None
        #: Its exit code, negative for a signal.
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._process = process
        self._slate = slate
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def note(self) -> Note | None:
        """Who it is and what it runs, by its slate. None: it did not come so far."""
        return self._slate.read()

    def silent_seconds(self, now: float) -> float:
        """For how long it has not moved, on the monotonic clock; it says every half a second that it does."""
        ticked = self._slate.ticked()
        return 0.0 if ticked is None else max(0.0, now - ticked)

    async def dump(self) -> dict[int, list[StackFrame]]:
        """The stacks of its threads, without its help. Only of one that has moved: before that a signal ends it."""
        if self.ended.done() or self._slate.ticked() is None:
            return {}
        return await self._dump.take(self.send)

    async def listen(self, line: socket.socket, hear: "Hear") -> None:
        """Hear what it says from now on."""
        reader, self._writer = await asyncio.open_unix_connection(sock=line)
        self._listening = asyncio.create_task(self._hear(reader, hear))

    async def _hear(self, reader: asyncio.StreamReader, hear: "Hear") -> None:
        try:
            while (data := await read(reader)) is not None:
                await hear(self, from_ward.decode(data))
        except (WireBroken, msgspec.MsgspecError):
            self.send(signal.SIGKILL)  # a handler wrote to our socket: nothing it says can be trusted any more
        except Exception:
            # Nobody hears it any more: it must not look as if somebody did.
            logger.critical("process %d can no longer be heard, and is killed", self.number, exc_info=True)
            self.send(signal.SIGKILL)

    def tell(self, frame: Frame) -> None:
        """Say something; to one that is gone, nothing happens."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(encode(frame))

    def send(self, number: int) -> None:
        """A signal, to it alone: its own children are its own affair, and die with it."""
        if not self.ended.done():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def look(self) -> Change | None:
        """What happened to it since we last looked."""
        if self.ended.done():
            return None
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
        except ChildProcessError:  # somebody else has waited for it: how it ended cannot be known
            pid, status = self.pid, 0
        if not pid:
            return None
        if os.WIFSTOPPED(status):
            return Change.FROZEN
        if os.WIFCONTINUED(status):
            return Change.THAWED
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.ended.set_result(self._process.returncode)
        return Change.ENDED

    async def close(self) -> None:
        """It has ended: hear what it said last, and let go of everything."""
        if self._listening is not None:
            await asyncio.wait({self._listening}, timeout=_DRAIN_SECONDS)
            self._listening.cancel()
        if self.beating is not None:
            self.beating.cancel()
        if self._writer is not None:
            self._writer.close()
        self._slate.close()
        self._dump.close()


#: Called with what a ward says, one thing after the other.
Hear = Callable[[Ward, FromWard], Awaitable[None]]


async def spawn(number: int, words: Sequence[str], hear: Hear, *, keeps_leases: bool, now: float) -> Ward:
    """Start `tenure <words>` as child worker `number`; raises `ConfigurationError`."""
    ours, theirs = socket.socketpair()
    slate, dump = Slate.make(), Dump()
    with theirs:
        descriptors = (theirs.fileno(), slate.descriptor, dump.descriptor)
        tether = ",".join(map(str, (*descriptors, number, os.getpid(), int(keeps_leases))))
        try:
            process = subprocess.Popen(  # noqa: ASYNC220, S603 - returns when the program is loaded; our own words
                [*_interpreter(), *words, "--supervised", tether],
                stdin=subprocess.DEVNULL, pass_fds=descriptors, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            ours.close()
            slate.close()
            dump.close()
            msg = f"no worker process can be started: {error}"
            raise ConfigurationError(msg) from error
    dump.hand_over()
    ward = Ward(number, process, slate, now, dump)
    await ward.listen(ours, hear)
    return ward


def _interpreter() -> list[str]:
    if not sys.executable:
        msg = "no worker process can be started: this interpreter does not know its own path (sys.executable)"
        raise ConfigurationError(msg)
    # -O, -W, -X and the like, as `multiprocessing` hands them on.
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # noqa: SLF001
    return [sys.executable, *flags, "-c", _START, msgspec.json.encode(sys.path).decode()]
