"""Snapshots of real servers on real stores: entity tags, what principals see, and as messages of a stream."""

import asyncio
import os
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.events.listening import Listening, listening, running
from tests.servers.shared import shared

from tenure import Tenure
from tenure.server.principal import AccessScope

pytestmark = pytest.mark.real_time


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "redis":
        return f"{shared('valkey9').url}?prefix=snapshots-{os.urandom(4).hex()}"
    return f"sqlite:///{tmp_path / 'jobs.db'}"


def app_with_task(url: str) -> tuple[Tenure, Any]:
    app = Tenure(url)

    @app.task(queue="acme-tasks")
    async def hold(seconds: float) -> None:
        await asyncio.sleep(seconds)

    return app, hold


async def test_the_parts_agree_and_a_tag_spares_the_rest(url: str) -> None:
    app, hold = app_with_task(url)
    async with app, running(url) as server, httpx.AsyncClient(base_url=server.base, timeout=10) as client:
        await hold.bind(1.0).submit(delay=3600)
        await hold.submit(1.0)
        for part in ("overview", "queues", "leases"):
            answer = await client.get(f"/snapshots/{part}")
            shown = answer.json()
            assert answer.status_code == 200
            assert 0 <= shown["next_snapshot_in"] <= 1.5
            assert abs(shown["server_now"] - shown["made_at"]) < 3
            assert shown["made_at"] <= shown["server_now"] + 0.5
            if part != "leases":
                assert [(row["queue"], row["waiting"], row["delayed"]) for row in shown["queues"]] == [
                    ("acme-tasks", 1, 1)
                ]
            if part == "queues":  # an overview says how old the oldest message is, which is new each second
                continue
            tag = {"If-None-Match": answer.headers["etag"]}
            same = await client.get(f"/snapshots/{part}", headers=tag)
            assert same.status_code in {200, 304}
            if same.status_code == 304:
                assert same.content == b""
                assert same.headers["etag"] == answer.headers["etag"]
        leases = await client.get("/snapshots/leases")
        await asyncio.sleep(1.1)
        again = await client.get("/snapshots/leases", headers={"If-None-Match": leases.headers["etag"]})
        assert again.status_code in {200, 304}  # a sweep between the two is news


async def test_who_may_see_some_queues_gets_their_part(url: str) -> None:
    app, hold = app_with_task(url)
    async with app, running(url) as server, httpx.AsyncClient(base_url=server.base, timeout=10) as client:
        await hold.submit(1.0)
        made = await server.web.server.tokens.create("other", [AccessScope.READ], ["umbrella-*"])
        own = await server.web.server.tokens.create("own", [AccessScope.READ], ["acme-*"])
        for part in ("overview", "queues", "leases"):
            other = await client.get(f"/snapshots/{part}", headers={"Authorization": f"Bearer {made.token}"})
            assert other.status_code == 200
            assert "acme" not in other.text
        shown = await client.get("/snapshots/queues", headers={"Authorization": f"Bearer {own.token}"})
        assert "acme-tasks" in shown.text
        sender = await server.web.server.tokens.create("sender", [AccessScope.SEND])
        refused = await client.get("/snapshots/queues", headers={"Authorization": f"Bearer {sender.token}"})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden_scope")


async def test_a_stream_shows_leases_come_and_go(url: str) -> None:
    app, hold = app_with_task(url)

    def ticks(one: Listening) -> list[dict[str, Any]]:
        return [data["payload"] for data in one.data if data["type"] == "snapshot"]

    def rows(one: Listening) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for tick in ticks(one):
            told = tick["leases"]
            shown = {} if told["is_whole"] else shown
            shown = {id: row for id, row in shown.items() if id not in told["removed"]}
            shown |= {row["id"]: row for row in told["changed"]}
        return shown

    async with app, running(url) as server, listening(server, "snapshot=overview&snapshot=leases") as one:
        await one.until(ticks)
        assert rows(one) == {}
        async with app.worker():
            handle = await hold.submit(2.5)
            await one.until(lambda one: set(rows(one)) == {handle.id})
            assert rows(one)[handle.id]["queue"] == "acme-tasks"
            assert rows(one)[handle.id]["deadline"] > ticks(one)[-1]["times"]["server_now"]
            await one.until(lambda one: not rows(one))
        assert "event: snapshot" in one.lines
        assert len(ticks(one)) >= 3
