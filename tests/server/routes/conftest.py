"""Stores with something of every kind in them, each served in process."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cli.places import place_for

from tenure import Context, Tenure
from tenure.errors import NoResult
from tenure.lease import LeaseRequest
from tenure.owner import Owner
from tenure.server.application import Application
from tenure.server.principal import AccessScope

from ..asking import bearer, client_of, new_token, serving  # noqa: TID252 - the helpers of the folder above

QUEUE, HELD_QUEUE = "acme-tasks", "held"


class Served:
    """One store, its server, and what lies there."""

    def __init__(self, app: Tenure, application: Application, client: httpx.AsyncClient) -> None:
        self.app = app
        self.application = application
        self.client = client
        #: By word: done, dead, dead2, dead3, ready, delayed, held.
        self.ids: dict[str, str] = {}

    async def get(self, path: str, **more: Any) -> httpx.Response:
        return await self.client.get(f"/api/v1{path}", **more)

    async def post(self, path: str, body: Any = None, **more: Any) -> httpx.Response:
        return await self.client.post(f"/api/v1{path}", json={} if body is None else body, **more)

    async def put(self, path: str, body: Any, **more: Any) -> httpx.Response:
        return await self.client.put(f"/api/v1{path}", json=body, **more)

    async def delete(self, path: str, **more: Any) -> httpx.Response:
        headers = {"Content-Type": "application/json", **more.pop("headers", {})}
        return await self.client.delete(f"/api/v1{path}", headers=headers, **more)

    async def client_with(self, *scopes: AccessScope, queues: tuple[str, ...] = ("*",)) -> httpx.AsyncClient:
        """A client with a token of its own. From then on the store needs one."""
        token = await new_token(self.application, *scopes, queues=queues)
        return client_of(self.application, headers={**bearer(token), "Content-Type": "application/json"})


def make_app(url: str) -> Tenure:
    app = Tenure(url, client="acme")

    @app.task(max_attempts=1, reject_on=(ValueError,))
    async def resize(ctx: Context, image: str, width: int = 800) -> dict[str, Any]:
        if image == "broken.png":
            msg = f"no such image: {image}"
            raise ValueError(msg)
        return {"image": image, "width": width}

    @app.task(queue=HELD_QUEUE)
    async def hold(seconds: float) -> None:
        """Held by somebody else in these tests, but for one."""
        await asyncio.sleep(seconds)

    app.schedule(resize.bind("nightly.png"), every=3600, name="nightly")
    return app


async def fill(served: Served) -> None:
    """Put a message of every state there."""
    app, ids = served.app, served.ids
    images = {"done": "a.png", "dead": "broken.png", "dead2": "broken.png", "dead3": "broken.png"}
    for word, image in images.items():
        ids[word] = (await app.submit("resize", {"image": image}, headers={"tenant": "acme"})).id
    async with app.worker(name="w1"):
        for word in images:
            with contextlib.suppress(NoResult):
                await app.handle(ids[word]).result(timeout=30)
    ids["ready"] = (await app.submit("resize", {"image": "ready.png"})).id
    ids["delayed"] = (await app.submit("resize", {"image": "later.png"}, delay=3600)).id
    ids["held"] = (await app.submit("hold", {"seconds": 60})).id
    owner = Owner("holder", "1", queues=(HELD_QUEUE,), boot_id=app.clock.boot_id())
    await app.state.roster.join(owner)
    deadline = app.clock.monotonic() + 60
    for number in itertools.count():  # a queue of a cloud may need more than one look
        request = LeaseRequest(owner.id, f"r{number}", (HELD_QUEUE,), 1, 120.0, has_presence=True)
        if await app.broker.lease(request):
            return
        assert app.clock.monotonic() < deadline
        await app.broker.wait([HELD_QUEUE], 1.0)


@contextlib.asynccontextmanager
async def filled(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> AsyncIterator[Served]:
    place = place_for(kind, folder, monkeypatch)
    app = make_app(place.url)
    async with serving(app, **options) as (application, client):
        served = Served(app, application, client)
        await fill(served)
        yield served
