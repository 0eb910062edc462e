"""One connection to the server that is kept: cheap, as the client shares the machine with the server."""

import asyncio


class Connection:
    """Asks one request after the other."""

    def __init__(self, netloc: str) -> None:
        """Connects with the first request."""
        self._netloc = netloc
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and body of the answer. The path begins below `/api/v1`."""
        try:
            return await self._ask(method, path, body)
        except (asyncio.IncompleteReadError, ConnectionError):  # the server closed it while it was idle
            self.close()
            return await self._ask(method, path, body)

    async def _ask(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        reader, writer = await self._open()
        writer.write(request_of(self._netloc, method, path, body))
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        length = int(lengths[0].split(b":")[1]) if lengths else 0
        answer = await reader.readexactly(length)
        if b"connection: close" in head.lower():
            self.close()
        return status, answer

    async def listen(self, path: str, seconds: float) -> int:
        """Take what a stream sends for so long, then leave; how many bytes."""
        reader, writer = await asyncio.open_connection(*_address(self._netloc))
        writer.write(request_of(self._netloc, "GET", path, b"", "Accept: text/event-stream\r\n"))
        taken = 0
        try:
            async with asyncio.timeout(seconds):
                while part := await reader.read(65_536):
                    taken += len(part)
        except TimeoutError:
            pass
        writer.close()
        return taken

    def close(self) -> None:
        """The next request opens another one."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(*_address(self._netloc), limit=1 << 22)
        return self._reader, self._writer


def request_of(netloc: str, method: str, path: str, body: bytes = b"", more: str = "") -> bytes:
    """A request as bytes."""
    head = f"{method} /api/v1{path} HTTP/1.1\r\nHost: {netloc}\r\n{more}"
    if method != "GET":
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


def _address(netloc: str) -> tuple[str, int]:
    host, _, port = netloc.partition(":")
    return host, int(port)
