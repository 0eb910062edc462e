"""One connection: uvicorn's own protocol, with a bound on the time in which a request's headers must come.

uvicorn bounds how long a connection may be idle, but not how slowly headers may come: a client that sends a byte now
and then would hold its connection for ever.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: From the first byte of a request, or from the connection, to the end of its headers.
HEADER_SECONDS = 10.0

_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class WebProtocol(H11Protocol):
    """Closes connections whose headers do not come."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As uvicorn makes it."""
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None

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
        """Nothing is waited for any more."""
        self._stop_waiting()
        super().connection_lost(exc)

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
