"""Acts over HTTP: what they mean is named exactly, they are bounded, and they are written down."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tenure.errors import TenureError
from tenure.server.openapi.problems import problems_of
from tenure.server.principal import AccessScope
from tenure.server.route import Route
from tenure.server.routes import ROUTES, selection

from .conftest import HELD_QUEUE, QUEUE, Served, filled
from .described import check_answer

pytestmark = pytest.mark.real_time

DEAD = ("dead", "dead2", "dead3")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


async def post(served: Served, path: str, body: Any = None, status: int = 200) -> dict[str, Any]:
    response = await served.post(path, body)
    assert response.status_code == status, response.text
    check_answer(response)
    found: dict[str, Any] = response.json()
    return found


@pytest.mark.parametrize("path", ["/dead/redrive", "/dead/delete", "/dead/move", "/messages/cancel"])
async def test_an_act_on_many_names_what_it_means(path: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filled("sqlite", folder, monkeypatch) as served:
        to = {"to": "images"} if path == "/dead/move" else {}
        for body, field in (
            ({}, "ids"), ({"dry_run": True}, "ids"), ({"ids": []}, "ids"), ({"ids": ["x"], "task": "resize"}, "task"),
            ({"ids": ["x"], "all": True}, "all"), ({"task": "resize", "all": True}, "all"), ({"al": True}, "body"),
            ({"all": True, "limit": 0}, "limit"), ({"ids": ["x"] * 1_001}, "ids"), ({"since": "soon"}, "since"),
        ):  # fmt: skip
            problem = await post(served, path, {**body, **to}, 422)
            assert (problem["code"], problem["field"]) == ("request_invalid", field), (body, problem)
        before = (await served.get("/queues")).json()
        for row in before["queues"]:
            row.pop("oldest_age_seconds")
        found = await post(served, path, {"all": True, "dry_run": True, **to})
        assert (found["found"], found["done"], found["dry_run"]) == (3, 0, True)
        after = (await served.get("/queues")).json()
        for row in after["queues"]:
            row.pop("oldest_age_seconds")
        assert after == before


async def test_dead_letters_are_redriven_deleted_and_moved_by_filter(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filled("sqlite", folder, monkeypatch) as served:
        (group,) = (await served.get("/dead/groups")).json()["groups"]
        nothing = ({"task": "hold"}, {"reason": "expired"}, {"before": 0}, {"queues": [HELD_QUEUE]},
                   {"client": "nobody"}, {"key": "none"}, {"text": "nowhere in it"})  # fmt: skip
        for body in nothing:
            assert (await post(served, "/dead/redrive", body))["found"] == 0
        first = await post(served, "/dead/redrive", {"fingerprint": group["fingerprint"], "limit": 1})
        assert (first["found"], first["done"], first["more"]) == (1, 1, True)
        moved = await post(served, "/dead/move", {"reason": "rejected", "to": "images", "limit": 1})
        assert (moved["done"], moved["more"], moved["messages"][0]["queue"]) == (1, True, "images")
        last = await post(served, "/dead/delete", {"task": "resize", "queues": ["acme-*"]})
        assert (last["found"], last["done"], last["more"]) == (1, 1, False)
        assert (await served.get("/dead")).json()["messages"] == []


async def test_dead_letters_are_redriven_deleted_and_moved_by_id(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filled("sqlite", folder, monkeypatch) as served:
        one, two, three = (served.ids[word] for word in DEAD)
        dry = await post(served, "/dead/redrive", {"ids": [one, two], "dry_run": True})
        assert (dry["found"], dry["done"], dry["ids"]) == (2, 0, [one, two])
        problem = await post(served, "/dead/delete", {"ids": [one, served.ids["ready"]]}, 409)
        assert problem["code"] == "not_dead"
        assert (await post(served, "/dead/redrive", {"ids": [one]}))["done"] == 1
        assert (await post(served, "/dead/delete", {"ids": [two]}))["done"] == 1
        assert (await post(served, "/dead/move", {"ids": [three], "to": "images"}))["done"] == 1
        assert (await post(served, "/dead/redrive", {"ids": ["nothing"]}, 404))["code"] == "message_not_found"


async def test_an_act_at_a_rate_fits_into_one_request(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "_MOST_SECONDS", 0.2)
    async with filled("sqlite", folder, monkeypatch) as served:
        found = await post(served, "/dead/redrive", {"all": True, "per_second": 10})
        assert (found["found"], found["done"], found["more"]) == (2, 2, True)
        problem = await post(served, "/dead/redrive", {"ids": ["x"], "per_second": 10}, 422)
        assert problem["field"] == "per_second"
        assert (await post(served, "/dead/redrive", {"all": True, "per_second": 0}, 422))["field"] == "per_second"
        deleted = await post(served, "/dead/delete", {"all": True, "per_second": 5})
        assert (deleted["found"], deleted["done"]) == (1, 1)


async def test_messages_are_cancelled_by_filter_and_by_id(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filled("sqlite", folder, monkeypatch) as served:
        ids = [served.ids["ready"], served.ids["done"]]
        dry = await post(served, "/messages/cancel", {"ids": ids, "dry_run": True})
        assert (dry["found"], dry["skipped"], dry["ids"]) == (2, 1, [served.ids["ready"]])
        done = await post(served, "/messages/cancel", {"ids": ids})
        assert (done["found"], done["done"], done["skipped"], done["ids"]) == (2, 1, 1, [served.ids["ready"]])
        rest = await post(served, "/messages/cancel", {"states": ["delayed", "leased"]})
        assert (rest["done"], rest["kinds"]) == (2, {"delayed": 1, "leased": 1})
        assert (await post(served, "/messages/cancel", {"states": ["dead"]}, 422))["code"] == "bad_argument"


async def test_an_edit_is_checked_and_shows_what_would_change(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filled("sqlite", folder, monkeypatch) as served:
        path = f"/messages/{served.ids['dead']}/edit"
        dry = await post(served, path, {"payload": {"image": "ok.png"}, "dry_run": True})
        assert (dry["new_id"], dry["checked"]) == (None, True)
        assert [(one["path"], one["before"], one["after"]) for one in dry["changes"]] == [
            ("payload.image", "broken.png", "ok.png")
        ]
        assert (await post(served, path, {"payload": {"image": 3}}, 422))["code"] == "payload_invalid"
        assert (await post(served, path, {}, 422))["code"] == "bad_argument"
        async with await served.client_with(AccessScope.OPERATE) as blind:
            response = await blind.post(f"/api/v1{path}", json={"payload": {"image": "ok.png"}, "dry_run": True})
            assert response.json()["redacted"] is True
            assert "broken.png" not in response.text


async def test_every_act_is_written_down_with_who_and_whence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filled("sqlite", folder, monkeypatch) as served:
        async with await served.client_with(AccessScope.OPERATE, queues=("acme-*",)) as client:
            await client.post(f"/api/v1/queues/{QUEUE}/pause", json={})
            await client.post("/api/v1/dead/redrive", json={"all": True})
        async with await served.client_with(AccessScope.READ) as reader:
            acts = (await reader.get("/api/v1/acts", params={"by": "ci", "kind": ["paused", "redriven"]})).json()[
                "acts"
            ]
        assert [(one["kind"], one["by"], one["triggered_by"], one["source"]) for one in acts] == [
            ("redriven", "ci", "http", "127.0.0.1"),
            ("paused", "ci", "http", "127.0.0.1"),
        ]
        assert sorted(acts[0]["ids"]) == sorted(served.ids[word] for word in DEAD)


async def test_a_queue_with_messages_is_not_deleted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filled("sqlite", folder, monkeypatch) as served:
        response = await served.delete(f"/queues/{QUEUE}")
        check_answer(response)
        assert (response.status_code, response.json()["code"]) == (409, "queue_not_empty")
        first = await post(served, f"/queues/{QUEUE}/purge", {"states": ["ready", "delayed", "dead"], "dry_run": True})
        assert first["would"] == {"ready": 1, "delayed": 1, "dead": 3}
        assert (await post(served, f"/queues/{QUEUE}/purge", {"states": ["ready", "delayed", "dead"]}))["purged"] == 5
        assert (await post(served, f"/queues/{QUEUE}/purge", {"states": ["leased"]}, 422))["code"] == "bad_argument"
        assert (await served.delete(f"/queues/{QUEUE}")).status_code == 200


# -- what is refused -----------------------------------------------------------------------------------------------

_NOWHERE = {"queue": "nowhere", "id": "nothing", "name": "never", "task": "nothing"}
_BODIES: dict[str, Any] = {
    "/dead/redrive": {"ids": ["nothing"]}, "/dead/delete": {"ids": ["nothing"]},
    "/dead/move": {"ids": ["nothing"], "to": "images"}, "/messages/cancel": {"ids": ["nothing"]},
    "/messages/{id}/move": {"queue": "images"}, "/messages/{id}/edit": {"payload": {}},
    "/queues/{queue}/limit": {"running": 1}, "/clients/{name}/quota": {"running": 1},
    "/clients/{name}/weight": {"weight": 2},
}  # fmt: skip


def _not_found() -> list[Route]:
    nouns = ("/queues", "/clients", "/messages", "/tasks", "/schedules", "/dead")
    named = [route for route in ROUTES if route.path.startswith(nouns) and ("{" in route.path or route.path in _BODIES)]
    # A lease is named by its token, and one of nobody is refused as such (tests/server/consumers).
    return [route for route in named if route.scope is not AccessScope.CONSUME]


async def test_what_nobody_knows_is_answered_404_by_every_route(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filled("sqlite", folder, monkeypatch) as served:
        for route in _not_found():
            path = route.path
            for name, value in _NOWHERE.items():
                path = path.replace(f"{{{name}}}", value)
            body = None if route.method == "GET" else _BODIES.get(route.path, {})
            response = await _ask(served.client, route.method, path, body)
            check_answer(response)
            assert response.status_code == 404, (route.path, response.text)
            known: list[type[TenureError]] = problems_of(route)
            assert response.json()["code"] in {error.code for error in known}


async def _ask(client: httpx.AsyncClient, method: str, path: str, body: Any) -> httpx.Response:
    return await client.request(method, f"/api/v1{path}", json=body)


async def test_a_server_that_only_looks_refuses_every_act(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filled("sqlite", folder, monkeypatch, read_only=True) as served:
        for route in ROUTES:
            if route.is_act and route.scope is not None:
                response = await _ask(served.client, route.method, route.path.replace("{", "x").replace("}", ""), {})
                check_answer(response)
                assert (response.status_code, response.json()["code"]) == (403, "read_only"), route.path


async def test_every_route_needs_its_scope_and_no_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filled("sqlite", folder, monkeypatch) as served:
        for scope in AccessScope:
            async with await served.client_with(scope) as client:
                for route in ROUTES:
                    if route.scope is None or route.media_type == "text/event-stream":
                        continue
                    path = route.path.replace("{", "x").replace("}", "")
                    # A body that fits nothing: who may ask is decided before it is read.
                    response = await _ask(client, route.method, path, None if route.method == "GET" else [])
                    check_answer(response)
                    is_refused = response.status_code == 403 and response.json()["code"] == "forbidden_scope"
                    assert is_refused == (route.scope is not scope), (scope, route.path, response.text)
