"""One child process, as its parent sees it.

A child is a new interpreter, never a fork, so no lock, thread or connection of the worker is copied into it. It leads a
session of its own: Ctrl-C in a terminal does not reach it (the parent decides), and processes that a handler started in
it are ended with it.

Used by `pool.py`, which keeps them, and `job_channel.py`, which talks to one.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys

import msgspec

from tenure.errors import ConfigurationError
from tenure.handler_stack import StackFrame
from tenure.probe import SYSTEM_PROBE
from tenure.runtime.background.stacks.dump import Dump
from tenure.runtime.processes.frames import Frame, FromChild, Hello, WireBroken, encode, from_child, read

#: The child gets its parent's import path before it imports anything, so it finds the very same Tenure. Not
#: `-m`, which would look for it in the current folder and in an environment variable.
_START = (
    "import sys; sys.path[:] = sys.argv[5:]; from tenure.runtime.processes.child_main import main; "
    "_, descriptor, dump, parent, name = sys.argv[:5]; main(int(descriptor), int(dump), int(parent), name)"
)

#: After the end of a process, its last frames get so long to arrive.
DRAIN_SECONDS = 0.5
#: A process that was killed is waited for this long; one that the kernel does not let go is left to it.
KILL_SECONDS = 5.0


class ChildFailed(ConfigurationError):
    """A child process could not be prepared for the message. The message is not at fault, and was not run."""

    code = "child_failed"


class ChildProcess:
    """A running child process. `frames` yields its frames, and None at the end."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        dump: Dump,
    ) -> None:
        """Take the process and its streams. Made by `spawn`."""
        self._process = process
        self._reader = reader
        self._writer = writer
        self._dump = dump
        #: Messages it has been given.
        self.runs = 0
        self.frames: asyncio.Queue[FromChild | None] = asyncio.Queue()
        self._listening = asyncio.create_task(self._listen())
        #: Done once the process is gone and no zombie is left; its exit code, negative for a signal.
        self.ended = asyncio.create_task(self._attend())

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        """Whether it can be given another message."""
        return not self._listening.done() and self._process.returncode is None

    def send(self, data: bytes) -> None:
        """Send an encoded frame. If the process is gone nothing happens; `frames` shows it."""
        self._writer.write(data)

    def tell(self, frame: Frame) -> None:
        """Send a frame."""
        self._writer.write(encode(frame))

    def kill(self) -> None:
        """End it and what it started, now."""
        if self.ended.done():
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):  # gone already: Linux, macOS
            os.killpg(self._process.pid, signal.SIGKILL)

    async def dump(self) -> dict[int, list[StackFrame]]:
        """The stacks of its threads, without its help. Only once it runs a handler: before that a signal ends it.

        May be called from another loop than its own.
        """
        return {} if self.ended.done() else await self._dump.take(self._signal)

    def _signal(self, number: int) -> None:
        # Its end may not have been seen yet, and its pid may belong to another process by now.
        if SYSTEM_PROBE.look(self.pid).parent == os.getpid():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)

    async def end(self, grace_seconds: float) -> int | None:
        """Close the pipe, which ends an idle child; then kill it. None: the kernel will not let go of it."""
        self._writer.close()
        await asyncio.wait({self.ended}, timeout=grace_seconds)
        if not self.ended.done():
            self.kill()
            await asyncio.wait({self.ended}, timeout=KILL_SECONDS)
        return self.ended.result() if self.ended.done() else None

    async def _listen(self) -> None:
        try:
            while (data := await read(self._reader)) is not None:
                self.frames.put_nowait(from_child.decode(data))
        except (WireBroken, msgspec.MsgspecError):
            self.kill()  # the handler wrote to our socket: nothing it says can be trusted any more
        finally:
            self.frames.put_nowait(None)

    async def _attend(self) -> int:
        exit_code = await self._process.wait()
        # The session may have outlived its leader: what the handler started, or a fork that holds our socket
        # open. (The number cannot have been given away yet: the kernel counts up before it starts again.)
        self.kill()
        await asyncio.wait({self._listening}, timeout=DRAIN_SECONDS)
        self._writer.transport.abort()
        await self._listening
        self._dump.close()
        return exit_code


async def spawn(name: str) -> ChildProcess:
    """Start a child process; `name` is for people who look at `ps`. Raises `ChildFailed`."""
    ours, theirs = socket.socketpair()
    dump = Dump()
    with theirs:
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        try:
            process = await asyncio.create_subprocess_exec(
                *_command(theirs.fileno(), dump.descriptor, name),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), dump.descriptor),
                start_new_session=True,
            )
        except BaseException as error:
            writer.close()
            dump.close()
            if isinstance(error, OSError):
                msg = f"no child process can be started: {error}; the message was not run"
                raise ChildFailed(msg) from error
            raise
    dump.hand_over()
    child = ChildProcess(process, reader, writer, dump)
    child.tell(Hello(sys.argv))
    return child


def _command(descriptor: int, dump: int, name: str) -> list[str]:
    if not sys.executable:
        msg = "no child process can be started: this interpreter does not know its own path (sys.executable)"
        raise ChildFailed(msg)
    # -O, -W, -X and the like, as `multiprocessing` hands them on.
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # noqa: SLF001
    return [sys.executable, *flags, "-c", _START, *map(str, (descriptor, dump, os.getpid())), name, *sys.path]
