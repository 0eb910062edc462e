"""Every route that looks, on every kind of store: what a broker cannot know is null, what it cannot show is said."""

from pathlib import Path

import pytest
from tests.cli.places import CLOUDS, PLACES

from tenure.server.routes import ROUTES

from .conftest import QUEUE, Served, filled
from .described import check_answer

pytestmark = pytest.mark.real_time

_KINDS = [pytest.param(kind, marks=pytest.mark.cloud if kind in CLOUDS else ()) for kind in PLACES]


@pytest.mark.parametrize("kind", _KINDS)
async def test_every_look_is_answered(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filled(kind, tmp_path, monkeypatch) as served:
        group = await served.app.group([])
        for route in ROUTES:
            if route.method != "GET" or route.scope is None or route.media_type != "application/json":
                continue
            if route.path == "/findings/{id}":
                continue  # nothing is wrong here
            id = group.id if route.path.startswith("/groups") else served.ids["done"]
            path = route.path.replace("{queue}", QUEUE).replace("{id}", id).replace("{name}", "acme")
            response = await served.get(path)
            check_answer(response)
            assert response.status_code == 200, (path, response.text)
            if route.rows:
                exported = await served.get(path, headers={"Accept": "application/x-ndjson"})
                check_answer(exported)
                assert b'"export"' in exported.content.splitlines()[-1], path
        await _check(served)


@pytest.mark.parametrize("kind", _KINDS)
async def test_a_delayed_message_runs_now_and_a_lease_gets_more_time(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filled(kind, tmp_path, monkeypatch) as served:
        ids = served.ids
        touched = await served.post(f"/leases/{ids['held']}/touch", {"seconds": 300})
        check_answer(touched)
        assert touched.status_code == 200, touched.text
        assert 290 < touched.json()["deadline_in"] <= 300
        (lease,) = (await served.get("/leases")).json()["leases"]
        assert (lease["owner"], lease["deadline_in"] > 280) == ("holder/1", True)
        for changed in (True, False):
            now = await served.post(f"/messages/{ids['delayed']}/run-now")
            check_answer(now)
            assert (now.status_code, now.json().get("changed")) == (200, changed), now.text
        async with served.app.worker(name="w3"):
            assert await served.app.handle(ids["delayed"]).result(timeout=60) == {"image": "later.png", "width": 800}
        for path in (f"/messages/{ids['delayed']}/run-now", f"/leases/{ids['delayed']}/touch"):
            ended = await served.post(path)
            check_answer(ended)
            assert ended.status_code == 409, ended.text
        kinds = [act["kind"] for act in (await served.get("/acts")).json()["acts"]]
        assert kinds == ["promoted", "touched"]


async def _check(served: Served) -> None:
    dead = (await served.get("/dead", params={"limit": 2})).json()
    assert len(dead["messages"]) == 2
    assert dead["after"] is not None
    rest = (await served.get("/dead", params={"limit": 2, "after": dead["after"]})).json()
    ids = {row["id"] for row in (*dead["messages"], *rest["messages"])}
    assert ids == {served.ids[word] for word in ("dead", "dead2", "dead3")}
    (group,) = (await served.get("/dead/groups")).json()["groups"]
    assert group["count"] == 3
    assert [row["id"] for row in (await served.get("/leases")).json()["leases"]] == [served.ids["held"]]
    listed = await served.get("/messages", params={"state": "leased"})
    assert [row["id"] for row in listed.json()["messages"]] == [served.ids["held"]]
    result = await served.get(f"/messages/{served.ids['done']}/result", params={"wait": 5})
    assert result.json()["result"] == {"image": "a.png", "width": 800}
    page = (await served.get("/messages")).json()
    shown = served.app.broker.traits.browsable
    assert set(page["hidden"]) == {"leased", "ready", "delayed", "dead"} - shown
