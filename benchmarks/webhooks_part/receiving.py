"""Receivers on loopback, in the process that measures: one that answers 204 at once, and one that never answers."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import cast

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"
_END = b"\r\n\r\n"


class Arrivals:
    """What the healthy receiver got."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.port = 0
        #: When, on the performance counter and by the wall clock, and what.
        self.got: list[tuple[float, float, bytes]] = []

    async def until(self, count: int) -> None:
        """Wait until so many came."""
        async with asyncio.timeout(300):
            while len(self.got) < count:  # noqa: ASYNC110 - a protocol tells nobody
                await asyncio.sleep(0.01)


class _Healthy(asyncio.Protocol):
    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._raw = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._raw += data
        while (head := self._raw.find(_END)) >= 0:
            found = _LENGTH.search(self._raw, 0, head)
            end = head + len(_END) + (int(found[1]) if found else 0)
            if len(self._raw) < end:
                return
            self._arrivals.got.append((time.perf_counter(), time.time(), self._raw[head + len(_END) : end]))
            self._raw = self._raw[end:]
            self._transport.write(_ANSWER)


@asynccontextmanager
async def _listening(make: Callable[[], asyncio.BaseProtocol]) -> AsyncGenerator[int]:
    server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@asynccontextmanager
async def healthy() -> AsyncGenerator[Arrivals]:
    """Answers 204 at once."""
    arrivals = Arrivals()
    async with _listening(lambda: _Healthy(arrivals)) as arrivals.port:
        yield arrivals


@asynccontextmanager
async def dead() -> AsyncGenerator[int]:
    """Takes connections and requests, and never answers; its port."""
    async with _listening(asyncio.Protocol) as port:
        yield port
