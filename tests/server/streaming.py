"""A stream of an application in the test's own loop and time: what it sends, as it comes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import msgspec
from starlette.types import ASGIApp


class Streamed:
    """What came of one request."""

    def __init__(self) -> None:
        self.status = 0
        self.body = b""
        self.headers: dict[str, str] = {}
        self.has_ended = False
        self.left = asyncio.Event()
        self._has_asked = False

    async def receive(self) -> dict[str, Any]:
        if not self._has_asked:
            self._has_asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.status = message.get("status", self.status)
        if "headers" in message:
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        self.body += message.get("body", b"")

    @property
    def events(self) -> list[tuple[str, dict[str, Any]]]:
        """Name and data of each event."""
        blocks = [dict(line.split(b": ", 1) for line in one.split(b"\n")) for one in self.body.split(b"\n\n") if one]
        return [(one[b"event"].decode(), msgspec.json.decode(one[b"data"])) for one in blocks if b"data" in one]

    @property
    def last_id(self) -> str:
        return [line[4:].decode() for line in self.body.split(b"\n") if line.startswith(b"id: ")][-1]


@contextlib.asynccontextmanager
async def streamed(application: ASGIApp, path: str, headers: Mapping[str, str] = {}) -> AsyncIterator[Streamed]:
    """Follow `path` until the block is left."""
    request = httpx.Request("GET", f"http://127.0.0.1:8383{path}", headers=headers)
    one = Streamed()
    scope = {
        "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "path": request.url.path,
        "raw_path": request.url.raw_path.partition(b"?")[0], "query_string": request.url.query, "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw], "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8383),
    }  # fmt: skip

    async def run() -> None:
        await application(scope, one.receive, one.send)
        one.has_ended = True

    streaming = asyncio.create_task(run())
    try:
        yield one
    finally:
        one.left.set()
        await streaming
