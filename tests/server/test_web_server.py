"""The socket of `tenure serve`."""

import asyncio
import contextlib
import socket

from tenure.server.web_server import bind


async def test_an_answer_does_not_wait_for_its_head_to_be_acknowledged() -> None:
    found: list[int] = []

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted = writer.get_extra_info("socket")
        found.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with contextlib.closing(bind("127.0.0.1", 0)) as sock:
        async with await asyncio.start_server(answer, sock=sock):
            reader, writer = await asyncio.open_connection("127.0.0.1", sock.getsockname()[1])
            await reader.read()
            writer.close()
    assert found == [1], "asyncio sends small writes at once only where the socket says that it is TCP"
