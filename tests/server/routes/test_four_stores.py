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
        for route in ROUTES:
            if route.method != "GET" or route.scope is None or route.media_type != "application/json":
                continue
            path = route.path.replace("{queue}", QUEUE).replace("{id}", served.ids["done"])
            response = await served.get(path)
            check_answer(response)
            assert response.status_code == 200, (path, response.text)
            if route.rows:
                exported = await served.get(path, headers={"Accept": "application/x-ndjson"})
                check_answer(exported)
                assert b'"export"' in exported.content.splitlines()[-1], path
        await _check(served)


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
