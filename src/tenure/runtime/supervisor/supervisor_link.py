"""A tether: what ties a child worker to its supervisor, on the child's side.

A socket to say and hear things, and a slate for what it runs. If the supervisor is gone, so is the child: on Linux
the kernel sees to it (`lifeline.py`), elsewhere the socket closes.

Made by the command line in a process that a supervisor started; used by `worker.py`, `path.py` and `entrusting.py`.
The other end is `ward.py`.
"""

import asyncio
import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Collection

from tenure.clock import SYSTEM_CLOCK
from tenure.owner import Owner
from tenure.runtime.lifeline import die_with
from tenure.runtime.orders import Arrived, Enlisted, Hurry, News, Working, to_ward
from tenure.runtime.slate import Slate
from tenure.runtime.stacks.dump import register
from tenure.runtime.wire import Frame, encode, read

#: How long the last words may take, where the supervisor is slow to listen.
_LAST_WORD_SECONDS = 1.0


class Tether:
    """A child worker's end of the line."""

    def __init__(
        self, *, socket_descriptor: int, slate_descriptor: int, number: int, keeps_leases: bool,
        dump_descriptor: int | None = None,
    ) -> None:  # fmt: skip
        """Take over the descriptors. `keeps_leases`: the supervisor does, not the worker itself.

        `dump_descriptor`: where our stacks go if the supervisor asks by a signal, because we do not move.
        """
        if dump_descriptor is not None:
            register(dump_descriptor)
        for descriptor in (socket_descriptor, slate_descriptor):
            os.set_inheritable(descriptor, False)  # noqa: FBT003 - what a handler starts must not keep the line open
        self.number = number
        self.keeps_leases = keeps_leases
        self._socket = socket.socket(fileno=socket_descriptor)
        self._socket.setblocking(False)  # noqa: FBT003 - the library's own signature
        self._slate = Slate(slate_descriptor)
        self._lock = threading.Lock()
        self._backlog = bytearray()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listening: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._on_news: Callable[[News], None] | None = None

    @classmethod
    def from_word(cls, word: str) -> "Tether":
        """As `ward.py` writes it on the command line."""
        socket_descriptor, slate_descriptor, dump_descriptor, number, parent, keeps = map(int, word.split(","))
        die_with(parent)
        return cls(
            socket_descriptor=socket_descriptor, slate_descriptor=slate_descriptor, number=number,
            keeps_leases=bool(keeps), dump_descriptor=dump_descriptor,
        )  # fmt: skip

    # -- speaking ----------------------------------------------------------------------------------

    def note(self, owner: str, running: Collection[str]) -> None:
        """Write on the slate what runs here, before it runs."""
        self._slate.write(owner, running, len(running))

    def tick(self) -> None:
        """Note that we move: a supervisor that sees no tick says so to those who ask what we do."""
        self._slate.tick(SYSTEM_CLOCK.monotonic())

    def enlisted(self, owner: Owner) -> None:
        """We are on the roster."""
        self.note(owner.id, ())
        self.tell(Enlisted(owner))

    def working(self) -> None:
        """We have begun."""
        self.tell(Working())

    def tell(self, frame: Frame) -> None:
        """Say something. From any thread, and at once: a handler may keep the GIL from the next line on."""
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
            return len(data)  # nobody listens any more, and we end with them

    def _flush(self) -> None:
        with self._lock:
            del self._backlog[: self._send(self._backlog)]
            if not self._backlog and self._loop is not None:
                self._loop.remove_writer(self._socket)

    # -- listening ---------------------------------------------------------------------------------

    async def listen(self, url: str, on_hurry: Callable[[], None]) -> None:
        """Say where our messages are; from now on, hear what the supervisor says, on this loop."""
        self._loop = asyncio.get_running_loop()
        reader, self._writer = await asyncio.open_unix_connection(sock=self._socket.dup())
        self._listening = self._loop.create_task(self._hear(reader, on_hurry))
        self.tell(Arrived(url))

    def subscribe(self, on_news: Callable[[News], None]) -> None:
        """Who is told about leases."""
        self._on_news = on_news

    async def _hear(self, reader: asyncio.StreamReader, on_hurry: Callable[[], None]) -> None:
        while (data := await read(reader)) is not None:
            frame = to_ward.decode(data)
            if isinstance(frame, Hurry):
                on_hurry()
            elif self._on_news is not None:
                self._on_news(frame)
        # Whoever kept our leases, or was to start us again, is gone: end as it did.
        os.kill(os.getpid(), signal.SIGKILL)

    def close(self) -> None:
        """Say what is still unsaid, and hear no more."""
        if self._listening is not None and self._writer is not None and self._loop is not None:
            self._listening.cancel()
            self._writer.close()
            self._loop.remove_writer(self._socket)
        with self._lock, contextlib.suppress(OSError):  # also if it takes too long: then it is not said
            self._socket.settimeout(_LAST_WORD_SECONDS)
            self._socket.sendall(self._backlog)
        self._socket.close()
        self._slate.close()
