"""Memory stays flat under mixed traffic. Ten minutes of it: `python -m benchmarks.server_part.memory`."""

import asyncio
import gc
import logging
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tenure import Tenure
from tenure.server.application import Application
from tenure.server.principal import AccessScope

from .asking import HERE, application, client_of, new_token

pytestmark = pytest.mark.real_time

_WARM_ROUNDS, _ROUNDS, _TIMES = 15, 15, 3
#: What a request may leave behind, on average. The newest events are kept for viewers, up to a bound: one a round,
#: which is about 50 bytes a request. Figures are kept by the minute: a slow machine has more of them a request, 160
#: bytes were seen. A leaked request has kilobytes.
_MOST_BYTES = 400


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


async def follow(served: Application, query: bytes) -> None:
    """A stream whose client leaves once something came."""
    came = asyncio.Event()
    parts = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> dict[str, Any]:
        if (part := next(parts, None)) is not None:
            return part
        await came.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message.get("body"):
            came.set()

    path = "/api/v1/events/stream"
    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": query,
        "root_path": "", "scheme": "http", "http_version": "1.1", "client": HERE, "server": ("127.0.0.1", 8383),
        "headers": [(b"host", b"127.0.0.1:8383"), (b"accept", b"text/event-stream")],
    }  # fmt: skip
    await served(scope, receive, send)


async def one_of_each(served: Application, client: httpx.AsyncClient, token: str, number: int) -> int:
    """Everything that people and programs ask, once; how many requests."""
    entry = {"queue": "default-tasks", "task": "noop", "payload": {"n": number}}
    sent = await client.post("/api/v1/messages", json={"messages": [entry] * 5})
    (id, *_) = [one["id"] for one in sent.json()["messages"]]
    own = {"Authorization": f"Bearer {token}"}
    paths = (
        "/snapshots/overview", "/snapshots/queues", "/queues", "/overview", "/messages?state=ready&limit=5",
        "/events?limit=5", "/workers", "/dead?limit=5", "/acts?limit=5", f"/messages/{id}", f"/messages/{id}/result",
    )  # fmt: skip
    for path in paths:
        answer = await client.get(f"/api/v1{path}", headers=own if number % 2 else {})
        assert answer.status_code in {200, 202}, (path, answer.text)
    wrong = [
        await client.get(f"/api/v1/messages/none-{number}"),
        await client.get(f"/api/v1/queues?none={number}"),
        await client.post("/api/v1/messages", content=b"{", headers={"Content-Type": "application/json"}),
        await client.get("/api/v1/queues", headers={"Authorization": f"Bearer tnr_{number:043}"}),
    ]
    assert [answer.status_code for answer in wrong[:3]] == [404, 422, 422]
    assert wrong[3].status_code in {401, 429}
    assert (await client.delete(f"/api/v1/messages/{id}", headers={"Content-Type": "application/json"})).is_success
    await follow(served, b"snapshot=overview&snapshot=leases")
    return len(paths) + len(wrong) + 3


@pytest.mark.usefixtures("traced")
async def test_what_was_asked_leaves_nothing_behind(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)  # pytest keeps the log lines of a test, about 3 KB a request
    served = application(Tenure(f"sqlite:///{tmp_path / 'jobs.db'}"), open_on_loopback=True)
    async with served.lifespan(), client_of(served) as client:
        token = await new_token(served, *AccessScope)

        async def play(rounds: range) -> int:
            return sum([await one_of_each(served, client, token, number) for number in rounds])

        async def held() -> int:
            await asyncio.sleep(0.1)
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        await play(range(_WARM_ROUNDS))
        grown = []
        for begin in range(_WARM_ROUNDS, _WARM_ROUNDS + _TIMES * _ROUNDS, _ROUNDS):
            before = await held()
            asked = await play(range(begin, begin + _ROUNDS))
            grown.append((await held() - before) / asked)
    # A leak grows every time; what this process remembers of other tests, or a table that doubles, does so once.
    assert min(grown) < _MOST_BYTES, f"bytes a request: {grown}"
