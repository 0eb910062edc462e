"""Clients that ask for much and read nothing: they are cut off, and keep nobody else out."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

import tenure.server.web_protocol
from tenure import Tenure
from tenure.config import Settings
from tenure.server.application import asgi
from tenure.server.web_server import WebServer

pytestmark = pytest.mark.real_time

#: So many requests for so much, one behind the other, that no buffer of the system takes all answers.
COUNT = 60
GREEDY = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * COUNT
MOST_REQUESTS = 4


@contextlib.asynccontextmanager
async def running(folder: Path) -> AsyncIterator[int]:
    """A server that works on few requests at once, as `tenure serve` runs it; its port."""
    url = f"sqlite:///{folder / 'jobs.db'}"
    web = asgi(Tenure(url, settings=Settings(server_most_requests=MOST_REQUESTS)))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        async with web.lifespan():
            started = asyncio.Event()
            server = WebServer(web, 1.0, started.set)
            serving = asyncio.create_task(server._serve([listening]))
            await started.wait()
            try:
                yield listening.getsockname()[1]
            finally:
                server.should_exit = True
                await serving


async def greedy(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A client that asks, and takes as little as its system lets it."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    sock.connect(("127.0.0.1", port))
    sock.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=sock, limit=1_024)
    writer.write(GREEDY)
    return reader, writer


async def test_who_takes_nothing_is_cut_off_and_then_the_others_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenure.server.web_protocol, "TAKING_SECONDS", 1.0)
    async with running(tmp_path) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        clients = [await greedy(port) for _ in range(MOST_REQUESTS)]
        async with asyncio.timeout(20):
            while (await client.get("/api/v1/session")).status_code != 503:  # noqa: ASYNC110 - until every place is held
                await asyncio.sleep(0.02)
            while (await client.get("/api/v1/session")).status_code != 200:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.05)
        for _, writer in clients:
            writer.transport.abort()


async def test_who_takes_slowly_is_served_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenure.server.web_protocol, "TAKING_SECONDS", 2.0)
    async with running(tmp_path) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1_024)
        writer.write(GREEDY)
        found, began = b"", asyncio.get_running_loop().time()
        async with asyncio.timeout(60):
            while found.count(b"HTTP/1.1 200 OK") < COUNT or not found.endswith(b"}"):
                block = await reader.read(49_152)
                assert block
                found += block
                await asyncio.sleep(0.02)
        assert asyncio.get_running_loop().time() - began > 3
        writer.close()
