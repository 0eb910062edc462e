"""What stands before a server: speaks TLS for one that cannot, or changes what it answers.

To cut and hold lines there is `tests.servers.proxy`; this one only passes on.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

_PIECE = 65_536


@asynccontextmanager
async def front(
    server_port: int, *, tls: ssl.SSLContext | None = None, change: Callable[[bytes], bytes] = bytes
) -> AsyncIterator[int]:
    """The port on which to reach the server on another port."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to_server = await asyncio.open_connection("127.0.0.1", server_port)
        try:
            await asyncio.wait(
                [
                    asyncio.create_task(_pump(reader, to_server, bytes)),
                    asyncio.create_task(_pump(there, writer, change)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            to_server.transport.abort()
            writer.transport.abort()

    async with await asyncio.start_server(take, "127.0.0.1", 0, ssl=tls) as listening:
        yield listening.sockets[0].getsockname()[1]


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, change: Callable[[bytes], bytes]) -> None:
    try:
        while piece := await reader.read(_PIECE):
            writer.write(change(piece))
            await writer.drain()
    except (OSError, asyncio.CancelledError):
        return  # one side hung up
