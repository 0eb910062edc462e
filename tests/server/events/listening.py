"""Real servers on free ports of loopback, and real clients that read their streams."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import msgspec
import uvicorn

from tenure import Tenure
from tenure.server.application import Application, asgi

SOON = 20.0


class Running:
    """A server that runs."""

    def __init__(self, web: Application, server: uvicorn.Server, serving: "asyncio.Task[None]") -> None:
        self.web = web
        self.server = server
        self.serving = serving
        self.base = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/api/v1"


@contextlib.asynccontextmanager
async def running(url: str, **options: Any) -> AsyncIterator[Running]:
    """One server of a store, with its own connection to it. `TENURE_SERVER_…` apart it is as `tenure serve` runs it."""
    web = asgi(Tenure(url), **options)
    server = uvicorn.Server(uvicorn.Config(web, port=0, log_level="warning", timeout_graceful_shutdown=5))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        assert not serving.done(), "the server did not start"
        await asyncio.sleep(0.02)
    try:
        yield Running(web, server, serving)
    finally:
        server.should_exit = True
        await serving


class Listening:
    """A stream that is read."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.lines: list[str] = []
        self.has_ended = False

    async def run(self) -> None:
        with contextlib.suppress(httpx.HTTPError):
            async for line in self.response.aiter_lines():
                self.lines.append(line)
        self.has_ended = True

    @property
    def data(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(line[6:]) for line in self.lines if line.startswith("data: ")]

    @property
    def messages(self) -> list[str]:
        return [one["payload"]["message_id"] for one in self.data if "message_id" in one["payload"]]

    @property
    def last_id(self) -> str:
        return [line[4:] for line in self.lines if line.startswith("id: ")][-1]

    async def until(self, seen: Callable[["Listening"], object], within: float = SOON) -> None:
        async with asyncio.timeout(within):
            while not seen(self):  # noqa: ASYNC110 - it is about bytes that come from elsewhere
                await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def listening(
    server: Running, query: str = "", *, last_id: str | None = None, token: str | None = None
) -> AsyncIterator[Listening]:
    headers = {} if last_id is None else {"Last-Event-ID": last_id}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    async with (
        httpx.AsyncClient(timeout=SOON) as client,
        client.stream("GET", f"{server.base}/events/stream?{query}", headers=headers) as response,
    ):
        one = Listening(response)
        reading = asyncio.create_task(one.run())
        if response.status_code == 200:
            await one.until(lambda one: one.lines)
        try:
            yield one
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
