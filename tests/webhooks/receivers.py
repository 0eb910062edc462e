"""Receivers for tests: real servers on loopback, that answer as they are told."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec


class Request(msgspec.Struct):
    """One request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes


#: Writes an answer. What it leaves open is closed.
Reply = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


class Receiver:
    """A server that keeps what it got."""

    def __init__(self, reply: Reply) -> None:
        """Answer by `reply`."""
        self.reply = reply
        self.got: list[Request] = []
        self.port = 0
        self.connections = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/internal/notify"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                line, *lines = head.rstrip().split("\r\n")
                headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in lines)}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                request = Request(line, headers, body)
                self.got.append(request)
                await self.reply(request, writer)
                await writer.drain()
                if writer.is_closing():
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


def answers(status: int, text: str = "", **headers: str) -> Reply:
    """A reply with this status."""
    extra = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())

    async def reply(_request: Request, writer: asyncio.StreamWriter) -> None:
        body = text.encode()
        head = f"HTTP/1.1 {status} Text\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
        writer.write(head.encode() + body)

    return reply


async def cuts(_request: Request, writer: asyncio.StreamWriter) -> None:
    """Read the request, and cut the connection."""
    writer.close()


async def endless(_request: Request, writer: asyncio.StreamWriter) -> None:
    """Answer 200 with a body that does not end."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not writer.is_closing():
        writer.write(b"400\r\n" + b"x" * 1024 + b"\r\n")
        await writer.drain()


async def silent(_request: Request, _writer: asyncio.StreamWriter) -> None:
    """Never answer."""
    await asyncio.Event().wait()


async def trickles(_request: Request, writer: asyncio.StreamWriter) -> None:
    """Answer 200, with a body that never comes."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
    await writer.drain()
    await asyncio.Event().wait()


@asynccontextmanager
async def receiver(reply: Reply) -> AsyncGenerator[Receiver]:
    """A receiver on a free port."""
    one = Receiver(reply)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await one.serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    one.port = server.sockets[0].getsockname()[1]
    try:
        yield one
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
