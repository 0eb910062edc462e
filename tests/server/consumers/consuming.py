"""A consumer over HTTP, as a test writes it; and a connection that can be cut at any moment."""

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx
import msgspec

from tenure.server.application import Application

from ..routes.described import check_answer  # noqa: TID252 - the helpers of the folder above

Leased = dict[str, Any]


class Consumer:
    """Leases and settles over HTTP. Every answer is compared with the OpenAPI document."""

    def __init__(self, client: httpx.AsyncClient, queue: str = "acme-tasks", name: str = "c1", **headers: str) -> None:
        self.client = client
        self.queue = queue
        self.name = name
        self.headers = headers

    async def post(self, path: str, body: Any, status: int = 200) -> dict[str, Any]:
        response = await self.client.post(f"/api/v1{path}", json=body, headers=self.headers, timeout=60)
        check_answer(response)
        assert response.status_code == status, response.text
        found: dict[str, Any] = response.json()
        return found

    def body(self, want: int = 1, **more: Any) -> dict[str, Any]:
        return {"queues": [self.queue], "want": want, "consumer": self.name} | more

    async def lease(self, want: int = 1, **more: Any) -> list[Leased]:
        found: list[Leased] = (await self.post("/lease", self.body(want, **more)))["messages"]
        return found

    async def lease_one(self, **more: Any) -> Leased:
        found = await self.lease(1, **{"wait": 20} | more)
        assert len(found) == 1, found
        return found[0]

    async def say(self, verb: str, messages: Sequence[Leased | str], **more: Any) -> list[str]:
        """Settle or touch; the outcomes."""
        return [one["outcome"] for one in await self.say_all(verb, messages, **more)]

    async def say_all(self, verb: str, messages: Sequence[Leased | str], **more: Any) -> list[dict[str, Any]]:
        tokens = [one if isinstance(one, str) else one["token"] for one in messages]
        body = {"leases": [{"token": token, **more} for token in tokens]}
        found: list[dict[str, Any]] = (await self.post(f"/leases/{verb}", body))["leases"]
        return found


class Connection:
    """One request on a connection of its own, which the test can cut."""

    def __init__(self, application: Application, path: str, body: Any, headers: dict[str, str] | None = None) -> None:
        self.status = 0
        self.content = b""
        #: The answer was written.
        self.is_written = False
        self._application = application
        self._left = asyncio.Event()
        self._body = msgspec.json.encode(body)
        self._path = f"/api/v1{path}"
        given = {"host": "127.0.0.1:8383", "content-type": "application/json"} | (headers or {})
        self._headers = [(name.lower().encode(), value.encode()) for name, value in given.items()]
        self.running = asyncio.create_task(self._run())

    def cut(self) -> None:
        """The client, or a proxy, closes the connection."""
        self._left.set()

    async def ended(self) -> "Connection":
        await self.running
        return self

    @property
    def messages(self) -> list[Leased]:
        found: list[Leased] = msgspec.json.decode(self.content)["messages"]
        return found

    async def _run(self) -> None:
        asked = False

        async def receive() -> dict[str, Any]:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": self._body, "more_body": False}
            await self._left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if self._left.is_set():  # as uvicorn: what is written to a closed connection goes nowhere
                return
            self.status = message.get("status", self.status)
            self.content += message.get("body", b"")
            self.is_written = self.is_written or message["type"] == "http.response.body"

        scope = {
            "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": self._path,
            "raw_path": self._path.encode(), "query_string": b"", "root_path": "", "headers": self._headers,
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8383),
        }  # fmt: skip
        await self._application(scope, receive, send)
