"""One connection: uvicorn's own protocol, with bounds on how slowly a client may send headers and take answers.

uvicorn bounds how long a connection may be idle, but not how slowly headers may come: a client that sends a byte now
and then would hold its connection for ever. Nor how slowly an answer is taken: clients that ask for much and read
nothing would hold every request that the server works on at once.
"""

import asyncio
import fcntl
import struct
import termios
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: From the first byte of a request, or from the connection, to the end of its headers.
HEADER_SECONDS = 10.0

#: While an answer waits for the client, it takes at least so much of it in this many seconds.
TAKING_SECONDS = 30.0
LEAST_TAKEN_BYTES = 16_384

_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class WebProtocol(H11Protocol):
    """Closes connections whose headers do not come, and those whose answers are not taken."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take the arguments of uvicorn's protocol."""
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None
        self._taking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's signature
        """Begin to wait for headers."""
        super().connection_made(transport)
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:  # the headers are there
            self._stop_waiting()
        elif self._deadline is None:
            self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers of a lost connection."""
        self._stop_waiting()
        self._stop_watching()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client takes less than is sent: watch how much."""
        super().pause_writing()
        self._watch_taking()

    def resume_writing(self) -> None:
        """The client keeps up again."""
        self._stop_watching()
        super().resume_writing()

    def _await_headers(self) -> None:
        self._deadline = self.loop.call_later(HEADER_SECONDS, self._refuse)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(_TOO_SLOW)
            self.transport.close()

    def _watch_taking(self) -> None:
        self._stop_watching()
        self._taking = self.loop.call_later(TAKING_SECONDS, self._check_taken, self._unsent())

    def _stop_watching(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def _check_taken(self, unsent: int) -> None:
        if self._unsent() > unsent - LEAST_TAKEN_BYTES:
            self.transport.abort()
        else:
            self._watch_taking()

    def _unsent(self) -> int:
        """Bytes that the client has not taken: ours, and the system's, which takes ours in steps of a megabyte."""
        sock = self.transport.get_extra_info("socket")
        try:
            (of_the_system,) = struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))
        except (OSError, AttributeError):  # not known for this kind of connection
            of_the_system = 0
        return self.transport.get_write_buffer_size() + int(of_the_system)
