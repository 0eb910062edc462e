"""A dump: the stacks of a process that cannot answer, because a call keeps its GIL or no channel reaches it.

`faulthandler` writes them from within a signal handler, without the GIL. The process is given the writing end of a pipe
(`register`), and its parent signals it and reads the other end. What is written is what a crash would print: files,
lines and functions. Only Linux has signals that no other code uses; elsewhere such a process gives no frames.

The pipe is made by `processes/child_process.py` for each child process, and by `supervisor/worker_process.py` for
each worker of a supervisor.
"""

import asyncio
import contextlib
import faulthandler
import os
import re
import signal
import threading
from collections.abc import Callable

from tenure.handler_stack import StackFrame

#: A real-time signal near the end of the list: the first ones are used by threading libraries, the last by debuggers.
_SIGNAL: int | None = signal.SIGRTMAX - 3 if hasattr(signal, "SIGRTMAX") else None
#: After the signal, so long for the first bytes; then it is over when nothing came for a moment.
_FIRST_SECONDS, _QUIET_SECONDS = 0.25, 0.03
_MOST_BYTES = 1 << 18
_READ_BYTES = 1 << 16

_THREAD = re.compile(r"^(?:Current thread|Thread) 0x([0-9a-f]+)")
_FRAME = re.compile(r'^  File "(.*)", line (\d+|\?\?\?) in (.*)$')


def register(descriptor: int) -> None:
    """Have this process write all its stacks there when the signal comes."""
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - what a handler starts must not hold it open
    if _SIGNAL is not None:
        faulthandler.register(_SIGNAL, file=descriptor, all_threads=True, chain=False)


class Dump:
    """The parent's end."""

    def __init__(self) -> None:
        """A pipe of its own. Neither end ever waits: who writes is within a signal handler."""
        self._reader, self.descriptor = os.pipe()
        for end in (self._reader, self.descriptor):
            os.set_blocking(end, False)
        self._is_handed_over = self._is_closed = False
        #: `take` may read on another loop than that which closes: a number that was given away must not be read.
        self._lock = threading.Lock()

    def hand_over(self) -> None:
        """The process has its end now; ours of it is closed."""
        self._is_handed_over = True
        os.close(self.descriptor)

    def close(self) -> None:
        """Let go of it."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            os.close(self._reader)
        if not self._is_handed_over:
            self.hand_over()

    async def take(self, kill: Callable[[int], None]) -> dict[int, list[StackFrame]]:
        """The stacks of all threads by their idents, the outermost frame first. Empty: it did not say.

        `kill` sends the process a signal. Only for one that has called `register`: any other would be ended by it.
        """
        if _SIGNAL is None:
            return {}
        self._read()  # what came too late the last time
        kill(_SIGNAL)
        written, quiet, waited = b"", 0.0, 0.0
        while quiet < _QUIET_SECONDS and len(written) < _MOST_BYTES:
            await asyncio.sleep(_QUIET_SECONDS / 3)
            more = self._read()
            written += more
            quiet = quiet + _QUIET_SECONDS / 3 if written and not more else 0.0
            waited += _QUIET_SECONDS / 3
            if not written and waited >= _FIRST_SECONDS:
                break
        return parsed(written.decode("utf-8", "replace"))

    def _read(self) -> bytes:
        found = b""
        with self._lock, contextlib.suppress(BlockingIOError):
            while not self._is_closed and len(found) < _MOST_BYTES and (more := os.read(self._reader, _READ_BYTES)):
                found += more
        return found


def parsed(text: str) -> dict[int, list[StackFrame]]:
    """Parse the output of `faulthandler`, by thread; the outermost frame first."""
    threads: dict[int, list[StackFrame]] = {}
    frames: list[StackFrame] = []
    for line in text.splitlines():
        thread, frame = _THREAD.match(line), _FRAME.match(line)
        if thread is not None:
            frames = threads[int(thread[1], 16)] = []
        elif frame is not None:
            frames.insert(0, StackFrame(frame[1], int(frame[2]) if frame[2].isdigit() else None, frame[3]))
    return threads
