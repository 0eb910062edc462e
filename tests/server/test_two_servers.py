"""Two servers of one store, one of them killed: clients of the other notice nothing, and its streams go on there."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import msgspec
import pytest
from tests.servers.shared import shared

from tenure import Tenure
from tenure.event import Event, EventKind

from .serving import served

pytestmark = [pytest.mark.real_time, pytest.mark.scenario]

SOON = 30.0


class Follower:
    """Reads a stream until its server is gone."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.last_id = ""
        self.kinds: set[str] = set()

    async def follow(self, base: str) -> None:
        """Go on behind what was read before."""
        headers = {"Last-Event-ID": self.last_id} if self.last_id else {}
        async with (
            httpx.AsyncClient(base_url=base, timeout=SOON, trust_env=False) as client,
            client.stream("GET", "/api/v1/events/stream?after=0", headers=headers) as response,
        ):
            assert response.status_code == 200
            with contextlib.suppress(httpx.HTTPError):
                async for line in response.aiter_lines():
                    self._read(line)

    def _read(self, line: str) -> None:
        name, _, value = line.partition(": ")
        if name == "id":
            self.last_id = value
        elif name == "data":
            event = msgspec.json.decode(value)
            self.kinds.add(event["type"])
            self.messages.append(event["payload"].get("message_id"))


async def ask_on(client: httpx.AsyncClient, statuses: list[int]) -> None:
    """A client that asks all the time."""
    while True:
        for path in ("/queues", "/overview", "/events", "/session"):
            statuses.append((await client.get(f"/api/v1{path}")).status_code)
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def asking_on(base: str) -> AsyncIterator[list[int]]:
    statuses: list[int] = []
    async with httpx.AsyncClient(base_url=base, timeout=SOON, trust_env=False) as client:
        asking = asyncio.create_task(ask_on(client, statuses))
        try:
            yield statuses
            assert not asking.done()  # no request of it failed
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)


async def until_read(follower: Follower, count: int) -> None:
    async with asyncio.timeout(SOON):
        while len(follower.messages) < count:  # noqa: ASYNC110 - it comes from another process
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("kind", ["sqlite", "valkey9"])
async def test_who_asks_the_other_server_notices_nothing_when_one_is_killed(kind: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    if kind == "valkey9":
        url = f"{shared('valkey9').url}?prefix=two-{os.urandom(4).hex()}"
    names = [f"message-{number}" for number in range(60)]

    async def append(app: Tenure, some: list[str]) -> None:
        await app.state.journal.append([Event(EventKind.DEAD, app.clock.wall(), "mail", "x", id) for id in some])

    async with Tenure(url) as app:
        with served(url, "--create") as (first, one), served(url, "--create") as (_, two):
            follower = Follower()
            following = asyncio.create_task(follower.follow(str(one.base_url)))
            async with asking_on(str(two.base_url)) as statuses:
                await append(app, names[:20])
                await until_read(follower, 20)
                before = len(statuses)
                first.send(signal.SIGKILL)
                async with asyncio.timeout(SOON):
                    await following
                await append(app, names[20:40])  # while it follows nobody
                following = asyncio.create_task(follower.follow(str(two.base_url)))
                await append(app, names[40:])
                await until_read(follower, 60)
                await asyncio.sleep(1)
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
            assert len(statuses) > before + 10
            assert set(statuses) == {200}
            assert two.get("/readyz").json() == {"ready": True, "problems": []}
    assert follower.messages == names  # each of them once, in order
    assert follower.kinds == {"dead"}
