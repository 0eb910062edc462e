"""The link of a child worker to its supervisor, on the child's side.

A socket for frames, and a shared status for what the child runs. If the supervisor ends, so does the child: on Linux
the kernel ends it (`processes/die_with_parent.py`), elsewhere the socket closes.

Made by the command line in a process that a supervisor started; used by `worker.py`, `pipeline.py` and
`remote_heartbeat.py`. The other end is `worker_process.py`.
"""

import asyncio
import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Collection

from tenure.clock import SYSTEM_CLOCK
from tenure.monitoring.metrics.sample import Sample
from tenure.owner import Owner
from tenure.runtime.background.stacks.dump import register
from tenure.runtime.processes.die_with_parent import die_with
from tenure.runtime.processes.frames import Frame, encode, read
from tenure.runtime.supervisor.protocol import (
    Arrived,
    Enlisted,
    Hurry,
    MetricsShown,
    News,
    ShowMetrics,
    Working,
    to_worker,
)
from tenure.runtime.supervisor.shared_status import SharedStatus

#: How long the last words may take, where the supervisor is slow to listen.
_LAST_WORD_SECONDS = 1.0


class SupervisorLink:
    """A child worker's link to its supervisor."""

    def __init__(
        self,
        *,
        socket_descriptor: int,
        status_descriptor: int,
        number: int,
        keeps_leases: bool,
        dump_descriptor: int | None = None,
    ) -> None:
        """Take over the descriptors. `keeps_leases`: the supervisor does, not the worker itself.

        `dump_descriptor`: where our stacks go if the supervisor asks by a signal, because we do not move.
        """
        if dump_descriptor is not None:
            register(dump_descriptor)
        for descriptor in (socket_descriptor, status_descriptor):
            os.set_inheritable(descriptor, False)  # noqa: FBT003 - what a handler starts must not keep the line open
        self.number = number
        self.keeps_leases = keeps_leases
        self._socket = socket.socket(fileno=socket_descriptor)
        self._socket.setblocking(False)  # noqa: FBT003 - the library's own signature
        self._status = SharedStatus(status_descriptor)
        self._lock = threading.Lock()
        self._backlog = bytearray()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listening: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._on_news: Callable[[News], None] | None = None
        #: The worker's metrics. None: it has not begun.
        self.metrics: Callable[[], list[Sample]] | None = None

    @classmethod
    def from_word(cls, word: str) -> "SupervisorLink":
        """Read the word that `worker_process.py` writes on the command line."""
        socket_descriptor, status_descriptor, dump_descriptor, number, parent, keeps = map(int, word.split(","))
        die_with(parent)
        return cls(
            socket_descriptor=socket_descriptor,
            status_descriptor=status_descriptor,
            number=number,
            keeps_leases=bool(keeps),
            dump_descriptor=dump_descriptor,
        )

    # -- speaking ----------------------------------------------------------------------------------

    def note(self, owner: str, running: Collection[str]) -> None:
        """Note what runs here, before it runs."""
        self._status.write(owner, running, len(running))

    def tick(self) -> None:
        """Note that we respond. A supervisor that sees no tick answers requests for our stacks."""
        self._status.tick(SYSTEM_CLOCK.monotonic())

    def enlisted(self, owner: Owner) -> None:
        """Tell the supervisor that this worker is on the roster."""
        self.note(owner.id, ())
        self.tell(Enlisted(owner))

    def working(self) -> None:
        """Tell the supervisor that this worker has begun to lease."""
        self.tell(Working())

    def tell(self, frame: Frame) -> None:
        """Send a frame. From any thread, and at once: a handler may keep the GIL from the next line on."""
        data = encode(frame)
        with self._lock:
            if not self._backlog:
                data = data[self._send(data) :]
            if not data:
                return
            self._backlog += data
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._loop.add_writer, self._socket, self._flush)

    def _send(self, data: bytes | bytearray) -> int:
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except ConnectionError:
            return len(data)  # the supervisor does not listen any more, and we end with it

    def _flush(self) -> None:
        with self._lock:
            del self._backlog[: self._send(self._backlog)]
            if not self._backlog and self._loop is not None:
                self._loop.remove_writer(self._socket)

    # -- listening ---------------------------------------------------------------------------------

    async def listen(self, url: str, on_hurry: Callable[[], None]) -> None:
        """Send the place of our messages; from now on, read the supervisor's frames on this loop."""
        self._loop = asyncio.get_running_loop()
        reader, self._writer = await asyncio.open_unix_connection(sock=self._socket.dup())
        self._listening = self._loop.create_task(self._hear(reader, on_hurry))
        self.tell(Arrived(url))

    def subscribe(self, on_news: Callable[[News], None]) -> None:
        """The callbacks about leases."""
        self._on_news = on_news

    async def _hear(self, reader: asyncio.StreamReader, on_hurry: Callable[[], None]) -> None:
        while (data := await read(reader)) is not None:
            frame = to_worker.decode(data)
            if isinstance(frame, Hurry):
                on_hurry()
            elif isinstance(frame, ShowMetrics):
                if self.metrics is not None:
                    self.tell(MetricsShown(frame.question, self.metrics()))
            elif self._on_news is not None:
                self._on_news(frame)
        # The supervisor, which kept our leases and would restart us, is gone: end too.
        os.kill(os.getpid(), signal.SIGKILL)

    def close(self) -> None:
        """Send what is pending, then close the socket."""
        if self._listening is not None and self._writer is not None and self._loop is not None:
            self._listening.cancel()
            self._writer.close()
            self._loop.remove_writer(self._socket)
        with self._lock, contextlib.suppress(OSError):  # also if it takes too long: then it is not said
            self._socket.settimeout(_LAST_WORD_SECONDS)
            self._socket.sendall(self._backlog)
        self._socket.close()
        self._status.close()
