"""Every route once with its success, on SQLite and Redis: the answer is what the document says, and it is true."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tenure.errors import BrokerError, ResultTimeout, StackUnanswered
from tenure.server.problem import status_of
from tenure.server.routes import ROUTES

from .conftest import HELD_QUEUE, QUEUE, Served, filled
from .described import check_answer

pytestmark = pytest.mark.real_time

#: Routes that have tests of their own: sessions and tokens in `tests/server`, events and snapshots beside them.
_ELSEWHERE = ("/session", "/tokens", "/events", "/snapshots")
PLACES = ("sqlite", "valkey9")


class Calls:
    """Asks, and notes which routes answered as described."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.seen: set[tuple[str, str]] = set()

    def _note(self, response: httpx.Response) -> None:
        route = check_answer(response)
        self.seen.add((route.method, route.path))

    async def get(self, path: str, status: int = 200, **more: Any) -> dict[str, Any]:
        response = await self.served.get(path, **more)
        assert response.status_code == status, response.text
        self._note(response)
        if "json" not in response.headers["content-type"]:
            return {"text": response.text}
        found: dict[str, Any] = response.json()
        return found

    async def post(self, path: str, body: Any = None, status: int = 200) -> dict[str, Any]:
        response = await self.served.post(path, body)
        assert response.status_code == status, response.text
        self._note(response)
        found: dict[str, Any] = response.json()
        return found

    async def delete(self, path: str, status: int = 200) -> dict[str, Any]:
        response = await self.served.delete(path)
        assert response.status_code == status, response.text
        self._note(response)
        found: dict[str, Any] = response.json()
        return found


@pytest.mark.parametrize("kind", PLACES)
async def test_every_route_answers_as_it_is_described(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filled(kind, tmp_path, monkeypatch) as served:
        calls = Calls(served)
        await _look(calls, served.ids)
        await _look_at_a_run(calls)
        await _send(calls)
        await _act(calls, served.ids)
        own = {(route.method, route.path) for route in ROUTES if not route.path.startswith(_ELSEWHERE)}
        assert calls.seen == own


async def _look(calls: Calls, ids: dict[str, str]) -> None:
    overview = await calls.get("/overview")
    assert overview["total"]["dead"] == 3
    queues = await calls.get("/queues")
    figures = {row["queue"]: row for row in queues["queues"]}
    assert [figures[QUEUE][name] for name in ("ready", "delayed", "leased", "dead")] == [1, 1, 0, 3]
    assert await calls.get(f"/queues/{HELD_QUEUE}") == figures[HELD_QUEUE]
    counted = await calls.get("/figures?step=60")
    assert len(counted["points"]) == 60
    tasks = await calls.get("/tasks")
    assert {row["task"] for row in tasks["tasks"]} == {"resize", "hold"}
    leases = await calls.get("/leases")
    assert [row["id"] for row in leases["leases"]] == [ids["held"]]
    workers = await calls.get("/workers")
    assert [row["id"] for row in workers["workers"]] == ["holder/1"]
    schedules = await calls.get("/schedules")
    assert [row["name"] for row in schedules["schedules"]] == ["acme/nightly"]
    found = await calls.get("/messages", params={"state": "ready", "queue": QUEUE})
    assert [row["id"] for row in found["messages"]] == [ids["ready"]]
    dead = await calls.get("/dead")
    assert {row["id"] for row in dead["messages"]} == {ids[word] for word in ("dead", "dead2", "dead3")}
    (group,) = (await calls.get("/dead/groups"))["groups"]
    assert (group["count"], group["task"]) == (3, "resize")
    detail = await calls.get(f"/messages/{ids['dead']}")
    assert detail["body"] == {"image": "broken.png"}
    status = await calls.get(f"/messages/{ids['held']}/status")
    assert (status["state"], status["owner"]) == ("leased", "holder/1")
    result = await calls.get(f"/messages/{ids['done']}/result")
    assert result == {"id": ids["done"], "state": "completed", "result": {"image": "a.png", "width": 800}}
    settings = await calls.get("/settings")
    assert "lease_seconds" in {row["name"] for row in settings["settings"]}
    assert (await calls.get("/openapi.json"))["openapi"] == "3.1.0"
    assert "<h1>HTTP API</h1>" in (await calls.get("/docs"))["text"]


async def _look_at_a_run(calls: Calls) -> None:
    """What runs in this process, as its worker sees it."""
    app = calls.served.app
    running = await app.submit("hold", {"seconds": 60}, queue="runs")
    async with app.worker(name="w2", queues=["runs"], grace=0):
        while (await calls.get(f"/messages/{running.id}/status"))["state"] != "leased":  # noqa: ASYNC110 - another worker takes it
            await asyncio.sleep(0.02)
        found = await calls.post(f"/messages/{running.id}/stack", {"wait": 10})
        assert (found["id"], found["task"], found["runs_in"]) == (running.id, "hold", "loop")
        await calls.post(f"/messages/{running.id}/cancel")


async def _send(calls: Calls) -> None:
    sent = await calls.post("/messages", {"messages": [{"queue": QUEUE, "task": "resize", "payload": {"image": "x"}}]})
    assert [one["outcome"] for one in sent["messages"]] == ["sent"]
    submitted = await calls.post("/tasks/resize/submit", {"payload": {"image": "b.png"}}, 201)
    assert (submitted["queue"], submitted["duplicate"]) == (QUEUE, False)


async def _act(calls: Calls, ids: dict[str, str]) -> None:
    moved = await calls.post(f"/messages/{ids['dead2']}/move", {"queue": "images"})
    assert (moved["done"], moved["skipped"]) == (1, 0)
    edited = await calls.post(f"/messages/{ids['dead3']}/edit", {"payload": {"image": "ok.png"}})
    assert edited["checked"] is True
    assert (await calls.post(f"/messages/{ids['dead']}/redrive"))["done"] == 1
    assert (await calls.delete(f"/messages/{ids['dead']}"))["done"] == 1
    assert (await calls.post(f"/messages/{ids['held']}/cancel"))["done"] == 1
    assert (await calls.post("/messages/cancel", {"ids": [ids["delayed"]]}))["done"] == 1
    for act in ("redrive", "delete"):
        assert (await calls.post(f"/dead/{act}", {"all": True}))["found"] == 0
    assert (await calls.post("/dead/move", {"all": True, "to": "images"}))["found"] == 0
    assert (await calls.post(f"/queues/{QUEUE}/pause"))["changed"] is True
    assert (await calls.post(f"/queues/{QUEUE}/resume"))["changed"] is True
    assert (await calls.post("/queues/images/purge"))["purged"] == 1
    assert (await calls.delete("/queues/images"))["changed"] is True
    for act in ("pause", "resume"):
        assert (await calls.post(f"/schedules/acme%2Fnightly/{act}"))["changed"] is True
    assert (await calls.post("/schedules/acme%2Fnightly/run"))["duplicate"] is False
    acts = await calls.get("/acts")
    kinds = {row["kind"] for row in acts["acts"]}
    assert {"moved", "edited", "redriven", "cancelled", "deleted", "paused", "resumed", "purged"} <= kinds
    assert {row["triggered_by"] for row in acts["acts"]} == {"http"}


def test_no_route_answers_a_mistake_of_the_client_as_one_of_the_server() -> None:
    of_the_store = (BrokerError, ResultTimeout, StackUnanswered)
    for route in ROUTES:
        wrong = [error for error in route.errors if status_of(error) >= 500 and not issubclass(error, of_the_store)]
        assert not wrong, (route.path, wrong)
